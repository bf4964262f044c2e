/* The kind of memory that was allocated or freed: gpu_record.copy_kind of RECORD_GPU_ALLOC and _FREE. The numbers are
 * those of CUpti_ActivityMemoryKind; the last one is ours. They are part of the wire and of the store's schema. Pure;
 * any thread. */
#ifndef MEMORY_KIND_H
#define MEMORY_KIND_H

#include <stdint.h>

enum memory_kind {
	MEMORY_KIND_UNKNOWN = 0,
	MEMORY_KIND_PAGEABLE = 1, /* host */
	MEMORY_KIND_PINNED = 2,   /* host */
	MEMORY_KIND_DEVICE = 3,
	MEMORY_KIND_ARRAY = 4,
	MEMORY_KIND_MANAGED = 5,
	MEMORY_KIND_DEVICE_STATIC = 6,  /* variables of a module */
	MEMORY_KIND_MANAGED_STATIC = 7, /* __managed__ variables of a module */
	/* ours: device memory that was allocated in stream order, from a pool */
	MEMORY_KIND_POOL = 8,
	MEMORY_KINDS,
};

/* Kinds whose bytes are summed, because they use the same memory. Part of the store's schema. */
enum memory_space {
	MEMORY_SPACE_DEVICE = 0,  /* a GPU's */
	MEMORY_SPACE_MANAGED = 1, /* moves to the processor that touches it */
	MEMORY_SPACE_HOST = 2,
	MEMORY_SPACES,
};

/* "device", "pool", … for people; "unknown": no such kind. Static storage. */
const char *memory_kind_name(uint32_t kind);

/* An unknown kind is MEMORY_SPACE_HOST, so that no device's sum holds it. */
enum memory_space memory_kind_space(uint32_t kind);

#endif

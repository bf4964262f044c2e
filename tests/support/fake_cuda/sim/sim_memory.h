/* Memory that was allocated: real pages of this process, so that copies copy, and a count of all of it, exact, with its
 * peaks. Each allocation and free has a time of its own, later than that of all before it. Any thread. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sim_context;
struct sim_stream;

enum sim_memory_place { /* CUPTI's memory kinds */
			SIM_PAGEABLE = 1,
			SIM_PINNED = 2,
			SIM_ON_DEVICE = 3,
			SIM_ARRAY = 4,
			SIM_MANAGED = 5,
};

/* An allocation or a free, as CUPTI tells of it. */
struct sim_allocation {
	bool is_free;
	enum sim_memory_place place;
	const struct sim_context *context; /* current when it was made */
	const struct sim_stream *stream;   /* in whose order it was; NULL: at once */
	uint64_t address, bytes, time_ns;
	uint32_t correlation_id;
};

/* Untouched pages cost nothing. stream: in stream order, from the device's pool; NULL: at once. Reports it to the
 * tracer. NULL: out of memory. */
void *sim_memory_alloc(size_t size_bytes, enum sim_memory_place place,
		       const struct sim_context *context, const struct sim_stream *stream);

/* The same way; device and managed memory in either order, whatever it was allocated in. Returns 0; -EINVAL: address is
 * no allocation of that place. */
int sim_memory_free(void *address, enum sim_memory_place place, const struct sim_context *context,
		    const struct sim_stream *stream);

/* Where address lies; memory that is not from here is pageable. */
enum sim_memory_place sim_memory_place(const void *address);

/* Bytes of that physical device that live now: device memory and arrays. */
uint64_t sim_memory_used(uint32_t device_index);

/* The lines of the truth that begin with "#memory". */
void sim_memory_write_truth(FILE *file);

#endif

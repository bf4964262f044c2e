/* The kinds of leaves in a report: records, samples, idle time. Constant; any thread. */
#ifndef REPORT_KIND_H
#define REPORT_KIND_H

#include <stdint.h>

#include "proto/host_sample.h"
#include "proto/record.h"

enum report_kind {
	REPORT_KIND_KERNEL = 0,
	REPORT_KIND_MEMCPY = 1,
	REPORT_KIND_MEMSET = 2,
	REPORT_KIND_GRAPH = 3, /* a whole graph in place of its nodes */
	/* These belong to other planes. */
	REPORT_KIND_SYNC = 4,
	REPORT_KIND_OVERHEAD = 5,
	REPORT_KIND_UNIFIED = 6,
	REPORT_KIND_MODULE = 7,
	REPORT_KIND_ALLOC = 8, /* only in reports of memory; ns is 0 */
	REPORT_KIND_FREE = 9,
	/* The work of host threads, by enum host_sample_kind. It has no record, GPU or stream. */
	REPORT_KIND_HOST = RECORD_GPU_KINDS,
	REPORT_KIND_CPU = REPORT_KIND_HOST + HOST_SAMPLE_CPU,
	REPORT_KIND_OFF_CPU = REPORT_KIND_HOST + HOST_SAMPLE_OFF_CPU,
	REPORT_KIND_CALL = REPORT_KIND_HOST + HOST_SAMPLE_CALL,
	/* The time of kernels by what their instructions waited for. It has a GPU and a stream. */
	REPORT_KIND_STALL = REPORT_KIND_HOST + HOST_SAMPLE_KERNEL,
	/* The idle time of a GPU, which belongs to no stream. */
	REPORT_KIND_IDLE = REPORT_KIND_STALL + 1,
	/* Leaves of energy, and of the use of GPUs: of GPU work, of none, and what neither explains. */
	REPORT_KIND_ENERGY,
	REPORT_KIND_USE,
	REPORT_KINDS,
};

/* The copy_kind of a row of REPORT_KIND_STALL: a set. Its name_id is the reason. */
enum report_stall {
	REPORT_STALL_ASSUMED = 1u << 0,     /* nothing tells which launch the samples belong to */
	REPORT_STALL_NOT_SAMPLED = 1u << 1, /* the kernel has no samples */
	REPORT_STALL_OTHER = 1u << 2,       /* reasons too many to name */
};

static inline int report_kind_is_resource(uint32_t kind)
{
	return kind == REPORT_KIND_ENERGY || kind == REPORT_KIND_USE;
}

static inline int report_kind_has_stream(uint32_t kind)
{
	return kind < REPORT_KIND_HOST || kind == REPORT_KIND_STALL ||
	       report_kind_is_resource(kind);
}

static inline int report_kind_has_gpu(uint32_t kind)
{
	return report_kind_has_stream(kind) || kind == REPORT_KIND_IDLE;
}

#endif

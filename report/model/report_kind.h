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
	/* The idle time of a GPU, which belongs to no stream. */
	REPORT_KIND_IDLE = REPORT_KIND_HOST + HOST_SAMPLE_KINDS,
	REPORT_KINDS,
};

static inline int report_kind_has_gpu(uint32_t kind)
{
	return kind < REPORT_KIND_HOST || kind == REPORT_KIND_IDLE;
}

#endif

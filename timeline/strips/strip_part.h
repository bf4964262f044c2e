/* Tells what a piece of GPU work is on a strip. Pure; used by one thread. */
#ifndef STRIP_PART_H
#define STRIP_PART_H

#include "strip_bins.h"

#include "timeline/trace/nccl_names.h"
#include "timeline/trace/nccl_waits.h"
#include "timeline/trace/timeline_source.h"

/* The work is no wait of a host (RECORD_GPU_SYNC). *wait_ns: for so long it is STRIP_NCCL_WAITS at first. nccl: NULL:
 * nobody knows waits. */
enum strip_part strip_part_of(struct nccl_names *names, const struct nccl_waits *nccl,
			      const struct timeline_work *work, uint64_t *wait_ns);

#endif

/* What a device worked on, as far as its idle time needs to know: when, and who asked for it. Work whose gaps are
 * shorter than IDLE_GAP_MIN_NS is one piece: the host can't be asked about such a gap, and there are as many of them as
 * of kernels. Pure. */
#ifndef IDLE_WORK_H
#define IDLE_WORK_H

#include <stdint.h>

#define IDLE_GAP_MIN_NS 10000u

struct idle_work {
	uint64_t start_ns, end_ns; /* CUPTI's clock */
	uint64_t clock_offset_ns;  /* + start_ns: CLOCK_MONOTONIC of its process, modulo 2^64 */
	uint32_t process_id;
	uint32_t tid; /* of the launch of what began first; 0: not known, or the clock is not */
};

/* Orders the pieces by their start and joins what is nearer than IDLE_GAP_MIN_NS; returns how many are left. In
 * whatever parts and order work is merged, the same pieces come out. */
uint32_t idle_work_merge(struct idle_work *work, uint32_t count);

#endif

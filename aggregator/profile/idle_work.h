/* A device's work, as far as its idle time needs it: the time, and the thread that launched it. Work with gaps shorter
 * than IDLE_GAP_MIN_NS is one piece: nothing explains such short gaps, and there are as many of them as kernels. Pure.
 */
#ifndef IDLE_WORK_H
#define IDLE_WORK_H

#include <stdint.h>

#define IDLE_GAP_MIN_NS 10000u

struct idle_work {
	uint64_t start_ns, end_ns; /* CUPTI's clock */
	uint64_t clock_offset_ns;  /* + start_ns: CLOCK_MONOTONIC of its process, modulo 2^64 */
	uint32_t process_id;
	uint32_t tid; /* launched the first work of the piece; 0: it or the clock is not known */
};

/* Sorts the pieces by their start and joins those with gaps below IDLE_GAP_MIN_NS; returns the new number. The result
 * is the same in whatever parts and order the work is merged. */
uint32_t idle_work_merge(struct idle_work *work, uint32_t count);

#endif

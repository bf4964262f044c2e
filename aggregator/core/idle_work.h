/* A device's work, reduced to the time and the launching thread, because idle time needs no more. Work with gaps
 * shorter than IDLE_GAP_MIN_NS is one piece: nothing explains such short gaps, and there are as many of them as
 * kernels. Pure. */
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

/* Sorts the pieces by start, joins those with gaps below IDLE_GAP_MIN_NS, and returns the new number. Work may be
 * merged in any parts and order, with the same result. */
uint32_t idle_work_merge(struct idle_work *work, uint32_t count);

#endif

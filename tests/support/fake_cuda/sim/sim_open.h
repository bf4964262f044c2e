/* Operations whose times are not known yet, because a kernel before them on their stream, or they themselves, end when
 * somebody else says so (fake_cuda_open_next()). Part of the streams, whose lock is around each queue. A thread of its
 * own looks after them as long as there are any. */
#ifndef SIM_OPEN_H
#define SIM_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_trace.h"

struct fake_cuda_open;

struct sim_open {
	struct sim_open *next;
	struct sim_operation operation;
	uint64_t submitted_ns;
	uint64_t duration_ns;        /* unless it is open itself */
	struct fake_cuda_open *open; /* NULL: it is not */
	bool begun;
	uint64_t number; /* counts on in the process, from 1 */
};

/* Zeroed memory is an empty one. */
struct sim_open_queue {
	struct sim_open *first, *last; /* owns */
	uint32_t nr;
	bool settling; /* a thread gives them their times */
};

/* The number of the last operation that had to wait. */
uint64_t sim_open_last(void);

/* Takes the operation, from malloc, and numbers it; gives back the first. */
void sim_open_put(struct sim_open_queue *queue, struct sim_open *open);
struct sim_open *sim_open_take(struct sim_open_queue *queue);

/* What the calling thread's next kernel is to be, once; NULL: a kernel as all are. */
struct fake_cuda_open *sim_open_next(void);

/* Something waits: until nothing does, contexts are looked at again and again. */
void sim_open_watch(void);

/* Between two looks. */
void sim_open_pause(void);

#endif

/* Why a rank is late: what it does more of than the median of the others, by plane and function.
 *   - Sums of GPU work (but NCCL's), of samples on and off the CPU, and of idle time, are put on one tree of stacks,
 *     without lines and GPUs' numbers, for each rank. Of host threads those count that launch GPU work or call
 *     collectives: what others do keeps no collective. Waits for other threads (futex) are looked at apart from all
 *     others: they follow from what the other thread does.
 *   - A node's excess is what the rank has of it and below, less the median of the others. It counts if it is above
 *     three times the spread of the others (and of sampling) and above a fiftieth of the lateness.
 *   - From the root it is followed into the frame that holds at least STRAGGLER_CAUSES_SHARE of it, and where it is
 *     divided, into each part, unless (of host threads) all that the frame calls takes longer alike, or the others
 *     hardly do it: then that frame is the cause.
 * Where samples were kept one by one, those on and off the CPU count only within the windows that are given; else
 * whole runs are compared. Pure but for reading the store; one thread. */
#ifndef STRAGGLER_CAUSES_H
#define STRAGGLER_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_question.h"

#include "report/model/report_plane.h"

#define STRAGGLER_CAUSES_MAX   5u
#define STRAGGLER_CAUSES_SHARE 0.8
#define STRAGGLER_CAUSES_UNEVEN                                                                    \
	0.25 /* of a function's excess at another of the functions that it calls than the others' time is */

struct collective_log;
struct profile;

struct straggler_cause {
	enum report_plane plane;
	bool in_windows; /* else of the whole run */
	bool more;       /* of GPU work: more launches rather than longer ones */
	uint8_t is_effect; /* of another cause: 1 a thread that waits for another of its process, 2 an idle GPU */
	uint64_t excess_ns; /* each time */
	double share;       /* of the lateness */
	double launches;    /* of GPU work: more than the others, each time */
	char *function;     /* owns; the innermost frame that holds it; "": none */
	char *what;         /* owns; the kernel, why it waited, or "" */
	char *stack;        /* owns; folded, from the outside in */
};

/* What there was to look at. */
struct straggler_scope {
	uint32_t planes; /* a set, 1 << enum report_plane, of those that the late rank has */
	bool in_windows; /* host samples */
	uint64_t late_ns;
};

/* *causes: at most STRAGGLER_CAUSES_MAX, the greatest first, but those that are effects of others last. 0; -EPROTO;
 * other errors of database.h; -ENOMEM. The caller owns *causes: straggler_causes_free(). */
int straggler_causes_find(const struct profile *profile, const char *store_path,
			  const struct collective_log *log,
			  const struct straggler_question *question,
			  struct straggler_cause **causes, uint32_t *nr_causes,
			  struct straggler_scope *scope);
void straggler_causes_free(struct straggler_cause *causes, uint32_t nr_causes);

#endif

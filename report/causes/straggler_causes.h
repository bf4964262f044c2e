/* Finds why a rank is late: the work of which it does more than the median of the others, by plane and function.
 *   - Sums of GPU work (without NCCL's), of samples on and off the CPU, and of idle time are put on one tree of
 *     stacks for each rank, without lines and numbers of GPUs (straggler_work.h). Of host threads only those count that
 *     launch GPU work or call collectives, because other threads hold up no collective.
 *   - A node's excess is the rank's amount at the node and below it, less the median of the others. It counts if it
 *     is above three times the spread of the others (and of sampling) and above a fiftieth of the lateness.
 *   - From the root the excess is followed into the frame that holds at least STRAGGLER_CAUSES_SHARE of it, and
 *     where it is divided, into each part. What the parts leave counts only if it is more than chance. It is not
 *     followed (on host threads) if all calls of a frame take longer alike, or if the others hardly make them: then
 *     that frame is the cause. Time in the run queue is one cause, whatever the thread was doing.
 *   - GPU kernels that are slower by a like factor are one cause together (straggler_alike.h).
 * Pure but for reading the store; one thread. */
#ifndef STRAGGLER_CAUSES_H
#define STRAGGLER_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_question.h"
#include "straggler_work.h"

#include "report/model/report_plane.h"
#include "report/telemetry/straggler_clocks.h"

#define STRAGGLER_CAUSES_MAX   5u
#define STRAGGLER_CAUSES_SHARE 0.8
#define STRAGGLER_CAUSES_ENOUGH                                                                    \
	0.25 /* of the lateness: causes that explain so much leave others to be effects */
#define STRAGGLER_CAUSES_UNEVEN                                                                    \
	0.25 /* uneven: this share of an excess lies at other callees than the others' time */

struct collective_folds;
struct profile;

/* Whether a cause is one, or follows from others. In the order in which causes are told. */
enum straggler_effect {
	STRAGGLER_NO_EFFECT = 0,
	STRAGGLER_HOST_EFFECT, /* of a host thread */
	STRAGGLER_IDLE_EFFECT, /* an idle GPU */
};

struct straggler_cause {
	enum report_plane plane;
	enum straggler_sort sort;
	enum straggler_extent extent; /* the times that were compared */
	bool more;                    /* of GPU work: the rank has more launches, not longer ones */
	enum straggler_effect effect;
	uint64_t excess_ns; /* per collective */
	double share;       /* of the lateness */
	/* of GPU work: launches above the others', per collective */
	double launches;
	/* of kernels that are slower by a like factor: how many, of how many, and that factor; 0: it is one kernel.
	 * `what` is that which costs most */
	uint32_t kernels, of_kernels;
	double longer;
	double factor; /* of GPU work: how many times as long as the others' it takes; 0: they have none */
	char *function; /* owns; the innermost frame that holds the excess; "": none */
	/* owns; the kernel, the reason of the wait, "page fault" of time on a CPU in the kernel's code for these, or
	 * "" */
	char *what;
	char *stack;                    /* owns; folded, from the root on */
	struct straggler_clocks clocks; /* of slower GPU work: whether a lower clock explains it */
};

/* The data that could be compared. */
struct straggler_scope {
	/* a set, 1 << enum report_plane, of planes of which the late rank has records */
	uint32_t planes;
	enum straggler_extent extent; /* the times that were compared, of what is known by time */
	bool is_skipped;              /* causes were not looked for: enough others cost more */
	bool is_short; /* of these times too little work is kept, or too few collectives: a cause may be missing */
	uint64_t late_ns; /* mean lateness in these times, of which causes are shares */
};

/* Finds at most STRAGGLER_CAUSES_MAX causes, the greatest first; effects of other causes come last. 0; -EPROTO;
 * other errors of database.h; -ENOMEM. The caller owns *causes: straggler_causes_free(). */
int straggler_causes_find(const struct profile *profile, const char *store_path,
			  const struct collective_folds *folds,
			  const struct straggler_question *question,
			  struct straggler_cause **causes, uint32_t *nr_causes,
			  struct straggler_scope *scope);
/* Returns the greatest share of a cause that is no effect. */
double straggler_causes_most(const struct straggler_cause *causes, uint32_t nr_causes);

void straggler_cause_fini(struct straggler_cause *cause);
void straggler_causes_free(struct straggler_cause *causes, uint32_t nr_causes);

#endif

/* How long the steps of a job took before a rank became late. The replay of the collectives since then (watch_replay.h)
 * makes steps too short where a step has several collectives and hosts run ahead of their GPUs: while the others wait
 * for the late one, their hosts prepare what otherwise would take time. So what was seen before counts more. Pure; one
 * thread. */
#ifndef WATCH_PACE_H
#define WATCH_PACE_H

#include <stdint.h>

#include "watch_recent.h"

#define WATCH_PACE_LOOKS 32u   /* are remembered, of a communicator */
#define WATCH_PACE_MAX   4096u /* of all communicators together */

/* The usual step in the window of a look: the mean without steps far longer than each other one. */
struct watch_pace {
	uint64_t key;         /* of the communicator */
	uint32_t collectives; /* in a step; 0: no step is seen, and the time is of one collective */
	uint64_t step_ns;
};

/* The paces of all communicators in a window. *paces has `count` of them; the caller owns it. 0 or -ENOMEM. */
int watch_pace_measure(const struct watch_recent *recent, struct watch_pace **paces,
		       uint32_t *count);

/* Returns the end of the communicator's meetings that begin with first, as they stand together. */
uint32_t watch_pace_end(const struct watch_recent *recent, uint32_t first);

/* The pace of the communicator that has the meetings from first to end, by those called since since_ns. step_ns 0: too
 * few are there. 0 or -ENOMEM. */
int watch_pace_since(const struct watch_recent *recent, uint32_t first, uint32_t end,
		     uint64_t since_ns, struct watch_pace *pace);

struct watch_pace_log {
	struct watch_pace_entry *entries; /* owns; oldest first */
	uint32_t nr_entries;
};

void watch_pace_log_fini(struct watch_pace_log *log);

/* Remembers the paces of a look at time_ns. 0 or -ENOMEM. */
int watch_pace_log_add(struct watch_pace_log *log, uint64_t time_ns, const struct watch_pace *paces,
		       uint32_t count);

/* Returns the median step of a communicator in the looks up to before_ns that saw as many collectives in a step. 0:
 * there is none. */
uint64_t watch_pace_log_before(const struct watch_pace_log *log, uint64_t before_ns, uint64_t key,
			       uint32_t collectives);

#endif

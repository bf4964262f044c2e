/* Fills the parts of steps (step_rows.h) from the events of their processes. These come in stretches of time that
 * follow one another, so a log of any length passes through bounded memory. Used by one thread. */
#ifndef STEP_SWEEP_H
#define STEP_SWEEP_H

#include "step_rows.h"

#include "timeline/trace/nccl_waits.h"
#include "timeline/trace/timeline_events.h"

struct step_sweep;

/* All are borrowed until destroy. nccl NULL: nothing is known of waits. The roster of the profile has the processes of
 * the rows. NULL: out of memory. destroy() accepts NULL. */
struct step_sweep *step_sweep_create(struct step_rows *rows, const struct profile *profile,
				     const struct nccl_waits *nccl);
void step_sweep_destroy(struct step_sweep *sweep);

/* Adds what happened in [from_ns, to_ns), which begins where the last stretch ended. events has all work with a part in
 * it, and its launches. Launches whose work may come later are kept. 0 or -ENOMEM. */
int step_sweep_add(struct step_sweep *sweep, const struct timeline_events *events, uint64_t from_ns,
		   uint64_t to_ns);

/* Ends the last stretch: what follows gaps that are open is not known. */
void step_sweep_end(struct step_sweep *sweep);

#endif

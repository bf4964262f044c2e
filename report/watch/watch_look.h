/* Looks at the newest collectives of a job, and finds the ranks and groups that are late in them, by the rules of a
 * whole run (straggler.h).
 *   - The window is WATCH_LOOK_NS long, and longer for WATCH_LOOK_LEAST collectives. Where it must be longer, a second
 *     one of WATCH_LOOK_FEW collectives finds sooner who has become late. It finds no stalls.
 *   - A stall is STRAGGLER_STALL_MIN of WATCH_LOOK_NS at least. While a job is young, or has so many collectives that
 *     few are kept, the window is shorter, and any pause would be much of it.
 *   - A cause that explains less than WATCH_LOOK_CAUSE_MIN of the lateness is left out.
 *   - Ranks that are late because of others are left out.
 *   - The stages of pipelines are compared in the first window, which is longer where a part of the GPU work is kept
 *     (straggler_look.h). If that cannot be done, all of a communicator are left out whose ranks are those of several
 *     stages: a schedule makes ranks late.
 *   - Slow links are found as of straggler_links.h, in the first window.
 *   - Ranks that have not come to a collective are no findings: what they cost is not known yet.
 *   - The chance of a false name is divided by WATCH_LOOK_LOOKS, because a job is looked at again and again.
 * Pure but for reading the store; one thread. */
#ifndef WATCH_LOOK_H
#define WATCH_LOOK_H

#include <stdint.h>

#include "watch_absence.h"
#include "watch_finding.h"
#include "watch_pace.h"

#include "report/causes/straggler_causes.h"
#include "report/profile/profile_recent.h"

#define WATCH_LOOK_NS       6000000000ull
#define WATCH_LOOK_LEAST    32u
#define WATCH_LOOK_FEW      12u
#define WATCH_LOOK_LOOKS    1000u
/* A part of the lateness. A report shows causes from a fiftieth on, but all of them. The line of an event has one. */
#define WATCH_LOOK_CAUSE_MIN 0.1
#define WATCH_LOOK_FINDINGS 16u /* of a look: the groups and ranks that cost most */

struct watch_look {
	struct watch_finding
		*findings; /* owns; groups first, links last, at most WATCH_LOOK_FINDINGS */
	uint32_t nr_findings;
	struct watch_pace *paces; /* owns; of the communicators in the window */
	uint32_t nr_paces;
	struct watch_absence
		*absences; /* owns; at most WATCH_ABSENCE_MAX, and as of watch_unstarted.h */
	uint32_t nr_absences;
	uint64_t newest;   /* as of watch_recent.h: equal in two looks if nothing came between */
	uint64_t compared; /* collectives in the window */
	bool has_stages;   /* stages of pipelines were compared */
};

/* Reads the store at this path. 0, or an error of profile_recent_load() with *error. Call watch_look_fini() in either
 * case. */
int watch_look_read(const char *path, struct watch_look *look, char **error);

/* Makes the same look of what has been read of the store at this path, once. profile: where causes are looked for, the
 * whole profile (profile_load()), read after the recent part; NULL: no causes are looked for. 0; -EPROTO: it is
 * damaged; other errors of database.h; -ENOMEM. */
int watch_look_make(const struct profile_recent *recent, const char *path,
		    const struct profile *profile, struct watch_look *look);
void watch_look_fini(struct watch_look *look);

/* Returns the first of the causes that explains enough of the lateness in the window; NULL: none does. */
const struct straggler_cause *watch_look_cause(const struct straggler_cause *causes,
					       uint32_t count);

#endif

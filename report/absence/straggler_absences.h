/* Finds who has not come to collectives in which others wait, in all of a job (straggler_absence.h). A rank that one
 * waits for may itself wait for another one, on another communicator: only the last of such a chain is left. Ranks that
 * died there are absent, too (straggler_deaths.h). Ranks of one host of which none has come are put together.
 * Pure; one thread. */
#ifndef STRAGGLER_ABSENCES_H
#define STRAGGLER_ABSENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "straggler_absence.h"

#include "report/profile/clock_map.h"
#include "report/profile/profile.h"

struct collective_log;

struct straggler_absences {
	struct straggler_absence *list; /* owns; those for which most ranks wait first */
	uint32_t count;
};

/* clocks: of the hosts; NULL: not known. 0 or -ENOMEM; call straggler_absences_fini() in either case. */
int straggler_absences_find(const struct collective_log *log, const struct roster *roster,
			    const struct clock_map *clocks, struct straggler_absences *absences);
void straggler_absences_fini(struct straggler_absences *absences);

/* Sets waited_ns, and leaves those of which it is certain that ranks have waited for them:
 *   - for STRAGGLER_ABSENCE_NS, and longer than between any two calls before. What ranks do after a signal has ended
 *     the absent ones is no wait for these;
 *   - or until a signal from outside ended them, as a launcher's when a rank has died by itself; or for
 *     STRAGGLER_DEATHS_NS after that, because what ends all ranks does not do so at once.
 * clocks: of the hosts; NULL: not known. now_ns: CLOCK_REALTIME of the aggregator while the job runs; 0: it has ended,
 * and a process that has not said so ended when it last spoke. */
void straggler_absences_judge(struct straggler_absences *absences, const struct roster *roster,
			      const struct clock_map *clocks, uint64_t now_ns);

/* Appends "rank 5 on node2", "node2 (4 ranks: 4-7)", "ranks 4-5 on node2". */
void straggler_absences_name(const struct profile *profile, const struct straggler_absence *absence,
			     char *text, size_t size);

/* Returns whether that name is one of several: "ranks 4-5 on node2". A host is one. */
bool straggler_absences_several(const struct straggler_absence *absence);

#endif

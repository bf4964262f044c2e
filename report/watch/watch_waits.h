/* Follows the ranks that have not come to a collective, from look to look (watch_absence.h). Part of watch_events;
 * pure; one thread.
 *   - They are missing once nothing has changed for STRAGGLER_ABSENCE_NS, and for longer than is usual. If their
 *     processes have ended, they are missing once WATCH_WAITS_LOOKS looks have found that.
 *   - They are missing no longer when they have come. If those that waited have ended, there is no word of it. */
#ifndef WATCH_WAITS_H
#define WATCH_WAITS_H

#include "watch_absence.h"

#define WATCH_WAITS_LOOKS 2u

struct watch_wait {
	struct watch_absence absence; /* owns; of the newest look */
	uint64_t since_ns;            /* since then nothing has changed */
	uint32_t looks;
	bool told;
};

struct watch_waits {             /* zeroed: nobody is missing */
	struct watch_wait *list; /* owns */
	uint32_t count;
};

/* begins: it is missing now; else it has come. 0 or -errno, which watch_waits_take() returns. */
typedef int watch_waits_tell(void *context, const struct watch_wait *wait, bool begins);

/* Takes what a look has found. 0, -ENOMEM or the value of tell. */
int watch_waits_take(struct watch_waits *waits, const struct watch_absence *list, uint32_t count,
		     uint64_t now_ns, watch_waits_tell *tell, void *context);
void watch_waits_fini(struct watch_waits *waits);

#endif

/* Makes events of successive looks at a job (watch_look.h): who is late since when, and who is no longer.
 *   - A rank or a group is late once WATCH_EVENTS_NAMED looks in a row have found it, and no longer once
 *     WATCH_EVENTS_GONE looks in a row have not. A look without new collectives counts for neither.
 *   - A link is slow once all looks of WATCH_EVENTS_LINK_NS have found it so.
 *   - A stall is told once, when it is over, and is nobody's lateness. What is left in the window of a lateness that is
 *     over looks like a stall, and is none.
 *   - Ranks are missing, and come, as of watch_waits.h. Looks without new collectives count for that.
 *   - Where a group is found, its ranks are late no longer by themselves, which is no event.
 * Pure; one thread. */
#ifndef WATCH_EVENTS_H
#define WATCH_EVENTS_H

#include <stdint.h>

#include "watch_look.h"

#define WATCH_EVENTS_NAMED 2u
#define WATCH_EVENTS_GONE  3u
/* Collectives come into the store so much later, and so an onset lies so much before what its age tells. */
#define WATCH_EVENTS_STORE_NS 2000000000ull
/* Three windows (WATCH_LOOK_NS) that have no collective in common: one alone may be slow by chance. */
#define WATCH_EVENTS_LINK_NS (3 * WATCH_LOOK_NS)

enum watch_event_kind {
	WATCH_EVENT_LATE,
	WATCH_EVENT_RECOVERED,
	WATCH_EVENT_STALLED,
	WATCH_EVENT_SLOW,    /* a link */
	WATCH_EVENT_MISSING, /* the others wait, and it has not come */
	WATCH_EVENT_CAME,    /* it was missing */
};

struct watch_event {
	enum watch_event_kind kind;
	uint64_t time_ns, since_ns; /* CLOCK_REALTIME: now, and of the onset, about */
	uint64_t until_ns;          /* of one that recovered: of the end, about; else 0 */
	struct watch_finding
		finding;     /* owns; of the newest look that has found it; as of watch_absence.h */
	uint32_t nr_waiting; /* for a missing one */
};

struct watch_events;

/* NULL: out of memory. destroy() accepts NULL. */
struct watch_events *watch_events_create(void);
void watch_events_destroy(struct watch_events *events);

/* Takes a look; now_ns is its time (CLOCK_REALTIME). *list has `count` events, in the order in which they are told; the
 * caller owns it: watch_events_free(). 0 or -ENOMEM. */
int watch_events_take(struct watch_events *events, const struct watch_look *look, uint64_t now_ns,
		      struct watch_event **list, uint32_t *count);
void watch_events_free(struct watch_event *list, uint32_t count);

/* Gives what goes on as of the last look: each late rank or group, slow link and missing rank that was told and is not
 * over, as an event of now_ns (CLOCK_REALTIME). *list as above. 0 or -ENOMEM. */
int watch_events_current(struct watch_events *events, uint64_t now_ns, struct watch_event **list,
			 uint32_t *count);

#endif

/* When a profile is committed: some time after the first change, sooner where much has come or an agent waits for it,
 * and after a failure later again. Pure: time and sizes are arguments. Used by the aggregator's thread. */
#ifndef COMMIT_SCHEDULE_H
#define COMMIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define COMMIT_SCHEDULE_INTERVAL_MS 100u
#define COMMIT_SCHEDULE_RETRY_MS    1000u /* after a commit that failed */
#define COMMIT_SCHEDULE_BYTES                                                                      \
	(16u << 20) /* received since the last commit: not to wait for the interval */
#define COMMIT_SCHEDULE_FRAMES 512u       /* half an agent's window; likewise */
#define COMMIT_SCHEDULE_ROWS   (1u << 18) /* of totals in hand; likewise */

struct commit_schedule { /* zeroed: nothing to commit */
	bool changed; /* since the last commit: there is something to commit. Whoever changes it says so here */
	bool hurry;             /* an agent waits for its last acknowledgement */
	bool failed;            /* the last commit did */
	bool dated;             /* at_ns is valid */
	uint64_t at_ns;         /* CLOCK_MONOTONIC */
	uint64_t frames, bytes; /* received since the last commit */
};

/* Something has changed, or may have: the next commit is due interval_ms later at the latest (0:
 * COMMIT_SCHEDULE_INTERVAL_MS). */
void commit_schedule_date(struct commit_schedule *schedule, uint64_t now_ns, uint32_t interval_ms);

/* nr_rows: of totals, in hand. */
bool commit_schedule_is_due(const struct commit_schedule *schedule, uint64_t now_ns,
			    uint32_t nr_rows);

/* Until when to wait for messages: the next commit, until_ns at most. */
uint64_t commit_schedule_until(const struct commit_schedule *schedule, uint64_t until_ns);

/* A commit was made; or tried. */
void commit_schedule_done(struct commit_schedule *schedule);
void commit_schedule_fail(struct commit_schedule *schedule, uint64_t now_ns);

#endif

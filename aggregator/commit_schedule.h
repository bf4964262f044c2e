/* When the aggregator commits: some time after the first change, sooner where much has come or an agent waits for it, and after a failure
 * later again. Pure: time and sizes are arguments. Used by the aggregator's thread. */
#ifndef COMMIT_SCHEDULE_H
#define COMMIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define COMMIT_SCHEDULE_INTERVAL_MS 100u
#define COMMIT_SCHEDULE_RETRY_MS    1000u /* after a commit that failed */
#define COMMIT_SCHEDULE_IDLE_MS     1000u /* the longest wait while there is nothing to commit */
#define COMMIT_SCHEDULE_BYTES                                                                      \
	(16u << 20) /* received since the last commit: not to wait for the interval */
#define COMMIT_SCHEDULE_FRAMES 512u       /* half an agent's window; likewise */
#define COMMIT_SCHEDULE_ROWS   (1u << 18) /* of totals in hand; likewise */

struct commit_schedule {
	uint32_t interval_ms;
	bool changed; /* since the last commit: there is something to commit. Whoever changes it says so here */
	bool hurry;      /* an agent waits for its last acknowledgement */
	bool failed;     /* the last commit did */
	uint64_t at_ns;  /* CLOCK_MONOTONIC; valid if changed */
	uint64_t frames; /* since the last commit */
	uint64_t bytes;  /* received before it */
};

/* interval_ms: from the first change to the commit; 0: COMMIT_SCHEDULE_INTERVAL_MS. */
void commit_schedule_init(struct commit_schedule *schedule, uint32_t interval_ms);

/* From now on something is changed that was not. */
void commit_schedule_start(struct commit_schedule *schedule, uint64_t now_ns);

/* bytes: all that were ever received; nr_rows: of totals, in hand. */
bool commit_schedule_is_due(const struct commit_schedule *schedule, uint64_t now_ns, uint64_t bytes,
			    uint32_t nr_rows);

/* How long to wait for messages: until the next commit, COMMIT_SCHEDULE_IDLE_MS at most. */
int commit_schedule_wait_ms(const struct commit_schedule *schedule, uint64_t now_ns);

/* A commit was made; or tried. */
void commit_schedule_done(struct commit_schedule *schedule, uint64_t bytes);
void commit_schedule_fail(struct commit_schedule *schedule, uint64_t now_ns);

#endif

/* The jobs of a site's aggregator that are not complete, each with a profile in its own directory. A job is complete
 * when all its agents have said goodbye and no other agent is expected. None is expected if all nodes or ranks that the
 * launcher named have come, or if none has come for a while. Used by the aggregator's thread. */
#ifndef JOB_TABLE_H
#define JOB_TABLE_H

#include <stdint.h>

#include "job_retention.h"
#include "open_profile.h"

#include "proto/batch/message.h"

#define JOB_TABLE_MAX 1024u /* at once */

struct job_table;
struct peer;
struct receiver;
struct worker_pool;

struct job_table_options {     /* strings are borrowed for the call */
	const char *directory; /* made if it is missing */
	const char *reports;   /* path of `flamegrid` for job_reports.h; NULL: no reports */
	/* wait for further agents after the others' last message; 0: 10,000 */
	uint32_t wait_nodes_ms;
	uint32_t wait_silent_ms; /* wait for a silent agent without a goodbye; 0: 300,000 */
	uint32_t stores_max;     /* open at once; 0: as many as there are jobs */
	struct job_retention_limits keep; /* of complete jobs; zeroed: all of them */
	uint64_t bytes_max;               /* of each job's store (store.h); 0: no limit */
	struct metrics_board *board;      /* for the jobs' metrics; borrowed until destroy; NULL */
	struct receiver *receiver;        /* borrowed until destroy, as the next two */
	struct worker_pool
		*workers; /* open and close jobs; have no task when the table is destroyed */
	struct frame_budget *budget; /* of the profiles' queues */
};

/* Opens the directory, and goes on with the jobs in it that were not complete. 0; -EBUSY: another aggregator has that
 * directory; other -errno. On error *table is NULL, and *error is one line, which the caller owns (free()). */
int job_table_create(const struct job_table_options *options, uint64_t now_ns,
		     struct job_table **table, char **error);
void job_table_destroy(struct job_table *table); /* accepts NULL; commit everything before */

/* Finds or makes the profile of the job that an agent names; borrowed until the job is complete. A new one waits until
 * it is opened (job_table_waiting()). welcome is the answer. 0; -ENOMEM; 1: the agent was answered here. It was
 * refused, or its profile is complete and it was told how far it is stored. */
int job_table_admit(struct job_table *table, const struct peer *peer,
		    const struct message_hello *hello, const struct message_welcome *welcome,
		    struct open_profile **profile);

/* Returns a profile that waits to be opened; NULL: there is none. job_table_open() gives it to a worker. If that fails,
 * job_table_step() refuses its agents, and the profile is gone. */
struct open_profile *job_table_waiting(const struct job_table *table);
void job_table_open(struct job_table *table, struct open_profile *profile);

/* Finds the only job of that user with this key, or with a key that begins with it and a dot; borrowed until the job is
 * complete. The user's name only selects, and is no right (peer_rights.h). 0; else an enum refuse_code, and *reason
 * (static storage) says why. */
int job_table_find(const struct job_table *table, const struct message_text *user,
		   const struct message_text *key, struct open_profile **profile,
		   const char **reason);

/* Returns whether stores_max are open. *oldest: of those whose profile is here, the one that was not written for
 * longest; NULL: there is none. */
bool job_table_is_full(const struct job_table *table, struct open_profile **oldest);

/* Closes a job whose store was deleted or moved, with a line on stderr. Its agents are refused from now on. */
void job_table_drop(struct job_table *table, struct open_profile *profile);

/* All profiles, in no order; borrowed until the job is complete. i is below the count. */
uint32_t job_table_count(const struct job_table *table);
struct open_profile *job_table_profile(const struct job_table *table, uint32_t i);

/* Closes complete jobs, detaches their connections and writes reports. Sets save_wanted of profiles that have to be
 * saved before. Returns the latest time for the next call, CLOCK_MONOTONIC; UINT64_MAX: after the next message. */
uint64_t job_table_step(struct job_table *table, uint64_t now_ns);

#endif

/* The jobs of a site's aggregator that are not complete, each with a profile of its own in a directory of its own. A
 * job is complete when all of its agents have said goodbye and no other is to come: as many nodes or ranks came as the
 * launcher told, or none for a while. Used by the aggregator's thread. */
#ifndef JOB_TABLE_H
#define JOB_TABLE_H

#include <stdint.h>

#include "open_profile.h"

#include "proto/batch/message.h"

#define JOB_TABLE_MAX 1024u /* at once */

struct job_table;
struct peer;
struct receiver;

struct job_table_options {     /* strings are borrowed for the call */
	const char *directory; /* made if it is missing */
	const char *reports;   /* job_reports.h's program; NULL: none */
	/* for agents that may still come, from the last word of the others; 0: 10,000 */
	uint32_t wait_nodes_ms;
	uint32_t wait_silent_ms;   /* for those that are silent, without a goodbye; 0: 300,000 */
	uint32_t stores_max;       /* open at once; 0: as many as there are jobs */
	struct receiver *receiver; /* borrowed until destroy */
	bool quiet;
};

/* Goes on with those that were not complete. 0; -EBUSY: another aggregator has that directory; other -errno; with
 * *error one line, owns: free(); *table is then NULL. */
int job_table_create(const struct job_table_options *options, uint64_t now_ns,
		     struct job_table **table, char **error);
void job_table_destroy(struct job_table *table); /* accepts NULL. All has been committed */

/* The profile of the job that an agent says it is of, made if it is new; borrowed until it is complete. 0, and the
 * answer names its place; -ENOMEM; 1: refused, or told how far it came in a profile that is complete by now. welcome:
 * the answer, but for these; its text is borrowed as long as the profile. */
int job_table_admit(struct job_table *table, const struct peer *peer,
		    const struct message_hello *hello, struct message_welcome *welcome,
		    struct open_profile **profile);

/* The job of that user whose key is this, or begins with it and a dot, if there is one alone; borrowed likewise. 0; or
 * an enum refuse_code, and *reason (static storage) says why. */
int job_table_find(const struct job_table *table, const struct message_text *user,
		   const struct message_text *key, struct open_profile **profile,
		   const char **reason);

/* Before a profile of the table is committed: lets the store rest that was not written for longest, if as many as
 * may be are open. */
void job_table_make_room(struct job_table *table, const struct open_profile *profile);

/* Closes a job whose store was deleted or moved, and says so. Its agents are refused from now on. */
void job_table_drop(struct job_table *table, struct open_profile *profile);

/* All profiles, in no order; borrowed likewise. i: below the count. */
uint32_t job_table_count(const struct job_table *table);
struct open_profile *job_table_profile(const struct job_table *table, uint32_t i);

/* Closes those that are complete, and lets go of their connections; writes reports. Returns when to be called again at
 * the latest, by CLOCK_MONOTONIC; UINT64_MAX: when something comes. */
uint64_t job_table_step(struct job_table *table, uint64_t now_ns);

#endif

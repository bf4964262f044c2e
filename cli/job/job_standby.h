/* A process on each node that waits to start the aggregator of its block (job_keeper.h, node_block.h), in case it is
 * lost: killed with all that would start it again, or cut off. The first one of another block than 0 is started in the
 * same way. All nodes may ask at once. One of them gets a claim (job_claim.h), and the others find its aggregator. An
 * aggregator that takes connections is not lost, however long it is silent.
 *
 * Two aggregators at once do no harm. The earlier one stops when it sees the later one's rendezvous, or its mark, and
 * its process stands by again. Where nodes keep profiles, each writes files of its own until then, and all of them are
 * one profile (profile_parts.h). Else the later one goes on with the same store, and begins when the earlier one has
 * closed it. Single-threaded. */
#ifndef JOB_STANDBY_H
#define JOB_STANDBY_H

#include <stdbool.h>
#include <stdint.h>

#include "job_keeper.h"

#include "proto/trust/rendezvous.h"

struct job_standby {
	struct job_keeper keeper; /* keeper.fd is -1: there is no process */
	bool asked;               /* an answer is awaited */
	bool leads;               /* of job_standby_leads() */
	bool ended;               /* of job_standby_end() */
};

/* Starts the process, before any thread is started. options are borrowed for the call. The step must have a key. 0 or
 * -errno. */
int job_standby_start(struct job_standby *standby, const struct job_keeper_options *options);

/* Says that the aggregator of this rendezvous does not answer. For a block without an aggregator so far it is the job's
 * own. It returns at once, and does nothing while an earlier question has no answer. Call it again each second as long
 * as that is so. */
void job_standby_ask(struct job_standby *standby, const struct rendezvous *lost);

/* Returns whether this node has the step's aggregator. It has none any more when that was killed or replaced. */
bool job_standby_leads(struct job_standby *standby);

/* Waits until a question has its answer, or has waited so long. */
void job_standby_await(struct job_standby *standby, uint32_t timeout_ms);

/* As job_keeper_end(), if this node has the aggregator; the first call counts. */
void job_standby_end(struct job_standby *standby, bool failed, uint64_t ended_ns);

/* Ends the process. If this node has the aggregator, it waits as job_keeper_await(). */
void job_standby_finish(struct job_standby *standby, keeper_word_told told, void *context);

#endif

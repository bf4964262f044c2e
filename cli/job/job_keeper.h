/* Runs the aggregator of one step, in a process of its own beside rank 0, which starts it and waits for it at the end.
 * It writes the profile, and the file by which the agents find it (rendezvous.h). For another block of nodes than 0
 * (node_block.h) it runs beside one of the block's nodes, and writes a part of the profile. When it is killed, its
 * parent starts another on the same store, addresses and keys (respawn.h). Main thread, before any other thread is
 * started. */
#ifndef JOB_KEEPER_H
#define JOB_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "keeper_word.h"

#include "cli/base/job_step.h"
#include "proto/trust/rendezvous.h"
#include "report/model/report_build.h"
#include "timeline/log/event_log.h"

struct job_keeper_options { /* strings are borrowed for the call */
	const struct job_step *step;
	uint32_t fan_in; /* nodes of a block */
	/* a directory; the rendezvous is beside it (rendezvous_search.h) */
	const char *output_path;
	const char *interface; /* the only network interface on which it listens; NULL: all */
	const char *title;
	struct report_options names;
	const char *watch;  /* as of job_watch.h */
	uint64_t bytes_max; /* aggregator.h, as the next one */
	bool raw_samples;
	struct event_log_options timeline;
	bool folds_on_nodes; /* each node keeps a profile of its own */
};

struct job_keeper {
	int fd; /* -1: there is none */
	bool folds_on_nodes;
	bool writes_part;  /* of another block than 0 */
	bool has_blocks;   /* other blocks write parts */
	uint64_t ended_ns; /* of job_keeper_end() */
	bool failed;       /* the same */
	pid_t group;       /* of background_leave() */
};

/* Starts the aggregator. 0: agents can find it; -errno after a warning. */
int job_keeper_start(struct job_keeper *keeper, const struct job_keeper_options *options);

/* What a later aggregator takes over, when the step's one is lost. */
struct job_keeper_lost {
	/* its key, the first one's, and the number of its profile's directory. Of a block that had none: the job's */
	const struct rendezvous *rendezvous;
	/* the claim (job_claim.h); renewed until the agents can find the new aggregator, and then removed */
	const char *claim_path;
};

/* Is job_keeper_start() for a node that takes over, in this process, and returns when all work is done. What the lost
 * one has written stays. Where nodes keep profiles, it becomes part of the profile (profile_parts.h); else the new one
 * goes on with its store. control: as the other end of the keeper's socket; a byte comes there when agents can find the
 * aggregator. false, after a warning: it has not come so far. */
bool job_keeper_take_over(const struct job_keeper_options *options,
			  const struct job_keeper_lost *lost, int control);

/* Says that rank 0's command has ended at ended_ns. From then on the keeper waits until every agent has said goodbye,
 * and two seconds at most if rank 0 failed, since the launcher waits for the status. Does nothing if there is no
 * keeper. */
void job_keeper_end(struct job_keeper *keeper, bool failed, uint64_t ended_ns);

/* After job_keeper_end(). Returns when the keeper has ended, END_BUDGET_MS after the end of the job at most. That is
 * the end of rank 0's command, or the last word from a node of its block whose ranks ran then; if rank 0 has failed,
 * nobody waits for others. Then the keeper goes on alone, after a line that says so, and a kill only leaves the profile
 * in parts (profile_parts.h). told: NULL: nobody is told. */
void job_keeper_await(struct job_keeper *keeper, keeper_word_told told, void *context);

#endif

/* What the agent of a long run says: definitions, and then launches, GPU work, calls of NCCL, samples and sums of each
 * rank, up to a time. Part of long_run. */
#ifndef LONG_RUN_WORDS_H
#define LONG_RUN_WORDS_H

#include "long_run.h"

#include "proto/batch/message.h"

#define LONG_RUN_REALTIME_NS 1700000000000000000ll /* CLOCK_REALTIME - CLOCK_MONOTONIC */

struct catalog;
struct long_run_buffer; /* of one message */

struct long_run_rank {
	uint32_t number, process_id;
	uint64_t nr_launched, nr_delivered, nr_told; /* steps; told: their collectives */
	uint64_t nr_samples, nr_launches, nr_work, work_ns;
};

struct long_run_words {
	struct long_run_options options;
	struct long_run_rank ranks[LONG_RUN_RANKS_MAX];
	uint64_t end_step, end_ns;      /* when that step's collective ends */
	struct long_run_buffer *buffer; /* owns */
	struct long_run_truth truth;
	uint64_t begin_ns;
	uint32_t reference; /* string of the collection's catalog: the aggregator's machine */
};

/* 0 or -errno. */
typedef int long_run_say(void *context, struct message *message);

int long_run_words_init(struct long_run_words *words, const struct long_run_options *options,
			uint64_t begin_ns);
void long_run_words_fini(struct long_run_words *words);

void long_run_words_hello(struct message *message);

/* Each says messages, and returns 0 or what say() has returned. */
int long_run_words_define(struct long_run_words *words, struct catalog *catalog, long_run_say *say,
			  void *context);
int long_run_words_say(struct long_run_words *words, uint64_t until_ns, long_run_say *say,
		       void *context);
int long_run_words_end(struct long_run_words *words, long_run_say *say, void *context);

#endif

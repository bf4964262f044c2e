/* A node of a simulated job that runs for days, and the profile that is kept of it: what an agent would say goes
 * through the codec, the fold, the event log and the store, as in an aggregator. The clock is a number, so nobody
 * waits. The same options make the same messages. Single-threaded. */
#ifndef LONG_RUN_H
#define LONG_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/log/event_log.h"

#define LONG_RUN_RANKS_MAX 512u
#define LONG_RUN_GPUS_MAX  8u

struct long_run_options {
	const char *store_path; /* borrowed until destroy */
	struct event_log_options timeline;
	uint64_t bytes_max; /* of the store; 0: none */
	bool raw_samples;
	uint32_t nr_ranks; /* LONG_RUN_RANKS_MAX at most */
	uint32_t nr_gpus;  /* of each rank; LONG_RUN_GPUS_MAX at most */
	uint32_t step_ms;  /* a step of each rank begins so often */
	uint32_t
		step_kernels; /* of each GPU, beside one of NCCL; each rank waits, allocates and frees */
	uint32_t samples_per_s;
	uint32_t tick_ms; /* time from one commit to the next; a multiple of step_ms */
};

struct long_run;

/* 0 or -errno, with *run NULL. destroy() accepts NULL, and leaves the files. */
int long_run_create(const struct long_run_options *options, struct long_run **run);
void long_run_destroy(struct long_run *run);

/* Lets the job run until so many seconds from its begin have passed. 0; or -errno, after which only destroy() is
 * allowed. */
int long_run_until(struct long_run *run, uint64_t until_s);

/* Tells the end of all ranks and of the agent, and commits. 0 or -errno. */
int long_run_end(struct long_run *run);

struct long_run_sizes {
	uint64_t heap_bytes;  /* of this whole process: what it has allocated */
	uint64_t cache_bytes; /* of these: SQLite's, mostly pages of the store */
	uint64_t rss_bytes;
	uint64_t log_bytes;                    /* the event log's files */
	uint64_t store_bytes, store_log_bytes; /* the database, and its own log */
	uint32_t nr_log_files;
};

/* 0 or -errno. */
int long_run_sizes(const struct long_run *run, struct long_run_sizes *sizes);

struct long_run_truth {                 /* so far */
	uint64_t nr_launches;           /* in the log: with waits and marks */
	uint64_t nr_records;            /* of all kinds */
	uint64_t nr_kernels, kernel_ns; /* NCCL's, too */
	uint64_t now_ns;                /* CLOCK_MONOTONIC of the node */
};

struct long_run_truth long_run_truth(const struct long_run *run);

#endif

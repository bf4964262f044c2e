/* What a swarm is asked for, by its command line. Plain data but for swarm_options_parse(); single-threaded. */
#ifndef SWARM_OPTIONS_H
#define SWARM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SWARM_KILLS_MAX     64u
#define SWARM_DETOURS_MAX   64u
#define SWARM_GPUS_MAX      16u /* of one process */
#define SWARM_PROCESSES_MAX 64u /* of one node */

/* A node that ends without a goodbye, at_ns after the first launch. */
struct swarm_kill {
	uint32_t node;
	uint64_t at_ns;
};

/* A node that connects to an endpoint of its own, such as a proxy that is slow or breaks connections. */
struct swarm_detour {
	uint32_t node;
	const char *endpoint; /* borrowed from the command line */
};

struct swarm_options {
	const char *endpoint;   /* borrowed from the command line, as all texts */
	const char *rendezvous; /* names endpoint and keys; NULL: none */
	const char *job;        /* its key; NULL: the aggregator's own profile */
	const char *keys_path;  /* an agent's; NULL: none */
	const char *truth_path; /* where the truth of each GPU is written; NULL: nowhere */
	uint32_t nr_nodes, nr_processes, nr_gpus;
	double rate; /* launches per second and GPU */
	uint32_t nr_keys;
	double seconds;
	uint32_t tick_ms;       /* between two messages of events of a process */
	uint32_t flush_ms;      /* between two deliveries of GPU records to a process */
	uint32_t window_frames; /* unpaced: a node waits with as many unacknowledged frames */
	bool unpaced;
	double collectives_per_s; /* of each process */
	double jitter;            /* of each rank's time to a collective, a share of the step */
	int late_rank, late_node; /* -1: none */
	double late_rank_by, late_node_by;
	double samples_per_s; /* host samples of each process */
	uint32_t nr_kills, nr_detours;
	struct swarm_kill kills[SWARM_KILLS_MAX];
	struct swarm_detour detours[SWARM_DETOURS_MAX];
	uint64_t seed;
	int watched_pid; /* the aggregator whose costs are read; 0: none */
};

/* Reads the command line. 0; -EINVAL: it is wrong, which was said on the standard error; 1: --help was asked for, and
 * answered. */
int swarm_options_parse(struct swarm_options *options, int argc, char **argv);

/* When that node dies, in ns from the first launch; UINT64_MAX: never. */
uint64_t swarm_options_death_ns(const struct swarm_options *options, uint32_t node);

/* Where that node connects. */
const char *swarm_options_endpoint(const struct swarm_options *options, uint32_t node);

#endif

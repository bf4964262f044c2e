/* One process of a swarm's node: it launches, its GPUs deliver records later, and it counts both. It says what the
 * workload lets it do up to a virtual time (workload.h). Single-threaded. */
#ifndef RANK_H
#define RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "swarm_options.h"
#include "workload.h"

/* What a GPU has done for its process, as it was told to the aggregator. */
struct gpu_truth {
	uint64_t count, ns;
};

/* The truth as of one message of the node. A node that dies leaves a profile that holds one of its last moments. */
struct rank_moment {
	uint64_t seq; /* of the message */
	struct gpu_truth gpus[SWARM_GPUS_MAX];
};

struct rank {
	const struct workload *workload; /* borrowed */
	uint32_t number;                 /* over all nodes */
	uint32_t process_id;             /* of its node, from 1 */
	uint64_t nr_launches;            /* of kernels; those of collectives are nr_steps */
	uint64_t nr_records;             /* of kernels */
	uint32_t nr_steps, nr_told_steps, nr_step_records;
	uint64_t nr_samples, sample_ns;
	struct gpu_truth truth[SWARM_GPUS_MAX];
	struct rank_moment *moments; /* owns; of a node that will die */
	uint32_t nr_moments, max_moments;
};

/* Puts launches up to until_ns into the builder and, where delivers is set, the GPU records of all launches. Returns
 * whether more is left than the builder has room for. */
bool rank_launch(struct rank *rank, struct batch_builder *builder, uint64_t until_ns,
		 bool delivers);

/* The thread that launches, which is the process's first, and the launch of a collective. */
uint32_t rank_tid(const struct rank *rank);
uint32_t rank_step_correlation(uint32_t step);

/* Remembers the truth as of message seq. 0 or -ENOMEM. */
int rank_remember(struct rank *rank, uint64_t seq);

/* The moments of which the profile may hold one: that of acked_seq, and all later ones. Borrowed until rank_remember().
 */
const struct rank_moment *rank_moments_since(const struct rank *rank, uint64_t acked_seq,
					     uint32_t *nr_moments);

#endif

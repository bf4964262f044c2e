/* Fake NCCL's communicators. A handle that is given back is the next one that is given out. Any thread; one at a time
 * for each of them. */
#ifndef COMM_H
#define COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl.h"

#define COMM_RANKS_MAX 64u

struct encounter_area;

enum fake_function {
	FAKE_ALL_REDUCE,
	FAKE_BROADCAST,
	FAKE_REDUCE,
	FAKE_ALL_GATHER,
	FAKE_REDUCE_SCATTER,
	FAKE_SEND,
	FAKE_RECV,
	FAKE_ALL_TO_ALL,
	FAKE_GATHER,
	FAKE_SCATTER,
	FAKE_FUNCTIONS,
};

struct ncclComm {
	struct ncclComm *next; /* of those that were given back */
	uint64_t
		key; /* as docs/host-only.md has it; of ncclCommInitAll that of a unique id of its own */
	uint32_t rank, nr_ranks;
	int device;
	uint32_t nr_splits; /* that it is the parent of */
	uint64_t sequence, function_sequences[FAKE_FUNCTIONS];

	/* What the plugin is told (profiler.h): a hash of its own, and how often each function was posted; and the
	 * truth of that. */
	uint64_t hash;
	void *profiler_context;
	bool profiled;
	uint64_t profiler_sequences[FAKE_FUNCTIONS];
	uint64_t nr_told, nr_told_by[FAKE_FUNCTIONS];
	uint64_t nr_told_by_peer[2][COMM_RANKS_MAX]; /* receives, sends */

	/* On the device (encounter.h). */
	struct encounter_area *area;
	uint64_t nr_met;
	uint32_t nr_sent[COMM_RANKS_MAX], nr_received[COMM_RANKS_MAX]; /* by peer */
};

/* NULL: out of memory. */
struct ncclComm *comm_create(void);
void comm_destroy(struct ncclComm *comm);

/* FNV-1a, 64 bits, never 0. */
uint64_t comm_hash(const void *bytes, size_t size);
uint64_t comm_split_key(uint64_t parent, int32_t color, uint32_t split);

/* Waits for the other ranks. */
ncclResult_t comm_join(struct ncclComm *comm);

/* Waits for the parent's other ranks, and gives the new one its place among those of its colour. *newcomm is written at
 * the end. */
ncclResult_t comm_split(struct ncclComm *parent, uint32_t split, int color, int key,
			ncclComm_t *newcomm);

#endif

/* The sums of a profile's GPU work as a tree: all, ranks, GPUs, streams, kernels; and how much of it came between two
 * readings. Pure; one tree is used by one thread.
 *   - A rank is one of a job; a process without a rank stands for itself. Its GPUs are told apart by their UUID.
 *   - A stream, and all ranks together, have kernels; those of a stream only where they are wanted, because a large job
 *     has millions of them.
 *   - Sums are those of the report: of durations for each kind of work, and of the time in which any work ran. */
#ifndef TOP_SUMS_H
#define TOP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "report/profile/profile_sums.h"

#define TOP_SUMS_NONE    UINT32_MAX
#define TOP_SUMS_HISTORY 12u        /* values that a sparkline has */
#define TOP_SUMS_KERNELS (1u << 20) /* of all streams; further ones are counted alone */

enum top_level { TOP_ALL, TOP_RANK, TOP_GPU, TOP_STREAM, TOP_KERNEL };

enum top_value {
	TOP_RECORDS, /* pieces of work */
	TOP_BUSY,    /* ns in which work ran; of a kernel its duration */
	TOP_COMPUTE, /* ns of kernels except NCCL's */
	TOP_NCCL,
	TOP_WAITS, /* part of TOP_NCCL: waits for other ranks, as far as they are known */
	TOP_COPIES,
	TOP_FILLS,
	TOP_GRAPHS, /* whole graphs, whose kernels are not known */
	TOP_VALUES,
};

struct top_node {
	uint64_t key; /* the same in each reading of this process */
	enum top_level level;
	uint32_t parent, first, next; /* nodes; first: the first child, next: of the same parent */
	const char *name;  /* clean; of a kernel, or the program's name of a stream; "": none */
	const char *place; /* clean; the host of a rank, the model of a GPU; "" */
	int32_t rank, gpu; /* REPORT_RANK_NONE, REPORT_GPU_NONE */
	uint32_t pid, context_id, stream_id;
	uint8_t kind, copy_kind; /* of a kernel: enum record_gpu_kind */
	bool is_running;         /* a process of it has not ended */
	bool has_busy;           /* false: its busy time is not known */
	bool is_told;            /* its kernels are there */
	uint64_t first_ns, last_ns; /* CUPTI's clock; of a GPU alone */
	/* of the time from the first start to the last end, of all its GPUs: between capture windows, where nothing is
	 * known */
	uint64_t uncaptured_ns;
	uint64_t
		heard_ns; /* CLOCK_REALTIME: up to then the sums are there; the newest of its processes */
	uint64_t quiet_ns;  /* of a GPU: for so long messages have told of no work of it */
	uint64_t window_ns; /* captured from the first start to the last end, of all its GPUs */
	uint64_t values[TOP_VALUES];
	/* What came between the last two readings that had news of it. rate_ns: of all its GPUs together; 0: there are
	 * no two such readings */
	uint64_t rate_ns, rates[TOP_VALUES];
	uint32_t rate_gpus; /* of so many GPUs rate_ns is the sum */
	/* the part of each such time in which it was busy, in percent; the newest last */
	uint8_t history[TOP_SUMS_HISTORY];
	uint8_t nr_history;
};

struct top_sums {
	struct top_node *nodes; /* owns; the first is all ranks together */
	uint32_t nr_nodes, room_nodes;
	uint32_t nr_ranks, nr_gpus, nr_running; /* nr_running: ranks */
	uint32_t nr_kernels;
	uint64_t kernels_left_out; /* totals of kernels above TOP_SUMS_KERNELS */
	uint64_t read_ns;          /* CLOCK_REALTIME */
	uint8_t writer[STORE_WRITER_SIZE];
	struct hash_index index; /* by key */
	char **texts;            /* owns the names that nodes borrow */
	uint32_t nr_texts;
};

/* Which streams have kernels. wants NULL: all. */
struct top_wants {
	bool (*wants)(const void *context, uint64_t key);
	const void *context;
};

/* 0; -EPROTO: the profile names things that it does not hold; -ENOMEM. On error *sums is NULL. The caller owns *sums.
 */
int top_sums_create(const struct profile_sums *from, const struct top_wants *wants,
		    struct top_sums **sums);
void top_sums_destroy(struct top_sums *sums); /* accepts NULL */

/* Returns whether both are readings of one profile. */
bool top_sums_is_same(const struct top_sums *sums, const struct top_sums *other);

/* Subtracts the last reading of the same profile. A GPU of which nothing was heard since keeps its rates. */
void top_sums_follow(struct top_sums *sums, const struct top_sums *last);

/* Returns the node with this key; TOP_SUMS_NONE: there is none. */
uint32_t top_sums_find(const struct top_sums *sums, uint64_t key);

/* Writes what a node is called: "rank 5", "GPU 3", "stream 7 (nccl)", "all ranks". A name that fits is cut. Returns
 * label. */
const char *top_sums_label(const struct top_node *node, char *label, size_t size);

#endif

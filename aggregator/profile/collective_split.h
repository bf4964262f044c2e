/* The time of kernels of collectives, split: what they waited for other ranks' kernels to begin, and what remains, in
 * which data moved. One split for each total of kernels (fold_table.h); its parts are never more than the total. Of
 * each split the ranks that were waited for longest are kept one by one. Plain data; one thread. */
#ifndef COLLECTIVE_SPLIT_H
#define COLLECTIVE_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

struct collective_gpu;

#define COLLECTIVE_SPLIT_RANKS 16u

/* The key of the total, of matched kernels that no graph launched. */
struct collective_split_key {
	uint32_t process, device_id, context_id, stream_id, tid, node, name;
};

/* Waits for one rank. */
struct collective_split_wait {
	uint32_t process, device_id; /* CUDA ordinal in that process */
	uint64_t count, ns;
};

struct collective_split {
	struct collective_split_key key;
	bool changed;       /* since it was loaded */
	uint64_t kernels;   /* that were split */
	uint64_t moves_ns;  /* their time in which data moved */
	uint64_t bus_bytes; /* that the data were, as bus bandwidth counts them */
	uint64_t several,
		several_ns; /* waits for several ranks at once, or for ranks without a place */
	/* owns; the newest last, at most COLLECTIVE_SPLIT_RANKS unless more were loaded */
	struct collective_split_wait *waits;
	uint32_t nr_waits;
};

/* Zeroed memory is empty. */
struct collective_splits {
	struct collective_split *splits; /* owns */
	uint32_t count, room;
	struct hash_index index;
};

void collective_splits_fini(struct collective_splits *splits);

/* Returns the split with this key, which is made if it is missing. NULL: out of memory. Borrowed until the next call.
 * find: NULL: it is missing. */
struct collective_split *collective_splits_get(struct collective_splits *splits,
					       const struct collective_split_key *key);
struct collective_split *collective_splits_find(const struct collective_splits *splits,
						const struct collective_split_key *key);

/* Returns the key of the total that holds a kernel of the process. */
struct collective_split_key collective_split_key_of(uint32_t process,
						    const struct collective_gpu *gpu);

/* Adds a wait for a rank. If as many ranks are known as there are places, the new one takes the place of the rank that
 * was waited for least, whose waits become waits for several. 0 or -ENOMEM. */
int collective_split_wait(struct collective_split *split, const struct collective_split_wait *wait);

/* Adds a wait, and keeps it, however many there are. 0 or -ENOMEM. */
int collective_split_keep(struct collective_split *split, const struct collective_split_wait *wait);

/* A kernel with its rank. */
struct collective_split_end {
	struct collective_split_key key; /* of its total */
	uint64_t ns;
	uint64_t bus_bytes; /* what it moved, as bus bandwidth counts it */
	bool left_out; /* its total is not known, or it is split already: it only counts as another one's rank */
};

/* Splits kernels that all met, at least two, and ended together: the shortest waited for none. 0 or -ENOMEM. */
int collective_splits_add(struct collective_splits *splits, const struct collective_split_end *ends,
			  uint32_t count);

/* Splits one kernel, of whose time it waited wait_ns for the last rank. last NULL: for several. 0 or -ENOMEM. */
int collective_splits_add_one(struct collective_splits *splits,
			      const struct collective_split_end *end,
			      const struct collective_split_end *last, uint64_t wait_ns);

/* Returns the bytes of a call as bus bandwidth counts them: those that each rank's link carries, if each of nr_ranks
 * ranks sends each byte no oftener than it must. bytes: collective_bytes(). */
uint64_t collective_split_bus_bytes(uint32_t function, uint64_t bytes, uint32_t nr_ranks);

#endif

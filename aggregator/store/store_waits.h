/* How long kernels of collectives waited for other ranks, by process and device: the sums of the store's splits
 * (collective_split.h), which have the calls that are folded. Single-threaded. */
#ifndef STORE_WAITS_H
#define STORE_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "database.h"

struct store_wait {
	uint32_t process, device_id; /* the roster's id; CUDA ordinal in the process */
	uint64_t ns;
};

/* Zeroed: none were read. */
struct store_waits {
	struct store_wait *waits; /* owns */
	uint32_t count, room;
	bool are_read;
};

void store_waits_fini(struct store_waits *waits);

/* Reads them anew. 0; -ENOMEM, or an error of the database: *waits are as they were. */
int store_waits_read(struct database *database, struct store_waits *waits);

#endif

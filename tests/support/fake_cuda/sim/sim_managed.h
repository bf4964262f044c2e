/* Managed memory: which processor each block of it lies on. What runs touches it only where the program says so: no
 * access is watched. New memory lies on the host. Any thread. */
#ifndef SIM_MANAGED_H
#define SIM_MANAGED_H

#include <stddef.h>
#include <stdint.h>

#define SIM_MANAGED_HOST        (-1)
#define SIM_MANAGED_BLOCK_BYTES (64u << 10)
#define SIM_MANAGED_RUN_BYTES   (2u << 20) /* of one migration at most */

struct sim_context;

/* By sim_memory_alloc(). NULL: out of memory. */
void *sim_managed_alloc(size_t size_bytes, const struct sim_context *context);

/* Before sim_memory_free(); does nothing if address is no such allocation. */
void sim_managed_forget(const void *address);

/* Called for each run of neighbouring blocks that lay on one other processor. */
typedef void sim_managed_moved(void *context, int source, uint64_t address, uint64_t bytes);

/* Moves what of the range is not there yet to `target`, an ordinal or SIM_MANAGED_HOST.
 * Returns 0; -EINVAL: the range is not within one allocation. */
int sim_managed_move(uint64_t address, size_t size_bytes, int target, sim_managed_moved *moved,
		     void *context);

#endif

/* Device and pinned memory: real pages of this process, so that copies copy. Any thread. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum sim_memory_place {
	SIM_PAGEABLE = 1,
	SIM_PINNED = 2,
	SIM_ON_DEVICE = 3,
	SIM_MANAGED = 5
}; /* CUPTI's memory kinds */

/* Untouched pages cost nothing. NULL: out of memory. */
void *sim_memory_alloc(size_t size_bytes, enum sim_memory_place place);
/* Returns 0; -EINVAL: address is no allocation of that place. */
int sim_memory_free(void *address, enum sim_memory_place place);

/* Where address lies; memory that is not from here is pageable. */
enum sim_memory_place sim_memory_place(const void *address);

#endif

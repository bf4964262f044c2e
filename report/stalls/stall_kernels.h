/* The samples of running kernels in a profile (HOST_SAMPLE_KERNEL), by kernel. Used by one thread. */
#ifndef STALL_KERNELS_H
#define STALL_KERNELS_H

#include <stdint.h>

#include "stall_share.h"

#include "report/profile/profile.h"

/* The samples of one place for one reason. */
struct stall_place {
	uint32_t stack_id; /* node of the catalog, with the kernel's name as the outermost frame */
	uint32_t reason;   /* string of the catalog; 0: not known */
	uint64_t count;    /* above 0 */
};

/* A kernel of one process on one device. */
struct stall_kernel {
	uint32_t process_id, device_id; /* as in fold_key: device_id is a CUDA ordinal */
	uint32_t name_id;               /* string of the catalog; 0: not known */
	/* by count, the most first, then by the content of stack and reason */
	const struct stall_place *places;
	uint32_t nr_places; /* above 0 */
	stall_sum count;    /* of all places */
};

struct stall_kernels {
	struct stall_kernel *kernels; /* owns; by process, device, name */
	uint32_t nr_kernels;
	struct stall_place *places; /* owns */
};

/* Gathers all of a profile. 0; -EPROTO: a sample names what the profile does not hold; -ENOMEM. Call fini() in either
 * case. */
int stall_kernels_init(struct stall_kernels *kernels, const struct profile *profile);
void stall_kernels_fini(struct stall_kernels *kernels);

/* Finds the kernel of a GPU record's key; NULL: no sample is known to be its own. */
const struct stall_kernel *stall_kernels_find(const struct stall_kernels *kernels,
					      const struct fold_key *key);

#endif

/* The samples of running kernels in a profile by kernel; those of exact windows by the stack of the launch, too. Used
 * by one thread. */
#ifndef STALL_KERNELS_H
#define STALL_KERNELS_H

#include <stdint.h>

#include "report/profile/profile.h"
#include "report/statistics/exact_share.h"

/* The samples of one place for one reason. */
struct stall_place {
	uint32_t stack_id; /* node of the catalog, as in proto/host_sample.h */
	uint32_t reason;   /* string of the catalog; 0: not known */
	uint32_t number;   /* equal where names of kernels, frames in them and reasons are */
	uint64_t count;    /* above 0 */
};

/* A kernel of one process on one device; of exact samples by launch, a kernel of one launch's stack. */
struct stall_kernel {
	uint32_t process_id, device_id; /* as in fold_key: device_id is a CUDA ordinal */
	uint32_t name_id;               /* string of the catalog; 0: not known */
	uint32_t launch_id;             /* by launch: its stack; 0: not known */
	/* by count, the most first, then by the content of stack and reason */
	const struct stall_place *places;
	uint32_t nr_places; /* above 0 */
	exact_sum count;    /* of all places */
};

/* Kernels, by process, device, name, launch. */
struct stall_kernel_list {
	struct stall_kernel *kernels; /* owns */
	uint32_t nr_kernels;
	struct stall_place *places; /* owns */
};

struct stall_kernels {
	struct stall_kernel_list all;      /* samples of both kinds */
	struct stall_kernel_list launches; /* exact samples among these, by launch */
	uint32_t nr_numbers;               /* of places; each is below */
};

/* Gathers all of a profile. 0; -EPROTO: a sample names what the profile does not hold; -ENOMEM. Call fini() in either
 * case. */
int stall_kernels_init(struct stall_kernels *kernels, const struct profile *profile);
void stall_kernels_fini(struct stall_kernels *kernels);

/* Finds the kernel of a GPU record's key; NULL: no sample is known to be its own. */
const struct stall_kernel *stall_kernels_find(const struct stall_kernels *kernels,
					      const struct fold_key *key);

/* Finds the exact samples of a GPU record's kernel and launch. NULL: there are none; or the record is that of a graph's
 * node, whose place in the graph samples do not tell. */
const struct stall_kernel *stall_kernels_find_launch(const struct stall_kernels *kernels,
						     const struct fold_key *key);

#endif

/* What NCCL's kernels of a timeline waited for other ranks. A kernel is split where the calls of all ranks of its
 * collective are kept one by one with their kernels: these end together, so it waited as long as it is longer than the
 * shortest (collective_split.h). Used by one thread. */
#ifndef NCCL_WAITS_H
#define NCCL_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_folds.h"

struct nccl_waits_kernel {
	uint64_t ns, wait_ns;
	uint32_t process_id, correlation_id;
};

struct nccl_waits {
	struct nccl_waits_kernel *kernels; /* owns; by process and correlation id */
	uint32_t nr_kernels;
};

/* 0 or -ENOMEM. Call nccl_waits_fini() in any case. */
int nccl_waits_init(struct nccl_waits *nccl, const struct collective_folds *folds);

/* As nccl_waits_init(), with the collectives of a store. Or an error of profile_collectives_load(), also in *why, and
 * no kernel is known. */
int nccl_waits_load(struct nccl_waits *nccl, const char *store_path, char **why);
void nccl_waits_fini(struct nccl_waits *nccl);

/* Finds how long a kernel of this duration waited, at its begin. false: it is not known. */
bool nccl_waits_find(const struct nccl_waits *nccl, uint32_t process_id, uint32_t correlation_id,
		     uint64_t ns, uint64_t *wait_ns);

#endif

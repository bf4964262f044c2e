/* What NCCL's kernels of a timeline waited for other ranks. A kernel is split where the calls of all ranks of its
 * collective are kept one by one with their kernels: these end together, so it waited as long as it is longer than the
 * shortest (collective_split.h). Used by one thread. */
#ifndef STEP_NCCL_H
#define STEP_NCCL_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collective_folds.h"

struct step_nccl_kernel {
	uint64_t ns, wait_ns;
	uint32_t process_id, correlation_id;
};

struct step_nccl {
	struct step_nccl_kernel *kernels; /* owns; by process and correlation id */
	uint32_t nr_kernels;
};

/* 0 or -ENOMEM. Call step_nccl_fini() in any case. */
int step_nccl_init(struct step_nccl *nccl, const struct collective_folds *folds);
void step_nccl_fini(struct step_nccl *nccl);

/* Finds how long a kernel of this duration waited, at its begin. false: it is not known. */
bool step_nccl_find(const struct step_nccl *nccl, uint32_t process_id, uint32_t correlation_id,
		    uint64_t ns, uint64_t *wait_ns);

#endif

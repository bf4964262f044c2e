/* The kinds of findings: each adds its findings to the list, or none. Part of findings; used by one thread. */
#ifndef FINDING_KINDS_H
#define FINDING_KINDS_H

#include "finding.h"
#include "finding_limits.h"

/* Each returns 0 or -ENOMEM. low_occupancy_find() comes after short_kernels_find(), so that no kernel gets the cures of
 * both. */
int short_kernels_find(const struct findings_input *input, struct findings *findings);
int blocking_copies_find(const struct findings_input *input, struct findings *findings);
int idle_gpus_find(const struct findings_input *input, struct findings *findings);
int allocation_churn_find(const struct findings_input *input, struct findings *findings);
int exposed_nccl_find(const struct findings_input *input, struct findings *findings);
int fp32_matmul_find(const struct findings_input *input, struct findings *findings);
int low_occupancy_find(const struct findings_input *input, struct findings *findings);

#endif

/* The noise of a kernel's time within runs (noise.h). Pure; any thread. */
#ifndef RUN_NOISE_H
#define RUN_NOISE_H

#include <stdbool.h>

#include "noise.h"
#include "run_item.h"

/* Of the run's mean; the item is one of the run's. false: the run does not tell. The second is a bound that counts
 * launches as independent. */
bool run_noise_of_windows(const struct run_work *work, const struct run_item *item,
			  struct noise *noise);
bool run_noise_of_launches(const struct run_work *work, const struct run_item *item,
			   struct noise *noise);

/* Returns whether two runs had the same GPUs, each as often. */
bool run_noise_same_gpus(const struct run_work *a, const struct run_work *b);

/* Of the change between two runs on the same GPUs, from how much it differs from rank to rank. 1; 0: there are too few
 * ranks, or not all have the kernel; -ENOMEM. */
int run_noise_of_ranks(const struct run_work *before, const struct run_item *item_before,
		       const struct run_work *after, const struct run_item *item_after,
		       struct noise *noise);

#endif

/* Modelled jobs (tests/report/lateness/straggler_model.h), judged as `report --ranks` does. */
#ifndef LATE_RANKS_H
#define LATE_RANKS_H

#include "tests/report/lateness/straggler_model.h"

/* Where a rank spends the work of its steps, and so where its noise and its lateness are. On the host: its GPU works
 * for 30 % of of the usual step, whatever the host does. */
enum late_where { LATE_ON_GPU, LATE_ON_HOST, LATE_ON_BOTH, LATE_WHERE };

/* Plays the job of that work (model_work()) in a store of its own, on hosts and GPUs whose clocks are apart. Returns
 * the number of marked ranks, and sets marked[i] for each of these. */
uint32_t late_ranks_mark(const struct model *model, const double *work, enum late_where where,
			 bool *marked);

#endif

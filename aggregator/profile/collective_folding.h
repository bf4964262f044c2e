/* Folds calls of collective libraries (collective_folds.h). Calls of all ranks of a communicator are matched, compared
 * and added up. Single-threaded. */
#ifndef COLLECTIVE_FOLDING_H
#define COLLECTIVE_FOLDING_H

#include <stdbool.h>

#include "collective_folds.h"

/* Folds the calls of the log that wait for nothing, or all calls that are not folded. collective_kept.h chooses the raw
 * rows that are kept. Call it once. 0 or -ENOMEM. */
int collective_folds_take(struct collective_folds *folds, bool all);

#endif

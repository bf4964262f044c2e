/* Chooses the folded calls of collective libraries whose raw rows stay: of each communicator the newest, each
 * rank's newest sends and receives, those of the collectives with the longest waits, and some that are spread over the
 * run. One thread. */
#ifndef COLLECTIVE_KEPT_H
#define COLLECTIVE_KEPT_H

struct collective_folds;

/* Sets the verdicts of the calls that are kept, after collective_folds_take(). 0 or -ENOMEM. */
int collective_kept_choose(struct collective_folds *folds);

#endif

/* Leaves out communicators of which a damaged or forged store says what cannot be. Part of report_straggler; one
 * thread. */
#ifndef REPORT_STRAGGLER_CREDIBLE_H
#define REPORT_STRAGGLER_CREDIBLE_H

struct report_straggler;

/* Call it when the sums of all communicators are known, before any is judged. Sums are credible if no more collectives
 * are compared than there are, and one rank at most is last in each. Waits for a rank, and its lateness, may take twice
 * the longest span of a rank, because times of kernels and of hosts may be mixed. A rank's own waits have no such end:
 * those of the first collective, before the span, are among them. 0 or -ENOMEM. */
int report_straggler_credible_keep(struct report_straggler *report);

#endif

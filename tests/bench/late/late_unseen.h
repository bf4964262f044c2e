/* Jobs whose parameters are random, for rules that were not made with them: other lengths of steps, numbers of ranks,
 * noise, and sizes of faults than the other jobs of late_bench have. */
#ifndef LATE_UNSEEN_H
#define LATE_UNSEEN_H

#include <stdint.h>

/* Print a Markdown table: so many jobs with plants, by what is planted, or without, by their noise. Those that are not
 * right are on standard error. */
void late_unseen_planted(uint32_t jobs, uint64_t first_seed);
void late_unseen_clean(uint32_t jobs, uint64_t first_seed);

#endif

/* How often the late rank of a made mixture of experts (tests/report/straggler/straggler_mixture.h) is named rightly.
 * */
#ifndef LATE_EXPERTS_H
#define LATE_EXPERTS_H

#include <stdint.h>

/* Prints a row of late_bench's first table for each kind of job. Where the imbalance moves, just that is to be said. */
void late_experts_run(uint32_t jobs, uint64_t first_seed);

#endif

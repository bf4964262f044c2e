/* Jobs with planted causes that late_bench plays, beside those of models and trainings. */
#ifndef LATE_PLANTS_H
#define LATE_PLANTS_H

#include <stdint.h>

/* Prints a Markdown table: a row for each planted cause, and one for restarts without a plant. */
void late_plants_print(uint32_t jobs, uint64_t first_seed);

#endif

/* Finds the steps of a job in the order of its calls of NCCL: of each the kind is known, and in each step the same
 * kinds come again. Pure; any thread. */
#ifndef CALL_PERIOD_H
#define CALL_PERIOD_H

#include <stdint.h>

#define CALL_PERIOD_TIMES 3u    /* as often at least the step must be there */
#define CALL_PERIOD_ALIKE 0.9   /* so many of the calls must be those of the step before */
#define CALL_PERIOD_MAX   4096u /* calls in a step */

/* Returns the number of calls in a step: the least distance at which kinds are alike. 0: there is none. */
uint32_t call_period_find(const uint32_t *kinds, uint32_t count);

#endif

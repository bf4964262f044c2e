/* Finds the steps of a job in the order of its collectives: of each the kind is known, and in each step the same kinds
 * come again. Pure; any thread. */
#ifndef WATCH_PERIOD_H
#define WATCH_PERIOD_H

#include <stdint.h>

#define WATCH_PERIOD_TIMES 3u    /* as often at least the step must be there */
#define WATCH_PERIOD_ALIKE 0.9   /* so many of the collectives must be those of the step before */
#define WATCH_PERIOD_MAX   4096u /* collectives in a step */

/* Returns the number of collectives in a step: the least distance at which kinds are alike. 0: there is none. */
uint32_t watch_period_find(const uint32_t *kinds, uint32_t count);

#endif

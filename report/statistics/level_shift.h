/* Whether a series has another level in one part of it, or has only noise that lasts. Pure; any thread. */
#ifndef LEVEL_SHIFT_H
#define LEVEL_SHIFT_H

#include <stdint.h>

/* Returns the z score by which the values of a part are above the others. The noise is taken for an autoregressive
 * process of first order (Cochrane and Orcutt, 1949): the more alike neighbours are, the less counts how long the part
 * is, and the more how sharp its edges are. A part whose edges are chosen to fit takes away some of what is alike, as
 * two more means do, which is added again. What is alike beyond that lowers the score (Andrews and Monahan, 1992). Up
 * to three values in a row that are far off from those around them do not count (Hampel, 1974). -1: there are fewer
 * than LEVEL_SHIFT_FEWEST values, or none on one of the sides. INFINITY: there is no noise. room: for 3 * count
 * values. */
#define LEVEL_SHIFT_FEWEST 16u
double level_shift_z(const double *values, uint32_t count, uint32_t first, uint32_t nr_part,
		     double *room);

#endif

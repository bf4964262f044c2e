/* How alike neighbouring stretches of a run are, so that one knows how many independent ones they are worth. Plain data
 * and pure functions; any thread. */
#ifndef LASTING_NOISE_H
#define LASTING_NOISE_H

#include <stdint.h>

/* Sums over pairs of stretches that follow one another, and over those with two stretches between them. Zeroed: no
 * pairs. */
struct lasting_noise {
	uint32_t counts[2];
	double products[2],
		squares[2]; /* of distances from what is usual; squares: the mean of both */
};

/* Adds the pairs of a series of distances from what is usual. Pairs with a distance above `most` are left out, if that
 * is not 0: a hiccup follows no neighbour, and would hide how alike all other neighbours are. */
void lasting_noise_add(struct lasting_noise *pairs, const double *distances, uint32_t count,
		       double most);

/* Returns the correlation of neighbours, from -1 to 1 - 1 / n. Distances from `means` means of n such stretches show an
 * r that is too low by (1 + 3 r) means / n (Kendall, Note on Bias in the Estimation of Autocorrelation, 1954), which is
 * added if r is positive. */
double lasting_noise_alike(const struct lasting_noise *pairs, uint32_t means, uint32_t n);

/* Returns the part of n stretches that is independent, as of an autoregressive process of first order. It is (1 - r) /
 * (1 + r), where r is the correlation of neighbours. */
double lasting_noise_part(const struct lasting_noise *pairs, uint32_t means, uint32_t n);

/* Returns the same for a mean of stretches. It may be less: other noise hides how alike neighbours are, which stretches
 * apart from each other tell if they are more alike than neighbours make them. */
double lasting_noise_least(const struct lasting_noise *pairs, uint32_t means, uint32_t n);

#endif

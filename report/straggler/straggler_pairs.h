/* How alike neighbouring stretches of a run are, so that one knows how many independent ones they are worth. Plain data
 * and pure functions; any thread. */
#ifndef STRAGGLER_PAIRS_H
#define STRAGGLER_PAIRS_H

#include <stdint.h>

/* Sums over pairs of stretches that follow one another, and over those with two stretches between them. Zeroed: no
 * pairs. */
struct straggler_pairs {
	uint32_t counts[2];
	double products[2],
		squares[2]; /* of distances from what is usual; squares: the mean of both */
};

/* Adds the pairs of a series of distances from what is usual. Pairs with a distance above `most` are left out, if that
 * is not 0: a hiccup follows no neighbour, and would hide how alike all other neighbours are. */
void straggler_pairs_add(struct straggler_pairs *pairs, const double *distances, uint32_t count,
			 double most);

/* Returns the correlation of neighbours, from -1 to 1 - 1 / n. Distances from `means` means of n such stretches show an
 * r that is too low by (1 + 3 r) means / n (Kendall, Note on Bias in the Estimation of Autocorrelation, 1954), which is
 * added if r is positive. */
double straggler_pairs_alike(const struct straggler_pairs *pairs, uint32_t means, uint32_t n);

/* Returns the part of n stretches that is independent, as of an autoregressive process of first order. It is (1 - r) /
 * (1 + r), where r is the correlation of neighbours. */
double straggler_pairs_part(const struct straggler_pairs *pairs, uint32_t means, uint32_t n);

/* Returns the same for a mean of stretches. It may be less: other noise hides how alike neighbours are, which stretches
 * apart from each other tell if they are more alike than neighbours make them. */
double straggler_pairs_least(const struct straggler_pairs *pairs, uint32_t means, uint32_t n);

#endif

/* Divides a whole in proportion, exactly: parts between two prefixes of a total sum to the whole. Pure. */
#ifndef EXACT_SHARE_H
#define EXACT_SHARE_H

#include <stdint.h>

/* A sum of counts or of nanoseconds, which may not fit 64 bits where a process reports nonsense. */
typedef unsigned __int128 exact_sum;

/* Returns whole * part / total, rounded to the nearest number, a half upwards. part is at most total, and total is
 * above 0. A part of the total gives the whole. Of two parts the larger never gets less. */
static inline uint64_t exact_share(uint64_t whole, exact_sum part, exact_sum total)
{
	/* The product has to fit. Beyond 2^64 the lowest bits of both are beyond any use. */
	while (total > UINT64_MAX) {
		part >>= 1;
		total >>= 1;
	}
	const exact_sum product = whole * part;
	const exact_sum quotient = product / total, rest = product % total;

	return (uint64_t)(quotient + (rest >= total - rest));
}

#endif

/* The binomial distribution. Pure; any thread. */
#ifndef BINOMIAL_H
#define BINOMIAL_H

#include <stdint.h>

/* Returns the probability that count or more of total events happen, each with probability p (above 0 and below 1). */
double binomial_tail(uint64_t count, uint64_t total, double p);

#endif

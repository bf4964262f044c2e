/* A histogram of waiting times: twelve buckets for each doubling, from a microsecond on. Zeroed memory is an empty one.
 * Single-threaded. */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

#define LATENCY_BUCKETS 480u

struct latency {
	uint64_t buckets[LATENCY_BUCKETS];
	uint64_t count, max_ns;
};

void latency_add(struct latency *latency, uint64_t ns);

/* The time that this share (0 to 1) of all stayed below, at most 6 % too high; 0: there are none. */
uint64_t latency_quantile_ns(const struct latency *latency, double share);

#endif

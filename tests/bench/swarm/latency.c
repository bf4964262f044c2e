#include "latency.h"

#include <math.h>

#define PER_DOUBLING 12.0
#define FIRST_NS     1000.0

void latency_add(struct latency *latency, uint64_t ns)
{
	double bucket = ns > FIRST_NS ? log2((double)ns / FIRST_NS) * PER_DOUBLING : 0;

	latency->buckets[bucket < LATENCY_BUCKETS ? (uint32_t)bucket : LATENCY_BUCKETS - 1]++;
	latency->count++;
	if (ns > latency->max_ns)
		latency->max_ns = ns;
}

uint64_t latency_quantile_ns(const struct latency *latency, double share)
{
	uint64_t below = 0;

	for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
		below += latency->buckets[i];
		if (below > 0 && (double)below >= share * (double)latency->count) {
			double ns = FIRST_NS * exp2((i + 1) / PER_DOUBLING);

			return ns < (double)latency->max_ns ? (uint64_t)ns : latency->max_ns;
		}
	}
	return 0;
}

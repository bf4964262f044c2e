/* What the guest assumes of CUPTI's user ranges when it measures a range of several calls (inject/metrics). */
#ifndef CONFORMANCE_RANGES_H
#define CONFORMANCE_RANGES_H

#include <stdint.h>

#define RANGES_KERNELS 3u

struct ranges_subject {
	void *cupti; /* dlopen()'s handle */
	void *context;
	uint32_t device_id;
	void *functions[RANGES_KERNELS]; /* of kernels that take an address and a count of turns */
	uint64_t memory;
	uint32_t bytes; /* twice as much is there */
};

/* Checks. Without the right to use the GPU's counters it says so, and checks nothing. */
void conformance_ranges_run(const struct ranges_subject *subject);

#endif

/* Both ends of a record ring. Fails the running test on any error. */
#ifndef RECORD_RING_FIXTURE_H
#define RECORD_RING_FIXTURE_H

#include "proto/ring/record_ring.h"

/* Sizes that a test soon fills. */
extern const struct record_ring_sizes record_ring_fixture_small;

struct record_ring_fixture {
	struct record_ring *guest, *agent;
	int fd;
};

struct record_ring_fixture record_ring_fixture_open(const struct record_ring_sizes *sizes);
void record_ring_fixture_close(struct record_ring_fixture *pair);

#endif

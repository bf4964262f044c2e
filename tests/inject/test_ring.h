/* A small ring with both of its sides in one process, for tests of what writes to it.
 * Single-threaded reader. */
#ifndef TEST_RING_H
#define TEST_RING_H

#include "proto/ring/record_ring.h"

#define TEST_RING_LANES       4u
#define TEST_RING_LAUNCHES    64u
#define TEST_RING_ACTIVITY    512u
#define TEST_RING_STACKS      1024u
#define TEST_RING_STACK_WORDS 16384u

struct test_ring {
	struct record_ring *guest, *agent; /* owned */
	struct record_ring_snapshot snapshot;
};

void test_ring_init(struct test_ring *ring);
void test_ring_init_sizes(struct test_ring *ring, const struct record_ring_sizes *sizes);
void test_ring_fini(struct test_ring *ring);

/* Reads what was published since the last call; up to max. */
uint32_t test_ring_launches(struct test_ring *ring, uint32_t lane, struct launch_record *out,
			    uint32_t max);
uint32_t test_ring_activity(struct test_ring *ring, struct gpu_record *out, uint32_t max);

/* The next definition; its size, or -1: none. */
int test_ring_definition(struct test_ring *ring, uint32_t *type, void *body, uint32_t max);

/* Lets the guest overwrite all that was read. */
void test_ring_release(struct test_ring *ring);

/* The ledger's entry, zeroed if there is none. */
struct ledger_entry test_ring_ledger(struct test_ring *ring, uint32_t device_id,
				     enum ledger_reason reason);

#endif

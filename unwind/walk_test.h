/* Tells two recorded walks apart by one bit of a word of the stack, or of the frame pointer that they start with. Pure
 * but for the stack that is read. */
#ifndef WALK_TEST_H
#define WALK_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"
#include "walk_record.h"

#define WALK_TEST_FP UINT16_MAX /* not a word of the stack */

/* A return address is looked at where a walk reads it. A saved frame pointer, which counts by its distance from sp, is
 * looked at where a walk begins to depend on it: before, other walks that are equal so far may not depend on it. */
struct walk_test {
	uint32_t order; /* smaller: a walk comes to it earlier */
	uint16_t at;    /* the word, in words above sp; or WALK_TEST_FP */
};

/* In an order: the end of the last return address, in words above sp; whether a place comes after it; and the bit, from
 * the highest of a hash of the word, so that nearly equal addresses differ in any bit. */
#define WALK_TEST_PLACE 64u
#define WALK_TEST_BITS  7u

/* Finds the first test that both walks would make, and that tells them apart. false: there is none. */
bool walk_test_find(const struct walk_record *a, const struct walk_record *b,
		    struct walk_test *test);

static inline uint64_t walk_test_hash(uint64_t word)
{
	return word * 0x9e3779b97f4a7c15u;
}

/* Returns the bit, 0 or 1, of a word that may be read. */
static inline __attribute__((no_sanitize("address"), no_sanitize("thread"))) uint32_t
walk_test_bit(struct walk_test test, const struct unwind_start *start)
{
	uint64_t word = test.at == WALK_TEST_FP ? start->fp
						: ((const uint64_t *)(uintptr_t)start->sp)[test.at];

	if (test.order & WALK_TEST_PLACE)
		word -= start->sp;
	return (uint32_t)(walk_test_hash(word) >> (63 - test.order % 64)) & 1;
}

#endif

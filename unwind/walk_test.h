/* Tells two recorded walks apart by one bit of a word of the stack, or of the frame pointer that they start with. A test
 * is a number; a smaller one is about a word that a walk reads earlier. Pure but for the stack that is read. */
#ifndef WALK_TEST_H
#define WALK_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"
#include "walk_record.h"

/* Of a number: the word's end, in words above sp (0: the frame pointer); then the bit, from the highest of a hash of the
 * word, so that nearly equal addresses differ in any bit. */
#define WALK_TEST_BITS 6u
#define WALK_TEST_PLACE                                                                            \
	(1u << 31) /* not part of the order: the word counts by its distance from sp */

/* Finds the first test that both walks would make, and that tells them apart. false: there is none. */
bool walk_test_find(const struct walk_record *a, const struct walk_record *b, uint32_t *test);

static inline bool walk_test_is_before(uint32_t a, uint32_t b)
{
	return (a & ~WALK_TEST_PLACE) < (b & ~WALK_TEST_PLACE);
}

/* Returns how many words above sp must be readable for the test. */
static inline uint32_t walk_test_needs(uint32_t test)
{
	return (test & ~WALK_TEST_PLACE) >> WALK_TEST_BITS;
}

/* Returns the bit, 0 or 1, of a word that may be read. */
static inline __attribute__((no_sanitize("address"), no_sanitize("thread"))) uint32_t
walk_test_bit(uint32_t test, const struct unwind_start *start)
{
	uint32_t end = walk_test_needs(test);
	uint64_t word = end ? ((const uint64_t *)(uintptr_t)start->sp)[end - 1] : start->fp;

	if (test & WALK_TEST_PLACE)
		word -= start->sp;
	return (uint32_t)(word * 0x9e3779b97f4a7c15u >> (63 - test % (1u << WALK_TEST_BITS))) & 1;
}

#endif

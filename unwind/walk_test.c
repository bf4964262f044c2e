#include "walk_test.h"

/* after: the order of what comes before. */
static struct walk_test make(uint32_t after, uint16_t at, uint64_t a, uint64_t b)
{
	/* Hashes of different words differ. */
	uint32_t bit = (uint32_t)__builtin_clzll(walk_test_hash(a) ^ walk_test_hash(b));

	return (struct walk_test){.order = after | bit, .at = at};
}

/* Finds the place by which walks that were equal so far go on in different frames. Both have recorded it. */
static bool find_place(const struct walk_record *a, const struct walk_record *b, uint32_t after,
		       struct walk_test *test)
{
	const int32_t *a_places = walk_record_places(a), *b_places = walk_record_places(b);
	const uint16_t *a_at = walk_record_at(a) + a->nr_words;
	const uint16_t *b_at = walk_record_at(b) + b->nr_words;

	if (a->fp_distance != b->fp_distance && a->fp_distance != WALK_RECORD_FP_ANY &&
	    b->fp_distance != WALK_RECORD_FP_ANY) {
		*test = make(after, WALK_TEST_FP, (uint64_t)(int64_t)a->fp_distance,
			     (uint64_t)(int64_t)b->fp_distance);
		return true;
	}
	for (uint32_t i = 0, k = 0; i < a->nr_places && k < b->nr_places;) {
		if (a_at[i] == b_at[k] && a_places[i] != b_places[k]) {
			*test = make(after, a_at[i], (uint64_t)(int64_t)a_places[i],
				     (uint64_t)(int64_t)b_places[k]);
			return true;
		}
		bool next_a = a_at[i] <= b_at[k], next_b = b_at[k] <= a_at[i];
		i += next_a;
		k += next_b;
	}
	return false;
}

__attribute__((cold)) bool walk_test_find(const struct walk_record *a, const struct walk_record *b,
					  struct walk_test *test)
{
	const uint64_t *a_words = walk_record_words(a), *b_words = walk_record_words(b);
	const uint16_t *a_at = walk_record_at(a), *b_at = walk_record_at(b);
	uint32_t end = 0;

	for (uint32_t i = 0; i < a->nr_words && i < b->nr_words && a_at[i] == b_at[i]; i++) {
		end = a_at[i] + 1u;
		if (a_words[i] == b_words[i])
			continue;
		*test = make(end << WALK_TEST_BITS, a_at[i], a_words[i], b_words[i]);
		return true;
	}
	return find_place(a, b, end << WALK_TEST_BITS | WALK_TEST_PLACE, test);
}

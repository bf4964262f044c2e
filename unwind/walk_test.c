#include "walk_test.h"

static uint32_t make(uint32_t end, uint32_t place, uint64_t a, uint64_t b)
{
	/* The product of a difference with an odd number is not 0. */
	uint64_t differs = a * 0x9e3779b97f4a7c15u ^ b * 0x9e3779b97f4a7c15u;

	return place | end << WALK_TEST_BITS | (uint32_t)__builtin_clzll(differs);
}

/* Places that both read lead to different frames. A saved frame pointer that only one of them uses tells nothing. */
static bool find_place(const struct walk_record *a, const struct walk_record *b, uint32_t *test)
{
	const int32_t *a_places = walk_record_places(a), *b_places = walk_record_places(b);
	const uint16_t *a_at = walk_record_at(a) + a->nr_words;
	const uint16_t *b_at = walk_record_at(b) + b->nr_words;

	for (uint32_t i = 0, k = 0; i < a->nr_places; i++) {
		while (k < b->nr_places && b_at[k] < a_at[i])
			k++;
		if (k == b->nr_places)
			return false;
		if (a_at[i] != b_at[k] || a_places[i] == b_places[k])
			continue;
		*test = make(a_at[i] + 1u, WALK_TEST_PLACE, (uint64_t)(int64_t)a_places[i],
			     (uint64_t)(int64_t)b_places[k]);
		return true;
	}
	return false;
}

__attribute__((cold)) bool walk_test_find(const struct walk_record *a, const struct walk_record *b,
					  uint32_t *test)
{
	const uint64_t *a_words = walk_record_words(a), *b_words = walk_record_words(b);
	const uint16_t *a_at = walk_record_at(a), *b_at = walk_record_at(b);

	for (uint32_t i = 0; i < a->nr_words && i < b->nr_words && a_at[i] == b_at[i]; i++) {
		if (a_words[i] == b_words[i])
			continue;
		*test = make(a_at[i] + 1u, 0, a_words[i], b_words[i]);
		return true;
	}
	if (a->fp_distance != b->fp_distance && a->fp_distance != WALK_RECORD_FP_ANY &&
	    b->fp_distance != WALK_RECORD_FP_ANY) {
		*test = make(0, WALK_TEST_PLACE, (uint64_t)(int64_t)a->fp_distance,
			     (uint64_t)(int64_t)b->fp_distance);
		return true;
	}
	return find_place(a, b, test);
}

#include "aggregator/hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "../node-agent/cmocka_test.h"

#define KEYS      4096u
#define CHANCE    8u /* of them may meet by chance; in one of 500 cases two do */
#define FACTOR    0x9e3779b97f4a7c15u
#define MEET_HERE 0x123456789abcdef1u

struct key {
	uint64_t words[2];
};

static int by_number(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;

	return (one > two) - (one < two);
}

static uint32_t count_hashes(const struct key keys[static KEYS], size_t size)
{
	static uint32_t hashes[KEYS];
	uint32_t nr = 1;

	for (uint32_t i = 0; i < KEYS; i++)
		hashes[i] = hash_index_hash(&keys[i], size);
	qsort(hashes, KEYS, sizeof(*hashes), by_number);
	for (uint32_t i = 1; i < KEYS; i++)
		nr += hashes[i] != hashes[i - 1];
	return nr;
}

static void equal_bytes_have_one_hash(void **state)
{
	struct key key = {{1, 2}}, same = key;

	(void)state;
	for (size_t size = 0; size <= sizeof(key); size++)
		assert_int_equal(hash_index_hash(&key, size), hash_index_hash(&same, size));
}

/* Two rounds of a product with a known factor: the second word of each key takes back what the first one did. */
static void keys_that_are_chosen_have_hashes_of_their_own(void **state)
{
	static struct key keys[KEYS];

	(void)state;
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t hash = (sizeof(struct key) ^ i) * FACTOR;

		keys[i] = (struct key){{i, (hash ^ hash >> 32) ^ MEET_HERE}};
	}
	assert_true(count_hashes(keys, sizeof(struct key)) >= KEYS - CHANCE);
}

static void keys_that_differ_in_few_bits_have_hashes_of_their_own(void **state)
{
	static struct key keys[KEYS];

	(void)state;
	for (uint32_t shift = 0; shift <= 52; shift++) {
		for (uint64_t i = 0; i < KEYS; i++)
			keys[i] = (struct key){{i << shift, i << shift}};
		assert_true(count_hashes(keys, sizeof(uint64_t)) >= KEYS - CHANCE);
		assert_true(count_hashes(keys, sizeof(struct key)) >= KEYS - CHANCE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_have_one_hash),
		cmocka_unit_test(keys_that_are_chosen_have_hashes_of_their_own),
		cmocka_unit_test(keys_that_differ_in_few_bits_have_hashes_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

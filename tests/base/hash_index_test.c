#include "base/hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "hash_keys.h"
#include "tests/support/cmocka_test.h"

#define KEYS      4096u
#define CHANCE    8u /* of them may meet by chance; in one of 500 cases two do */
#define SECRETS   16u
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
		uint64_t hash = (sizeof(struct key) ^ i) * HASH_KEYS_FACTOR;

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

/* Returns whether words of each kind leave short rows with the secret of now. */
static bool has_short_rows(void)
{
	struct hash_index products = {0}, shifted = {0};

	for (uint32_t i = 1; i <= KEYS; i++) {
		assert_int_equal(
			hash_index_insert(&products, hash_index_hash_word(hash_keys_word(i)), i),
			0);
		assert_int_equal(
			hash_index_insert(&shifted, hash_index_hash_word((uint64_t)i << 50), i), 0);
	}
	bool are_short = hash_keys_longest_row(&products) < KEYS / 16 &&
			 hash_keys_longest_row(&shifted) < KEYS / 16;
	hash_index_fini(&products);
	hash_index_fini(&shifted);
	return are_short;
}

/* Words that are shifted make equal steps in the slots. With 9 of 3,000 secrets such steps are short, and a row is long.
 * Three of 16 are that in one of 70,000 runs. */
static void words_that_are_chosen_meet_in_no_slot(void **state)
{
	const uint64_t secret[2] = {hash_index_secret[0], hash_index_secret[1]};
	uint32_t nr_short = 0;

	(void)state;
	for (uint32_t i = 0; i < SECRETS; i++) {
		nr_short += has_short_rows();
		for (int k = 0; k < 2; k++)
			hash_index_secret[k] =
				hash_index_secret[k] * 6364136223846793005u + 1442695040888963407u;
		hash_index_secret[0] |= 1;
	}
	memcpy(hash_index_secret, secret, sizeof(secret));
	assert_in_range(nr_short, SECRETS - 2, SECRETS);
}

/* Ids are the keys. Few hashes, at the end of the slots, too: rows run into each other and around the end. */
static uint32_t hash_of(uint32_t id)
{
	return id % 7 ? id % 5 : UINT32_MAX - id % 3;
}

static bool is_id(const void *context, uint32_t id, const void *key)
{
	(void)context;
	return id == *(const uint32_t *)key;
}

static void what_leaves_is_not_found_and_all_else_is(void **state)
{
	struct hash_index index = {0};
	bool is_there[200] = {false};
	uint32_t random = 1;

	(void)state;
	for (uint32_t step = 0; step < 20000; step++) {
		random = random * 1664525u + 1013904223u;
		uint32_t id = 1 + (random >> 16) % 199;

		if (is_there[id])
			hash_index_replace(&index, hash_of(id), id, 0);
		else
			assert_int_equal(hash_index_insert(&index, hash_of(id), id), 0);
		is_there[id] = !is_there[id];
		for (uint32_t i = 1; i < 200 && step % 100 == 0; i++)
			assert_int_equal(hash_index_find(&index, hash_of(i), is_id, NULL, &i),
					 is_there[i] ? i : 0);
	}
	hash_index_clear(&index);
	assert_int_equal(index.count, 0);
	for (uint32_t i = 1; i < 200; i++)
		assert_int_equal(hash_index_find(&index, hash_of(i), is_id, NULL, &i), 0);
	hash_index_fini(&index);
}

static void an_id_takes_the_place_of_another(void **state)
{
	struct hash_index index = {0};
	uint32_t old = 7, new = 8;

	(void)state;
	assert_int_equal(hash_index_insert(&index, 1, old), 0);
	hash_index_replace(&index, 1, old, new);
	assert_int_equal(index.count, 1);
	assert_int_equal(hash_index_find(&index, 1, is_id, NULL, &old), 0);
	assert_int_equal(hash_index_find(&index, 1, is_id, NULL, &new), new);
	hash_index_fini(&index);
}

static void an_id_that_is_not_there_gives_up_no_place(void **state)
{
	struct hash_index index = {0};
	uint32_t id = 7;

	(void)state;
	hash_index_replace(&index, 1, id, 0);
	assert_int_equal(hash_index_insert(&index, 1, id), 0);
	hash_index_replace(&index, 1, id + 1, 0);
	hash_index_replace(&index, 2, id, id + 1);
	assert_int_equal(index.count, 1);
	assert_int_equal(hash_index_find(&index, 1, is_id, NULL, &id), id);
	hash_index_fini(&index);
}

static void what_room_was_made_for_takes_no_more_memory(void **state)
{
	struct hash_index index = {0};

	(void)state;
	assert_int_equal(hash_index_reserve(&index, 1000), 0);
	const uint64_t *slots = index.slots;
	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(hash_index_insert(&index, i, i), 0);
	assert_ptr_equal(index.slots, slots);
	hash_index_fini(&index);
}

static void a_digest_is_of_all_parts_and_where_they_end(void **state)
{
	const uint64_t words[] = {0, 0, 0};
	uint64_t all = hash_index_digest(0, words, sizeof(words));
	uint64_t first = hash_index_digest(0, words, 8), two = hash_index_digest(0, words, 16);

	(void)state;
	assert_true(all == hash_index_digest(0, words, sizeof(words)));
	assert_true(all != first && all != two && first != two);
	assert_true(hash_index_digest(first, words, 16) != hash_index_digest(two, words, 8));
	assert_true(hash_index_digest(1, words, 8) != first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_have_one_hash),
		cmocka_unit_test(keys_that_are_chosen_have_hashes_of_their_own),
		cmocka_unit_test(keys_that_differ_in_few_bits_have_hashes_of_their_own),
		cmocka_unit_test(words_that_are_chosen_meet_in_no_slot),
		cmocka_unit_test(what_leaves_is_not_found_and_all_else_is),
		cmocka_unit_test(an_id_takes_the_place_of_another),
		cmocka_unit_test(an_id_that_is_not_there_gives_up_no_place),
		cmocka_unit_test(what_room_was_made_for_takes_no_more_memory),
		cmocka_unit_test(a_digest_is_of_all_parts_and_where_they_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

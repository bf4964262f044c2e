#include "aggregator/service/peer_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct peer_table *table;

static int set_up(void **state)
{
	(void)state;
	table = peer_table_create();
	return table ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	peer_table_destroy(table);
	return 0;
}

/* Marks the peer with its number, so that another one is not taken for it. */
static struct peer *get(uint32_t number)
{
	struct peer *peer = peer_table_get(table, &number, sizeof(number));

	assert_non_null(peer);
	assert_int_equal(peer->id_size, sizeof(number));
	assert_memory_equal(peer->id, &number, sizeof(number));
	return peer;
}

static void each_peer_is_found_by_its_own_id(void **state)
{
	const uint8_t longer[8] = {1};
	uint32_t nr_peers;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		get(i)->bad_frames = i + 1;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(get(i)->bad_frames, i + 1);
	/* An id that begins with another one is not that one. */
	assert_int_equal(peer_table_get(table, longer, sizeof(longer))->bad_frames, 0);
	peer_table_peers(table, &nr_peers);
	assert_int_equal(nr_peers, 1001);
}

static void a_full_table_forgets_the_peer_that_was_silent_for_longest(void **state)
{
	uint32_t nr_peers;

	(void)state;
	for (uint32_t i = 0; i < PEER_TABLE_MAX; i++)
		get(i)->bad_frames = 1;
	get(0);
	assert_int_equal(get(PEER_TABLE_MAX)->bad_frames, 0); /* in the place of 1 */
	get(PEER_TABLE_MAX)->bad_frames = 2;
	assert_int_equal(get(0)->bad_frames, 1);
	assert_int_equal(get(3)->bad_frames, 1);
	assert_int_equal(get(1)->bad_frames, 0); /* in the place of 2 */
	assert_int_equal(get(PEER_TABLE_MAX)->bad_frames, 2);
	assert_int_equal(get(2)->bad_frames, 0);
	peer_table_peers(table, &nr_peers);
	assert_int_equal(nr_peers, PEER_TABLE_MAX);
}

static void a_full_table_forgets_unproven_peers_first(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PEER_TABLE_MAX; i++)
		get(i)->bad_frames = 1;
	peer_set_key(get(7), "key");
	get(7)->bad_frames = 1;
	get(PEER_TABLE_MAX);
	assert_int_equal(get(0)->bad_frames, 1);
	assert_null(peer_table_find(table, &(uint32_t){7}, sizeof(uint32_t)));
	assert_non_null(peer_table_find(table, &(uint32_t){0}, sizeof(uint32_t)));
}

static void another_key_makes_another_peer(void **state)
{
	struct peer *peer = get(1);

	(void)state;
	peer_set_user(peer, "alice");
	peer_set_key(peer, "first");
	assert_string_equal(peer->user, "");
	assert_true(peer_is_unproven(peer));
	peer->proven = true;
	strcpy(peer->user, "bob");
	assert_false(peer_is_unproven(peer));
	peer_set_key(peer, "second");
	assert_true(peer_is_unproven(peer));
	assert_string_equal(peer->user, "");
	peer_set_user(peer, "alice");
	assert_false(peer_is_unproven(peer));
	assert_string_equal(peer->key, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_peer_is_found_by_its_own_id),
		TEST(a_full_table_forgets_the_peer_that_was_silent_for_longest),
		TEST(a_full_table_forgets_unproven_peers_first),
		TEST(another_key_makes_another_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A profile of several files, as a reader finds it. */
#include "report/profile/whole_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/pages/page_set.h"
#include "aggregator/store/store.h"
#include "node-agent/link/page_sender.h"
#include "report/profile/profile_parts.h"
#include "tests/aggregator/merge/merge_fixture.h"

struct fixture {
	char *node, *store, *nodes, *merged; /* owns; paths */
};

static int take(void *set, struct message *message)
{
	const char *reason;

	return page_set_take(set, &message->pages, &reason);
}

/* Makes the job's file of nodes from the node's profile. */
static void save_node(const struct fixture *fixture)
{
	struct page_sender *sender = page_sender_create();
	struct page_set *set = page_set_create();

	assert_int_equal(page_sender_send(sender, fixture->node, take, set), 0);
	assert_int_equal(page_set_save(set, fixture->nodes), 0);
	page_set_destroy(set);
	page_sender_destroy(sender);
}

static bool always_shared(const char *folder)
{
	(void)folder;
	return true;
}

static void the_nodes_are_read_while_nobody_can_read_the_store(void **state)
{
	const struct fixture *fixture = *state;
	const struct store_options shared = {.is_shared = always_shared};
	struct whole_profile whole;
	struct store *store;
	char *error;

	merge_fixture_write(fixture->node, 0x3, 1);
	save_node(fixture);
	assert_int_equal(store_open(fixture->store, &shared, &store, NULL), 0);
	assert_true(store_is_exclusive(store));
	assert_int_equal(whole_profile_open(&whole, fixture->store, &error), 0);
	assert_true(whole.is_written);
	merge_fixture_merge((const char *const *)&fixture->node, 1, fixture->merged);
	char *expected = merge_fixture_reports(fixture->merged);
	char *found = merge_fixture_reports(whole.path);
	assert_string_equal(found, expected);
	free(found);
	free(expected);
	whole_profile_close(&whole);
	/* What cannot be read is not put into one. */
	assert_true(whole_profile_settle(fixture->store, &error) < 0);
	assert_non_null(error);
	free(error);
	assert_int_equal(access(fixture->nodes, F_OK), 0);
	store_close(store);
	assert_int_equal(whole_profile_settle(fixture->store, &error), 1);
	assert_int_equal(access(fixture->nodes, F_OK), -1);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->node = merge_fixture_path("node");
	fixture->store = merge_fixture_path("store");
	fixture->nodes = merge_fixture_path("store" PROFILE_PARTS_NODES);
	fixture->merged = merge_fixture_path("merged");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *paths[] = {fixture->node, fixture->store, fixture->nodes, fixture->merged};

	for (int i = 0; i < 4; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	free(fixture);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_nodes_are_read_while_nobody_can_read_the_store,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}

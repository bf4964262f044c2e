/* A profile of several files, as a reader finds it. */
#include "report/profile/whole_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/pages/page_set.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store.h"
#include "node-agent/link/page_sender.h"
#include "report/profile/profile_parts.h"
#include "tests/aggregator/merge/merge_fixture.h"

struct fixture {
	char *node, *other, *store, *nodes, *merged; /* owns; paths */
};

static int take(void *set, struct message *message)
{
	const char *reason;

	return page_set_take(set, &message->pages, &reason);
}

static void send_node(const char *node, struct page_set *set)
{
	struct page_sender *sender = page_sender_create();

	assert_int_equal(page_sender_send(sender, node, UINT64_MAX, take, set), 0);
	page_sender_destroy(sender);
}

/* Makes the job's file of nodes from the node's profile. */
static void save_node(const struct fixture *fixture)
{
	struct page_set *set = page_set_create();

	send_node(fixture->node, set);
	assert_int_equal(page_set_save(set, fixture->nodes), 0);
	page_set_destroy(set);
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static uint64_t launches_of(const char *path)
{
	struct database *database;
	int64_t launches;

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(
		database_query_number(database, "SELECT sum(launches) FROM processes", &launches),
		0);
	database_close(database);
	return (uint64_t)launches;
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
	assert_int_equal(whole_profile_open(&whole, fixture->store, false, &error), 0);
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

/* As a profile in a folder of another user: the folder of this one is a file. */
static void a_store_that_nobody_can_reach_is_named(void **state)
{
	const struct fixture *fixture = *state;
	char path[PATH_MAX], expected[PATH_MAX + 64], *error;
	struct whole_profile whole;
	FILE *file = fopen(fixture->store, "we");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	snprintf(path, sizeof(path), "%s/profile.db", fixture->store);
	snprintf(expected, sizeof(expected), "%s: Not a directory", path);
	assert_int_equal(whole_profile_open(&whole, path, false, &error), -ENOTDIR);
	assert_string_equal(error, expected);
	free(error);
	whole_profile_close(&whole);
	assert_int_equal(unlink(fixture->store), 0);
}

/* A block of nodes has an aggregator that writes a part. When its nodes have ended, it makes one store of that. */
static void a_part_with_nodes_becomes_one_store_beside_the_others(void **state)
{
	const struct fixture *fixture = *state;
	char *part = merge_fixture_path("store" PROFILE_PARTS_PART "1");
	char *nodes = merge_fixture_path("store" PROFILE_PARTS_PART "1" PROFILE_PARTS_NODES);
	char *unfinished = merge_fixture_path("store" PROFILE_PARTS_PART "1" PROFILE_PARTS_MERGED);
	const struct store_options shared = {.is_shared = always_shared};
	struct page_set *set = page_set_create();
	struct whole_profile whole;
	struct store *store;
	char *error;

	merge_fixture_write(fixture->node, 0x1, 1);
	merge_fixture_write(fixture->other, 0x2, 1);
	merge_fixture_write(fixture->store, 0x4, 1);
	send_node(fixture->node, set);
	send_node(fixture->other, set);
	assert_int_equal(page_set_save(set, nodes), 0);
	page_set_destroy(set);
	const char *const all[] = {fixture->node, fixture->other, fixture->store};
	merge_fixture_merge(all, 3, fixture->merged);
	const uint64_t launches = launches_of(fixture->merged);

	/* While it is written, the job's store is put into one without it. */
	assert_int_equal(store_open(part, &shared, &store, NULL), 0);
	assert_int_equal(whole_profile_settle(fixture->store, &error), 0);
	assert_int_equal(access(nodes, F_OK), 0);
	store_close(store);

	assert_int_equal(whole_profile_settle(part, &error), 1);
	assert_int_equal(access(nodes, F_OK), -1);
	assert_int_equal(access(part, F_OK), 0);
	/* Another one was killed in the middle of that. */
	FILE *file = fopen(unfinished, "w");
	fputs("no store yet", file);
	fclose(file);
	assert_int_equal(whole_profile_open(&whole, fixture->store, false, &error), 0);
	assert_int_equal(launches_of(whole.path), launches);
	char *reports = merge_fixture_reports(whole.path);
	assert_false(has(reports, "damaged"));
	free(reports);
	whole_profile_close(&whole);
	assert_int_equal(whole_profile_settle(fixture->store, &error), 1);
	assert_int_equal(launches_of(fixture->store), launches);
	assert_int_equal(access(part, F_OK), -1);
	unlink(unfinished);
	free(unfinished);
	free(nodes);
	free(part);
}

/* ---- damage */

/* Makes a file of two nodes, of which the second one has a byte changed at a share (of 256) of its pages. */
static void save_damaged(const struct fixture *fixture, uint32_t share)
{
	struct page_set *set = page_set_create();
	struct stat whole;

	merge_fixture_write(fixture->node, 0x1, 1);
	merge_fixture_write(fixture->other, 0x2, 1);
	send_node(fixture->node, set);
	assert_int_equal(page_set_save(set, fixture->nodes), 0);
	assert_int_equal(stat(fixture->nodes, &whole), 0);
	const off_t first = whole.st_size;
	send_node(fixture->other, set);
	assert_int_equal(page_set_save(set, fixture->nodes), 0);
	page_set_destroy(set);
	assert_int_equal(stat(fixture->nodes, &whole), 0);
	const off_t begin = first + 64, at = begin + (whole.st_size - begin - 1) * share / 256;
	int fd = open(fixture->nodes, O_RDWR | O_CLOEXEC);
	uint8_t byte;
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void a_damaged_page_costs_its_node_alone_and_is_told(void **state)
{
	const struct fixture *fixture = *state;
	struct whole_profile whole;
	char *error;

	for (uint32_t share = 0; share < 256; share += 64) {
		save_damaged(fixture, share);
		if (whole_profile_open(&whole, fixture->store, false, &error))
			fail_msg("%s", error);
		char *reports = merge_fixture_reports(whole.path);
		assert_true(has(reports, "INCOMPLETE"));
		assert_true(has(reports, "1 part of the profile was damaged"));
		assert_true(has(reports, "what it held is missing: node"));
		assert_in_range(launches_of(whole.path), launches_of(fixture->node),
				launches_of(fixture->node) + launches_of(fixture->other));
		free(reports);
		whole_profile_close(&whole);
		unlink(fixture->node);
		unlink(fixture->other);
	}
}

static void what_is_damaged_stays_beside_the_profile_that_is_put_into_one(void **state)
{
	const struct fixture *fixture = *state;
	char *error, pattern[PATH_MAX];
	glob_t found;

	save_damaged(fixture, 200);
	if (whole_profile_settle(fixture->store, &error) != 1)
		fail_msg("%s", error);
	assert_int_equal(access(fixture->nodes, F_OK), -1);
	snprintf(pattern, sizeof(pattern), "%s.damaged-*", fixture->store);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	unlink(found.gl_pathv[0]);
	globfree(&found);
	char *reports = merge_fixture_reports(fixture->store);
	assert_true(has(reports, "1 part of the profile was damaged"));
	free(reports);
	/* Merged again, it is not taken for whole; with what the node has, it is. */
	merge_fixture_merge((const char *const *)&fixture->store, 1, fixture->merged);
	reports = merge_fixture_reports(fixture->merged);
	assert_true(has(reports, "1 part of the profile was damaged"));
	free(reports);
	unlink(fixture->merged);
	const char *const both[] = {fixture->store, fixture->other};
	merge_fixture_merge(both, 2, fixture->merged);
	reports = merge_fixture_reports(fixture->merged);
	assert_false(has(reports, "damaged"));
	free(reports);
}

static void a_part_that_is_no_store_is_left_out_and_told(void **state)
{
	const struct fixture *fixture = *state;
	char *part = merge_fixture_path("store" PROFILE_PARTS_PART "1");
	struct whole_profile whole;
	char *error;

	merge_fixture_write(fixture->store, 0x1, 1);
	FILE *file = fopen(part, "w");
	fputs("no store", file);
	fclose(file);
	if (whole_profile_open(&whole, fixture->store, false, &error))
		fail_msg("%s", error);
	char *reports = merge_fixture_reports(whole.path);
	assert_true(has(reports, "/store" PROFILE_PARTS_PART "1 (all of it)"));
	assert_int_equal(launches_of(whole.path), launches_of(fixture->store));
	free(reports);
	whole_profile_close(&whole);
	/* Without any sound part there is no profile. */
	file = fopen(fixture->store, "w");
	fputs("no store either", file);
	fclose(file);
	assert_int_equal(whole_profile_open(&whole, fixture->store, false, &error), -EPROTO);
	assert_non_null(error);
	free(error);
	whole_profile_close(&whole);
	unlink(part);
	free(part);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->node = merge_fixture_path("node");
	fixture->other = merge_fixture_path("other");
	fixture->store = merge_fixture_path("store");
	fixture->nodes = merge_fixture_path("store" PROFILE_PARTS_NODES);
	fixture->merged = merge_fixture_path("merged");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *paths[] = {fixture->node, fixture->other, fixture->store, fixture->nodes,
			 fixture->merged};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	free(fixture);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_part_with_nodes_becomes_one_store_beside_the_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_nodes_are_read_while_nobody_can_read_the_store,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_store_that_nobody_can_reach_is_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_page_costs_its_node_alone_and_is_told,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_damaged_stays_beside_the_profile_that_is_put_into_one, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_part_that_is_no_store_is_left_out_and_told,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}

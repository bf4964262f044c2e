/* The timelines of a profile of several files: they come into one with the stores, whenever a process is killed. */
#include "tests/support/cmocka_test.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_note.h"
#include "aggregator/store/store_timeline.h"
#include "node-agent/link/page_sender.h"
#include "report/profile/profile_parts.h"
#include "report/profile/whole_profile.h"
#include "tests/aggregator/merge/merge_fixture.h"
#include "tests/aggregator/merge/timeline_fixture.h"
#include "timeline/log/event_place.h"

#define KILLED 9
#define EVENTS 3000u

/* ---- a process that is killed before its n-th change of a directory */

static uint32_t steps_left; /* 0: never */

static void step(void)
{
	if (steps_left && --steps_left == 0)
		_exit(KILLED);
}

int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_unlinkat(int directory, const char *path, int flags);
int __real_link(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int directory, const char *path, int flags);
int __wrap_link(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
	step();
	return __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
	step();
	return __real_unlink(path);
}

int __wrap_unlinkat(int directory, const char *path, int flags)
{
	step();
	return __real_unlinkat(directory, path, flags);
}

int __wrap_link(const char *from, const char *to)
{
	step();
	return __real_link(from, to);
}

/* ---- a job's directory */

struct fixture {
	char folder[64];
	char store[PATH_MAX], nodes[PATH_MAX], part[PATH_MAX]; /* of the job */
	char node[PATH_MAX], other[PATH_MAX];                  /* of two nodes, on these */
	struct timeline_digest all;
};

static void run(const char *format, const char *path)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), format, path);
	assert_int_equal(system(command), 0);
}

static void path_of(char path[static PATH_MAX], const struct fixture *fixture, const char *name)
{
	assert_true(snprintf(path, PATH_MAX, "%s/%s", fixture->folder, name) < PATH_MAX);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/flamegrid-parts.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	run("mkdir %s/job", fixture->folder);
	path_of(fixture->store, fixture, "job/profile.db");
	path_of(fixture->nodes, fixture, "job/profile.db" PROFILE_PARTS_NODES);
	path_of(fixture->part, fixture, "job/profile.db" PROFILE_PARTS_PART "7");
	path_of(fixture->node, fixture, "node");
	path_of(fixture->other, fixture, "other");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	run("rm -r %s", fixture->folder);
	free(fixture);
	return 0;
}

static void write_store(struct fixture *fixture, const char *path, uint32_t agents, uint32_t count)
{
	merge_fixture_write(path, agents, agents);
	timeline_fixture_write(path, count, agents);
	timeline_fixture_add(&fixture->all, timeline_fixture_read(path));
}

static int take(void *set, struct message *message)
{
	const char *reason;

	return page_set_take(set, &message->pages, &reason);
}

static void send_node(const struct fixture *fixture, const char *node)
{
	struct page_sender *sender = page_sender_create();
	struct page_set *set = NULL;

	if (page_set_load(fixture->nodes, &set))
		set = page_set_create();
	assert_int_equal(page_sender_send(sender, node, UINT64_MAX, take, set), 0);
	assert_int_equal(page_set_save(set, fixture->nodes), 0);
	page_set_destroy(set);
	page_sender_destroy(sender);
}

/* Writes the place by id of a store's timeline. */
static void place_of(char place[static PATH_MAX], const struct fixture *fixture, const char *store)
{
	uint8_t id[STORE_TIMELINE_ID];
	struct database *database;
	bool known;

	assert_int_equal(database_open(store, true, &database, NULL), 0);
	assert_int_equal(store_timeline_read(database, id, &known), 0);
	assert_true(known);
	database_close(database);
	assert_int_equal(event_place_by_id(fixture->store, id, place), 0);
}

/* Copies a node's timeline to the job, as the node does. */
static void bring_timeline(const struct fixture *fixture, const char *node)
{
	char beside[PATH_MAX], place[PATH_MAX], command[3 * PATH_MAX];

	assert_int_equal(event_place_beside(node, beside), 0);
	place_of(place, fixture, node);
	snprintf(command, sizeof(command), "cp -r %s %s", beside, place);
	assert_int_equal(system(command), 0);
}

/* A job's store, a node's pages, and a part that another node has left; each has a timeline. */
static void write_job(struct fixture *fixture)
{
	write_store(fixture, fixture->store, 0x4, EVENTS);
	write_store(fixture, fixture->node, 0x3, 2 * EVENTS);
	write_store(fixture, fixture->other, 0x8, EVENTS / 2);
	send_node(fixture, fixture->node);
	bring_timeline(fixture, fixture->node);
	bring_timeline(fixture, fixture->other);
	run("cd %s && cp other job/profile.db" PROFILE_PARTS_PART "7", fixture->folder);
}

static uint32_t nr_missing(const char *path)
{
	struct store_note *notes = NULL;
	struct database *database;
	uint32_t count = 0, nr = 0;

	assert_int_equal(database_open(path, true, &database, NULL), 0);
	assert_int_equal(store_note_read(database, &notes, &count), 0);
	database_close(database);
	for (uint32_t i = 0; i < count; i++) {
		nr += notes[i].kind == STORE_NOTE_TIMELINE;
		assert_true(*notes[i].text);
	}
	free(notes);
	return nr;
}

static void assert_read(const struct fixture *fixture, struct timeline_digest expected,
			uint32_t missing)
{
	struct whole_profile whole;
	char *error;

	if (whole_profile_open(&whole, fixture->store, true, &error))
		fail_msg("%s", error);
	timeline_fixture_same(timeline_fixture_read(whole.path), expected);
	assert_int_equal(nr_missing(whole.path), missing);
	whole_profile_close(&whole);
}

/* expected -1: whatever the result */
static void settle(const char *path, int expected)
{
	char *error = NULL;
	int status = whole_profile_settle(path, &error);

	if (error)
		fail_msg("%s", error);
	if (expected >= 0)
		assert_int_equal(status, expected);
}

/* Whether the job's directory has the store and its timeline alone, and what a killed process was writing. Where it was
 * killed at the very end, the timeline is there by its id. */
static void assert_one(const struct fixture *fixture)
{
	char folder[PATH_MAX], place[PATH_MAX];
	uint32_t nr = 0;

	place_of(place, fixture, fixture->store);
	path_of(folder, fixture, "job");
	DIR *directory = opendir(folder);
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		if (*entry->d_name == '.' || strstr(entry->d_name, PROFILE_PARTS_MERGED "."))
			continue;
		if (strcmp(entry->d_name, "profile.db") &&
		    strcmp(entry->d_name, "profile.db.timeline") &&
		    strcmp(entry->d_name, strrchr(place, '/') + 1))
			fail_msg("%s is left", entry->d_name);
		nr++;
	}
	closedir(directory);
	assert_int_equal(nr, 2);
}

/* ---- tests */

static void parts_with_timelines_become_one_with_a_timeline(void **state)
{
	struct fixture *fixture = *state;

	write_job(fixture);
	assert_int_equal(fixture->all.records, fixture->all.launches);
	assert_true(fixture->all.records >= 4 * EVENTS);
	assert_read(fixture, fixture->all, 0);
	settle(fixture->store, 1);
	assert_one(fixture);
	timeline_fixture_same(timeline_fixture_read(fixture->store), fixture->all);
	settle(fixture->store, 0);
	assert_read(fixture, fixture->all, 0);
}

/* A report has no use for timelines. */
static void a_reader_that_wants_none_gets_none(void **state)
{
	struct fixture *fixture = *state;
	struct whole_profile whole;
	char *error;

	write_job(fixture);
	assert_int_equal(whole_profile_open(&whole, fixture->store, false, &error), 0);
	timeline_fixture_same(timeline_fixture_read(whole.path), (struct timeline_digest){0});
	assert_int_equal(nr_missing(whole.path), 0);
	whole_profile_close(&whole);
}

/* The aggregator of another block of nodes makes one part of theirs, before all become one. */
static void a_block_makes_one_part_with_a_timeline(void **state)
{
	struct fixture *fixture = *state;

	write_store(fixture, fixture->store, 0x4, EVENTS);
	write_store(fixture, fixture->part, 0x8, EVENTS);
	write_store(fixture, fixture->node, 0x3, EVENTS);
	path_of(fixture->nodes, fixture,
		"job/profile.db" PROFILE_PARTS_PART "7" PROFILE_PARTS_NODES);
	send_node(fixture, fixture->node);
	bring_timeline(fixture, fixture->node);
	settle(fixture->part, 1);
	assert_read(fixture, fixture->all, 0);
	settle(fixture->store, 1);
	assert_one(fixture);
	timeline_fixture_same(timeline_fixture_read(fixture->store), fixture->all);
}

static bool settle_until(const struct fixture *fixture, uint32_t steps)
{
	int wait_status;
	pid_t pid = fork();

	if (pid == 0) {
		char *error;

		steps_left = steps;
		_exit(whole_profile_settle(fixture->store, &error) < 0);
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_true(WIFEXITED(wait_status));
	const int status = WEXITSTATUS(wait_status);
	assert_true(status == 0 || status == KILLED);
	return status == 0;
}

static void nothing_is_lost_when_the_process_is_killed(void **state)
{
	struct fixture *fixture = *state;
	uint32_t steps = 0;
	bool is_done = false;

	write_job(fixture);
	run("cd %s && cp -r job kept", fixture->folder);
	while (!is_done) {
		run("cd %s && rm -rf job && cp -r kept job", fixture->folder);
		is_done = settle_until(fixture, ++steps);
		assert_read(fixture, fixture->all, 0);
		settle(fixture->store, -1);
		assert_one(fixture);
		timeline_fixture_same(timeline_fixture_read(fixture->store), fixture->all);
		assert_int_equal(nr_missing(fixture->store), 0);
	}
	assert_true(steps > 10);
}

static void what_is_missing_is_noted_until_it_comes(void **state)
{
	struct fixture *fixture = *state;
	char merged[PATH_MAX], *error;

	write_store(fixture, fixture->store, 0x4, EVENTS);
	const struct timeline_digest first = fixture->all;
	write_store(fixture, fixture->node, 0x3, EVENTS);
	send_node(fixture, fixture->node);
	assert_read(fixture, first, 1);
	settle(fixture->store, 1);
	assert_one(fixture);
	assert_read(fixture, first, 1);

	/* Whoever has the node's profile merges it. */
	path_of(merged, fixture, "merged");
	for (uint32_t order = 0; order < 2; order++) {
		const char *const paths[] = {order ? fixture->node : fixture->store,
					     order ? fixture->store : fixture->node};
		const struct merge_source sources[] = {
			{.path = paths[0], .timeline_of = paths[0]},
			{.path = paths[1], .timeline_of = paths[1]},
		};

		if (profile_merge(sources, 2, false, merged, &error))
			fail_msg("%s", error);
		timeline_fixture_same(timeline_fixture_read(merged), fixture->all);
		assert_int_equal(nr_missing(merged), 0);
		run("rm -r %s*", merged);
	}

	/* Or it comes late, as a part. */
	bring_timeline(fixture, fixture->node);
	run("cd %s && cp node job/profile.db" PROFILE_PARTS_PART "7", fixture->folder);
	assert_read(fixture, fixture->all, 0);
	settle(fixture->store, 1);
	assert_one(fixture);
	assert_read(fixture, fixture->all, 0);
}

/* The node was killed between its timeline and its last round. */
static void events_that_fit_nothing_count_as_lost(void **state)
{
	struct fixture *fixture = *state;

	write_store(fixture, fixture->store, 0x4, EVENTS);
	struct timeline_digest expected = fixture->all;
	merge_fixture_write(fixture->node, 0x1, 1);
	timeline_fixture_write(fixture->node, 10, 1);
	timeline_fixture_add(&expected, timeline_fixture_read(fixture->node));
	send_node(fixture, fixture->node);
	merge_fixture_continue(fixture->node, 0x3); /* further processes, which the job never got */
	timeline_fixture_write(fixture->node, 11, 1); /* not the block before once more */
	const struct timeline_digest after = timeline_fixture_read(fixture->node);
	bring_timeline(fixture, fixture->node);
	settle(fixture->store, 1);
	const struct timeline_digest found = timeline_fixture_read(fixture->store);
	assert_true(found.lost > 0);
	assert_int_equal(found.launches + found.records + found.lost,
			 fixture->all.launches + fixture->all.records + after.launches +
				 after.records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_with_timelines_become_one_with_a_timeline,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_reader_that_wants_none_gets_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_block_makes_one_part_with_a_timeline, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_lost_when_the_process_is_killed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_missing_is_noted_until_it_comes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(events_that_fit_nothing_count_as_lost, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}

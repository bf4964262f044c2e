#include "unwind/unwind_table.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind/unwind_row.h"
#include "loaded_segments.h"
#include "made_frames.h"

#define PAGE    4096u
#define READERS 3
#define ROUNDS  2000

struct fixture {
	struct unwind_tables *tables;
	struct made_frames made, other;
};

static atomic_int wakes;

static void wake(void)
{
	atomic_fetch_add(&wakes, 1);
}

/* One function at 16; its frame has this many words. */
static void make(struct made_frames *made, uint64_t identity, uint8_t words)
{
	const uint8_t program[] = {0x0e, (uint8_t)(8 * words)};

	made_frames_init(made);
	made_frames_function(made, 16, 64, program, sizeof(program));
	made_frames_finish(made, MADE_SORTED);
	made->module.identity = identity;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	atomic_store(&wakes, 0);
	fixture->tables = unwind_tables_create(UNWIND_BYTES_MAX);
	assert_non_null(fixture->tables);
	unwind_tables_on_want(fixture->tables, wake);
	make(&fixture->made, 1, 3);
	make(&fixture->other, 2, 5);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unwind_tables_destroy(fixture->tables);
	made_frames_fini(&fixture->made);
	made_frames_fini(&fixture->other);
	free(fixture);
	return 0;
}

static enum unwind_found find(struct fixture *fixture, const struct made_frames *made,
			      uint32_t *rule)
{
	return unwind_tables_find(fixture->tables, made->module.start + 20, rule);
}

static struct unwind_totals totals_of(const struct fixture *fixture)
{
	struct unwind_totals totals;

	unwind_tables_totals(fixture->tables, &totals);
	return totals;
}

static void table_is_built_once_it_is_wanted(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule;

	assert_int_equal(unwind_tables_add(fixture->tables, &fixture->made.module), 0);
	assert_int_equal(unwind_tables_add(fixture->tables, &fixture->other.module), 0);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED), 0);
	assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_WANTED);
	assert_int_equal(rule, 0);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED), 1);
	assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_FOUND);
	assert_int_equal(rule, unwind_rule(UNWIND_RSP, 3, UNWIND_RBP_KEPT));
	assert_int_equal(find(fixture, &fixture->other, &rule), UNWIND_WANTED);
	assert_int_equal(totals_of(fixture).built, 1);
	assert_int_equal(totals_of(fixture).modules, 2);
}

static void helper_is_woken_once_a_round(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_add(fixture->tables, &fixture->other.module);
	for (int i = 0; i < 3; i++)
		find(fixture, &fixture->made, &rule);
	find(fixture, &fixture->other, &rule);
	assert_int_equal(wakes, 1);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED), 2);
	find(fixture, &fixture->made, &rule);
	assert_int_equal(wakes, 1);
}

static uint32_t asked;

static bool one_file_alone(void)
{
	return ++asked < 2;
}

static void building_goes_on_only_if_the_caller_says_so(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule;

	asked = 0;
	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_add(fixture->tables, &fixture->other.module);
	unwind_tables_ask(fixture->tables, one_file_alone);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 1);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 0);
	find(fixture, &fixture->made, &rule);
	find(fixture, &fixture->other, &rule);
	unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED); /* asks nobody */
	assert_int_equal(asked, 3);
	assert_int_equal(totals_of(fixture).built, 2);
}

static void all_tables_are_built_on_demand(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_totals totals;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_add(fixture->tables, &fixture->other.module);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 2);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 0);
	totals = totals_of(fixture);
	assert_int_equal(totals.built, 2);
	assert_int_equal(totals.rows, 6);
	assert_int_equal(totals.bytes, 2 * PAGE);
	assert_int_equal(totals.failed | totals.over_budget, 0);
	assert_true(totals.build_ns > 0);
}

static void same_file_at_another_address_needs_no_building(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module moved = fixture->made.module;
	uint32_t rule;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL);
	moved.start += 64 * PAGE, moved.end += 64 * PAGE, moved.eh_frame_hdr += 64 * PAGE;
	unwind_tables_add(fixture->tables, &moved);
	assert_int_equal(unwind_tables_find(fixture->tables, moved.start + 20, &rule),
			 UNWIND_FOUND);
	assert_int_equal(rule, unwind_rule(UNWIND_RSP, 3, UNWIND_RBP_KEPT));
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 0);
	assert_int_equal(totals_of(fixture).built, 1);

	/* Equal in name, not in shape. */
	moved.start += 64 * PAGE, moved.end += 65 * PAGE, moved.eh_frame_hdr += 64 * PAGE;
	unwind_tables_add(fixture->tables, &moved);
	assert_int_equal(unwind_tables_find(fixture->tables, moved.start + 20, &rule),
			 UNWIND_WANTED);
}

static void retired_segment_is_gone_and_comes_back_with_its_table(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule, epoch;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL);
	epoch = unwind_tables_epoch(fixture->tables);
	unwind_tables_retire(fixture->tables, fixture->made.module.start + 1);
	assert_int_equal(unwind_tables_epoch(fixture->tables), epoch);
	unwind_tables_retire(fixture->tables, fixture->made.module.start);
	assert_int_not_equal(unwind_tables_epoch(fixture->tables), epoch);
	assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_NOT_LOADED);
	assert_false(unwind_tables_holds(fixture->tables, fixture->made.module.start + 20));
	assert_int_equal(totals_of(fixture).modules, 0);

	unwind_tables_add(fixture->tables, &fixture->made.module);
	assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_FOUND);
	assert_true(unwind_tables_holds(fixture->tables, fixture->made.module.start + 20));
}

static void segment_that_is_there_already_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	uint32_t epoch;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	epoch = unwind_tables_epoch(fixture->tables);
	assert_int_equal(unwind_tables_add(fixture->tables, &fixture->made.module), 0);
	assert_int_equal(unwind_tables_epoch(fixture->tables), epoch);
	assert_int_equal(totals_of(fixture).modules, 1);
}

static void new_segment_replaces_all_that_it_overlaps(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module low = {.start = 10 * PAGE, .end = 12 * PAGE, .identity = 7};
	struct unwind_module high = {.start = 12 * PAGE, .end = 14 * PAGE, .identity = 8};
	struct unwind_module over = {.start = 11 * PAGE, .end = 13 * PAGE, .identity = 9};

	unwind_tables_add(fixture->tables, &low);
	unwind_tables_add(fixture->tables, &high);
	assert_int_equal(totals_of(fixture).modules, 2);
	unwind_tables_add(fixture->tables, &over);
	assert_int_equal(totals_of(fixture).modules, 1);
	assert_false(unwind_tables_holds(fixture->tables, 11 * PAGE - 1));
	assert_true(unwind_tables_holds(fixture->tables, 11 * PAGE));
	assert_true(unwind_tables_holds(fixture->tables, 13 * PAGE - 1));
	assert_false(unwind_tables_holds(fixture->tables, 13 * PAGE));
}

static void empty_segment_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module module = {.start = PAGE, .end = PAGE};

	assert_true(unwind_tables_add(fixture->tables, &module) < 0);
	assert_int_equal(totals_of(fixture).modules, 0);
}

static void more_segments_than_there_is_room_for_are_refused(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module module = {.start = PAGE, .end = 2 * PAGE};

	for (uint32_t i = 0; i < UNWIND_MODULES_MAX; i++) {
		assert_int_equal(unwind_tables_add(fixture->tables, &module), 0);
		module.start += PAGE, module.end += PAGE;
	}
	assert_true(unwind_tables_add(fixture->tables, &module) < 0);
	unwind_tables_retire(fixture->tables, 5 * PAGE);
	assert_int_equal(unwind_tables_add(fixture->tables, &module), 0);
	assert_true(unwind_tables_holds(fixture->tables, module.start));
	assert_false(unwind_tables_holds(fixture->tables, 5 * PAGE));
	assert_true(unwind_tables_holds(fixture->tables, 6 * PAGE));
}

static void tables_beyond_the_budget_are_counted_and_not_kept(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_tables *tables = unwind_tables_create(PAGE);
	struct unwind_totals totals;
	uint32_t rule;

	unwind_tables_add(tables, &fixture->made.module);
	assert_int_equal(unwind_tables_build(tables, UNWIND_BUILD_ALL), 1);
	unwind_tables_add(tables, &fixture->other.module);
	assert_int_equal(unwind_tables_build(tables, UNWIND_BUILD_ALL), 0);
	assert_int_equal(unwind_tables_find(tables, fixture->other.module.start + 20, &rule),
			 UNWIND_FOUND);
	assert_int_equal(rule, unwind_rule_special(UNWIND_UNSUPPORTED));
	unwind_tables_totals(tables, &totals);
	assert_int_equal(totals.over_budget, 1);
	assert_int_equal(totals.failed, 0);
	assert_int_equal(totals.built, 1);
	assert_int_equal(totals.bytes, PAGE);
	unwind_tables_destroy(tables);
}

static void file_without_frames_fails_for_good(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module bare = {.start = 64 * PAGE, .end = 65 * PAGE, .identity = 5};
	uint32_t rule;

	unwind_tables_add(fixture->tables, &bare);
	assert_int_equal(unwind_tables_find(fixture->tables, bare.start, &rule), UNWIND_WANTED);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED), 0);
	assert_int_equal(unwind_tables_find(fixture->tables, bare.start, &rule), UNWIND_FOUND);
	assert_int_equal(rule, unwind_rule_special(UNWIND_UNSUPPORTED));
	assert_int_equal(totals_of(fixture).failed, 1);
}

static void unreadable_file_is_tried_three_times(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	mprotect(fixture->made.header, PAGE, PROT_NONE);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_WANTED);
		assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED), 0);
	}
	assert_int_equal(find(fixture, &fixture->made, &rule), UNWIND_FOUND);
	assert_int_equal(rule, unwind_rule_special(UNWIND_UNSUPPORTED));
	assert_int_equal(totals_of(fixture).failed, 1);
}

static void stops_are_counted_by_segment(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start, stops;

	unwind_tables_add(fixture->tables, &fixture->made.module);
	unwind_tables_add(fixture->tables, &fixture->other.module);
	unwind_tables_count_stop(fixture->tables, fixture->other.module.start + 5);
	unwind_tables_count_stop(fixture->tables, fixture->other.module.end - 1);
	unwind_tables_count_stop(fixture->tables, 5);
	assert_true(unwind_tables_stops(fixture->tables, 0, &start, &stops));
	assert_int_equal(start, fixture->made.module.start);
	assert_int_equal(stops, 0);
	assert_true(unwind_tables_stops(fixture->tables, 1, &start, &stops));
	assert_int_equal(start, fixture->other.module.start);
	assert_int_equal(stops, 2);
	assert_false(unwind_tables_stops(fixture->tables, 2, &start, &stops));
	assert_int_equal(start | stops, 0);
}

/* ---- against the loader, where it answers: glibc 2.35 and later ---- */

static bool loader_answers(void)
{
	return dlsym(RTLD_DEFAULT, "_dl_find_object") != NULL;
}

static void file_that_the_loader_has_and_we_have_not_wakes_the_helper_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t own = (uint64_t)(uintptr_t)loader_answers;
	enum unwind_found expected = loader_answers() ? UNWIND_WANTED : UNWIND_NOT_LOADED;
	int expected_wakes = loader_answers() ? 1 : 0;
	uint32_t rule;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(unwind_tables_find(fixture->tables, own, &rule), expected);
		unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED);
	}
	assert_int_equal(wakes, expected_wakes);
}

static void file_that_was_unloaded_is_noticed_before_it_is_retired(void **state)
{
	struct fixture *fixture = *state;
	void *library = dlopen(LATE_LIBRARY, RTLD_NOW);
	struct unwind_module module;
	uint32_t rule;

	assert_non_null(library);
	const char *address = dlsym(library, "late_library_answer");
	assert_true(loaded_segment_at(address, &module));
	unwind_tables_add(fixture->tables, &module);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 1);
	assert_int_equal(unwind_tables_find(fixture->tables, (uint64_t)(uintptr_t)address, &rule),
			 UNWIND_FOUND);
	assert_int_equal(wakes, 0);
	dlclose(library);
	assert_int_equal(unwind_tables_find(fixture->tables, (uint64_t)(uintptr_t)address, &rule),
			 loader_answers() ? UNWIND_WANTED : UNWIND_FOUND);
	assert_int_equal(wakes, loader_answers() ? 1 : 0);
}

static void file_that_was_unloaded_before_its_build_gets_no_table(void **state)
{
	struct fixture *fixture = *state;
	void *library = dlopen(LATE_LIBRARY, RTLD_NOW);
	struct unwind_module module;

	assert_non_null(library);
	assert_true(loaded_segment_at(dlsym(library, "late_library_answer"), &module));
	unwind_tables_add(fixture->tables, &module);
	dlclose(library);
	assert_int_equal(unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL), 0);
	assert_int_equal(totals_of(fixture).built, 0);
}

/* ---- readers beside the writer ---- */

struct reader {
	struct fixture *fixture;
	atomic_bool *stop;
	_Atomic uint64_t found;
	uint64_t wrong;
};

static void *read_rules(void *user)
{
	const uint32_t rules[] = {unwind_rule(UNWIND_RSP, 3, UNWIND_RBP_KEPT),
				  unwind_rule(UNWIND_RSP, 5, UNWIND_RBP_KEPT)};
	struct reader *reader = user;
	uint32_t rule;

	while (!atomic_load(reader->stop)) {
		for (int i = 0; i < 2; i++) {
			const struct made_frames *made =
				i ? &reader->fixture->other : &reader->fixture->made;

			if (find(reader->fixture, made, &rule) != UNWIND_FOUND)
				continue;
			reader->found++;
			reader->wrong += rule != rules[i];
		}
	}
	return NULL;
}

static void readers_get_right_rules_while_segments_come_and_go(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_module filler = {.start = PAGE, .end = 2 * PAGE};
	struct reader readers[READERS];
	pthread_t threads[READERS];
	atomic_bool stop = false;

	unwind_tables_add(fixture->tables, &fixture->other.module);
	unwind_tables_build(fixture->tables, UNWIND_BUILD_ALL);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.fixture = fixture, .stop = &stop};
		pthread_create(&threads[i], NULL, read_rules, &readers[i]);
	}
	/* On a busy machine all rounds may fit into the time that a thread takes to begin. */
	for (int i = 0; i < READERS; i++)
		while (atomic_load(&readers[i].found) == 0)
			sched_yield();
	for (int round = 0; round < ROUNDS; round++) {
		unwind_tables_add(fixture->tables, &fixture->made.module);
		unwind_tables_add(fixture->tables, &filler);
		unwind_tables_build(fixture->tables, UNWIND_BUILD_WANTED);
		unwind_tables_retire(fixture->tables, filler.start);
		unwind_tables_retire(fixture->tables, fixture->made.module.start);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].wrong, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(table_is_built_once_it_is_wanted),
		TEST(helper_is_woken_once_a_round),
		TEST(all_tables_are_built_on_demand),
		TEST(same_file_at_another_address_needs_no_building),
		TEST(retired_segment_is_gone_and_comes_back_with_its_table),
		TEST(segment_that_is_there_already_changes_nothing),
		TEST(new_segment_replaces_all_that_it_overlaps),
		TEST(empty_segment_is_refused),
		TEST(more_segments_than_there_is_room_for_are_refused),
		TEST(tables_beyond_the_budget_are_counted_and_not_kept),
		TEST(file_without_frames_fails_for_good),
		TEST(unreadable_file_is_tried_three_times),
		TEST(building_goes_on_only_if_the_caller_says_so),
		TEST(stops_are_counted_by_segment),
		TEST(file_that_the_loader_has_and_we_have_not_wakes_the_helper_once),
		TEST(file_that_was_unloaded_is_noticed_before_it_is_retired),
		TEST(file_that_was_unloaded_before_its_build_gets_no_table),
		TEST(readers_get_right_rules_while_segments_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

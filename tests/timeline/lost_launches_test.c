/* Work whose launch was lost, or went with the log's oldest files, is folded as without one: any range has the sums
 * that a list of all events has, with cells of time and without. */
#include "tests/support/cmocka_test.h"

#include <errno.h>

#include "cells_fixture.h"

#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define FIRST_NS FOLD_FIXTURE_FIRST_NS
#define BLOCK_NS FOLD_FIXTURE_BLOCK_NS
#define CELLS    16u

static int set_up_lost(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
				   (struct fold_fixture_lacks){.calls = 9, .launches = 20});
}

static int set_up_oldest_gone(void **state)
{
	return fold_fixture_set_up(
		state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
		(struct fold_fixture_lacks){.before_ns = FIRST_NS + 9 * BLOCK_NS});
}

static int set_up_short(void **state)
{
	return fold_fixture_set_up(state, 2, 4, (struct fold_fixture_lacks){0});
}

/* Returns the error of a fold of all events, and how many pieces have no launch. */
static int fold_all(const struct fold_fixture *f, uint64_t *nr_launchless)
{
	struct crew_fold fold;
	const int error = crew_fold_read(&fold, f->source, &CELLS_FIXTURE_ALL, NULL, FIRST_NS);

	*nr_launchless = fold.nr_launchless;
	crew_fold_fini(&fold);
	return error;
}

static void any_range_has_the_sums_of_its_events(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t nr_left_out, nr_launchless, nr_with_cells;

	assert_int_equal(cells_fixture_check(f, &nr_left_out), 0);
	assert_int_equal(fold_all(f, &nr_launchless), 0);
	assert_in_range(nr_launchless, 100, UINT32_MAX);
	for (uint32_t nr = 5; nr < 100; nr = nr * 3 + 2) {
		assert_int_equal(cells_fixture_make(f, nr, 0).nr_empty, 0);
		const uint64_t nr_within = cells_fixture_check(f, &nr_left_out);
		assert_in_range(nr_within, 2 * nr, UINT32_MAX);
		assert_in_range(nr_left_out, 0, nr_within / 4);
	}
	assert_int_equal(fold_all(f, &nr_with_cells), 0);
	assert_int_equal(nr_with_cells, nr_launchless);
}

/* A range at the end needs no event from before its first cell, though its work may be without launches. */
static void cells_tell_where_launches_begin(void **state)
{
	struct fold_fixture *f = *state;
	const struct timeline_request request = {.from_ns = FIRST_NS + 30 * BLOCK_NS + 7,
						 .to_ns = FIRST_NS + 30 * BLOCK_NS + 9000};
	struct crew_fold with, without;

	assert_int_equal(crew_fold_read(&without, f->source, &request, NULL, FIRST_NS), 0);
	cells_fixture_make(f, CELLS, 0);
	fold_fixture_check(f, &request);
	assert_int_equal(crew_fold_read(&with, f->source, &request, NULL, FIRST_NS), 0);
	assert_int_equal(with.nr_work, without.nr_work);
	assert_in_range(with.counts.log.launches, 1, without.counts.log.launches / 2);
	crew_fold_fini(&with);
	crew_fold_fini(&without);
}

/* Which cell took its work as without a launch is not known, so each from before it with such work has no sums. */
static void a_launch_far_behind_its_work_is_found(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t start_ns = FIRST_NS + 15 * BLOCK_NS;
	const uint32_t id = ++f->next_id;
	uint64_t nr_left_out;

	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = start_ns,
						 .end_ns = start_ns + 99,
						 .correlation_id = id,
						 .window = (uint16_t)(1 + id % 2),
						 .stream_id = 1});
	fold_fixture_add_launch(event_log_packer(log), id, start_ns + 5 * BLOCK_NS, 1, 0);
	fold_fixture_end_more(log);
	assert_in_range(cells_fixture_make(f, CELLS, 0).nr_empty, 1, 9);
	cells_fixture_check(f, &nr_left_out);
}

static void add_unlaunched(struct event_log *log, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (i % 4096 == 0 && i) {
			event_log_write(log, 1);
			event_packer_begin(event_log_packer(log), 1, 0, true);
		}
		event_packer_record(event_log_packer(log),
				    &(struct gpu_record){.start_ns = FIRST_NS + i * 10,
							 .end_ns = FIRST_NS + i * 10 + 5,
							 .correlation_id = 1000000 + i,
							 .window = 1,
							 .context_id = 1,
							 .stream_id = 1});
	}
}

/* More than may wait for their launches. */
static void work_without_any_launch_takes_little_room(void **state)
{
	const uint32_t nr = STREAM_FOLD_WAITING + 5000;
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	uint64_t nr_launchless;

	add_unlaunched(log, nr);
	fold_fixture_end_more(log);
	fold_fixture_check(f, &CELLS_FIXTURE_ALL);
	assert_int_equal(fold_all(f, &nr_launchless), 0);
	assert_int_equal(nr_launchless, nr);
}

static void a_launch_that_comes_too_late_for_waiting_work_is_told(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	uint64_t nr_launchless;

	add_unlaunched(log, STREAM_FOLD_WAITING + 5000);
	event_log_write(log, 1);
	event_packer_begin(event_log_packer(log), 1, 0, true);
	event_packer_launch(event_log_packer(log),
			    &(struct launch_record){
				    .time_ns = FIRST_NS, .correlation_id = 1000001, .window = 1});
	fold_fixture_end_more(log);
	assert_int_equal(fold_all(f, &nr_launchless), -EAGAIN);
}

#define TEST(name, prepare) cmocka_unit_test_setup_teardown(name, prepare, fold_fixture_tear_down)
#define TEST_AS(name, prepare)                                                                     \
	{                                                                                          \
#name " of " #prepare, name, prepare, fold_fixture_tear_down, NULL                 \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_AS(any_range_has_the_sums_of_its_events, set_up_lost),
		TEST_AS(any_range_has_the_sums_of_its_events, set_up_oldest_gone),
		TEST_AS(cells_tell_where_launches_begin, set_up_lost),
		TEST_AS(cells_tell_where_launches_begin, set_up_oldest_gone),
		TEST(a_launch_far_behind_its_work_is_found, set_up_lost),
		TEST(work_without_any_launch_takes_little_room, set_up_short),
		TEST(a_launch_that_comes_too_late_for_waiting_work_is_told, set_up_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sums of cells of time in place of events: what any range adds up to is the same with them, and without. */
#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cells_fixture.h"

#include "aggregator/profile/collection.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define FIRST_NS FOLD_FIXTURE_FIRST_NS
#define BLOCK_NS FOLD_FIXTURE_BLOCK_NS

static int busy_error; /* of adding work; 0: none */

int __real_busy_lanes_add(struct busy_lanes *lanes, const struct timeline_work *work, bool is_nccl);
int __wrap_busy_lanes_add(struct busy_lanes *lanes, const struct timeline_work *work, bool is_nccl);

int __wrap_busy_lanes_add(struct busy_lanes *lanes, const struct timeline_work *work, bool is_nccl)
{
	return busy_error ? busy_error : __real_busy_lanes_add(lanes, work, is_nccl);
}

static int set_up(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
				   (struct fold_fixture_lacks){0});
}

/* So few launches that all of them have room. */
static int set_up_short(void **state)
{
	return fold_fixture_set_up(state, 2, 4, (struct fold_fixture_lacks){0});
}

/* ---- the same sums */

/* Blocks overlap in time. Short cells have work that runs on into the next ones, and some that began before the range:
 * their events are read. */
static void any_range_has_the_sums_of_its_events(void **state)
{
	static const uint32_t numbers[] = {1, 2, 5, 16, 43, 300};
	struct fold_fixture *f = *state;
	uint64_t nr_left_out = 0;

	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct cell_made cells = cells_fixture_make(f, numbers[i], 0);

		assert_int_equal(cells.nr_cells, numbers[i]);
		assert_int_equal(cells.nr_empty, 0);
		const uint64_t nr_within = cells_fixture_check(f, &nr_left_out);
		assert_in_range(nr_within, numbers[i] > 5 ? 5 * numbers[i] : numbers[i], 1u << 20);
		assert_in_range(nr_left_out, 0, nr_within / 4);
	}
	assert_in_range(nr_left_out, 1, 1u << 20); /* of the shortest cells */
}

/* A kernel that runs through most of the time, beside others, and one that ends before it in the same stream. */
static void work_runs_through_several_cells(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	uint64_t nr_left_out;

	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t id = ++f->next_id;
		const uint64_t start_ns = FIRST_NS + (1 + i) * BLOCK_NS + 17;

		fold_fixture_add_launch(event_log_packer(log), id, start_ns - 10, 1, 0);
		event_packer_record(
			event_log_packer(log),
			&(struct gpu_record){.start_ns = start_ns,
					     .end_ns = start_ns + (30 - i * 20) * BLOCK_NS,
					     .correlation_id = id,
					     .window = (uint16_t)(1 + id % 2),
					     .name_id = 1,
					     .context_id = 1,
					     .stream_id = 1});
	}
	fold_fixture_end_more(log);
	cells_fixture_make(f, 50, 0);
	cells_fixture_check(f, &nr_left_out);
	assert_in_range(nr_left_out, 50, 1u << 20);
	const struct timeline_request request = {.from_ns = FIRST_NS,
						 .to_ns = FIRST_NS + 35 * BLOCK_NS};
	f->nr_cells = 0;
	fold_fixture_check(f, &request);
	assert_in_range(f->nr_cells, 30, 50);
}

/* Asserts that no cell is looked at. */
static void check_without_cells(struct fold_fixture *f, const struct timeline_request *request,
				const struct uncaptured *uncaptured)
{
	struct crew_fold fold;

	assert_int_equal(crew_fold_read(&fold, f->source, request, uncaptured, FIRST_NS), 0);
	assert_int_equal(fold.nr_cells + fold.nr_damaged, 0);
	crew_fold_fini(&fold);
}

static void cells_are_of_all_processes_and_ranks(void **state)
{
	struct fold_fixture *f = *state;
	const uint8_t some[FOLD_FIXTURE_PROCESSES] = {1, 1, 0, 0, 1, 0, 1, 1, 0};
	struct timeline_request requests[] = {CELLS_FIXTURE_ALL, CELLS_FIXTURE_ALL};

	cells_fixture_make(f, 16, 0);
	requests[0].processes = some;
	requests[1].ranks = some;
	requests[1].nr_ranks = FOLD_FIXTURE_PROCESSES;
	for (uint32_t i = 0; i < 2; i++) {
		fold_fixture_check(f, &requests[i]);
		check_without_cells(f, &requests[i], NULL);
	}
}

/* How much of a cell's work was in a pause is not in its sums. */
static void cells_are_of_captured_time(void **state)
{
	struct fold_fixture *f = *state;
	struct capture_pauses pauses = {.pauses = calloc(1, sizeof(*pauses.pauses)),
					.nr_pauses = 1};
	struct uncaptured uncaptured;

	assert_non_null(pauses.pauses);
	pauses.pauses[0] = (struct capture_pause){FIRST_NS + BLOCK_NS, FIRST_NS + 2 * BLOCK_NS, 1};
	assert_int_equal(uncaptured_init(&uncaptured, f->profile.collection->roster, pauses), 0);
	cells_fixture_make(f, 16, 0);
	check_without_cells(f, &CELLS_FIXTURE_ALL, &uncaptured);
	uncaptured_fini(&uncaptured);
}

/* ---- what has no sums */

/* Adds a short kernel of process 1. */
static void add_work_alone(struct event_log *log, uint32_t id, uint64_t start_ns, uint32_t stream)
{
	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = start_ns,
						 .end_ns = start_ns + 10,
						 .correlation_id = id,
						 .window = (uint16_t)(1 + id % 2),
						 .name_id = 1,
						 .context_id = 1,
						 .stream_id = stream});
}

/* The same with its launch, a little before it. */
static void add_work(struct event_log *log, uint32_t id, uint64_t start_ns, uint32_t stream)
{
	fold_fixture_add_launch(event_log_packer(log), id, start_ns - 1, 1, 0);
	add_work_alone(log, id, start_ns, stream);
}

/* A clock that is off: the launch is in a later cell than its work, so it is not in each range with the work. */
static void a_cell_with_work_before_its_launch_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t start_ns = FIRST_NS + BLOCK_NS / 2 + 5;
	const uint32_t id = ++f->next_id;

	event_packer_record(event_log_packer(log),
			    &(struct gpu_record){.start_ns = start_ns,
						 .end_ns = start_ns + 99,
						 .correlation_id = id,
						 .window = (uint16_t)(1 + id % 2),
						 .stream_id = 1});
	fold_fixture_add_launch(event_log_packer(log), id, start_ns + BLOCK_NS, 1, 0);
	fold_fixture_end_more(log);
	const struct cell_made made = cells_fixture_make(f, 8, 0);
	assert_int_equal(made.nr_empty, 1);
	assert_int_equal(made.nr_late, 1);
	assert_int_equal(made.nr_gone, 0);
	for (uint32_t i = 0; i < 200; i++) {
		const uint64_t from_ns = FIRST_NS + (i < 100 ? 0 : (i % 10) * BLOCK_NS / 10);
		const struct timeline_request request = {
			.from_ns = from_ns, .to_ns = from_ns + (i + 1) * (3 * BLOCK_NS / 100)};

		fold_fixture_check(f, &request);
	}
	assert_in_range(f->nr_cells, 50, 1000);
}

/* Ids that come again before their work are of two launches, and only a look at all events tells them apart. */
static void a_log_whose_ids_come_again_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);

	for (uint32_t i = 0; i < 2; i++)
		fold_fixture_add_launch(event_log_packer(log), 7777777,
					FIRST_NS + CELLS_FIXTURE_NS / 2 + i, 1 + i, 0);
	fold_fixture_end_more(log);
	/* work of the first one may be in any cell */
	assert_int_equal(cells_fixture_make(f, 16, -EAGAIN).lack, CELL_MAKER_IDS);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
}

static void a_damaged_log_has_none(void **state)
{
	struct fold_fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER "/00000001" EVENT_FORMAT_SUFFIX,
		 f->store);
	cells_fixture_damage(path, cells_fixture_size(path) - 5, 1);
	assert_int_equal(cells_fixture_make(f, 16, -EAGAIN).lack, CELL_MAKER_DAMAGED);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
}

static void a_log_with_too_many_streams_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);

	for (uint32_t i = 0; i <= BUSY_LANES_STREAMS; i++)
		add_work(log, ++f->next_id, FIRST_NS + i, 100 + i);
	fold_fixture_end_more(log);
	assert_int_equal(cells_fixture_make(f, 4, -EAGAIN).lack, CELL_MAKER_SIZE);
}

static void a_log_far_out_of_order_has_none(void **state)
{
	struct fold_fixture *f = *state;

	busy_error = -ERANGE;
	assert_int_equal(cells_fixture_make(f, 4, -EAGAIN).lack, CELL_MAKER_DISORDER);
	busy_error = 0;
	cells_fixture_make(f, 4, 0);
}

/* Another launch has taken the place of one that has work already, and has more. The parts say so of themselves. */
static void a_cell_with_work_whose_launch_has_gone_has_none(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint32_t id = 1u << 20;

	for (uint32_t i = 1; i <= 2; i++) {
		add_work(log, i * id, FIRST_NS + i, 1);
		event_log_write(log, 1);
		event_packer_begin(event_log_packer(log), 1, 0, true);
	}
	add_work_alone(log, id, FIRST_NS + BLOCK_NS / 2, 1);
	fold_fixture_end_more(log);
	for (uint32_t i = 0; i < 2; i++) {
		const struct cell_made made = cells_fixture_make(f, i ? 0 : 8, 0);

		assert_int_equal(made.nr_cells, 8);
		assert_int_equal(made.nr_empty, 1);
		assert_int_equal(made.nr_late, 0);
		assert_int_equal(made.nr_gone, 1);
	}
	const struct timeline_request behind = {.from_ns = FIRST_NS + BLOCK_NS * 2 / 3,
						.to_ns = UINT64_MAX};
	fold_fixture_check(f, &behind);
}

static void a_profile_that_is_written_has_none(void **state)
{
	struct fold_fixture *f = *state;

	f->profile.written = true;
	cells_fixture_make(f, 16, -EBUSY);
	f->profile.written = false;
	cells_fixture_make(f, 16, 0);
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 16);
	f->profile.written = true;
	assert_int_equal(cells_fixture_count(f, &CELLS_FIXTURE_ALL), 0);
}

static void few_events_need_none(void **state)
{
	struct fold_fixture *f = *state;

	cells_fixture_make(f, 0, -ENODATA);
	cells_fixture_make(f, 16, 0);
	assert_int_equal(cells_fixture_make(f, 0, 0).nr_cells, 16); /* they are there already */
}

#define TEST(name)       cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)
#define TEST_SHORT(name) cmocka_unit_test_setup_teardown(name, set_up_short, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_range_has_the_sums_of_its_events),
		TEST(work_runs_through_several_cells),
		TEST(cells_are_of_all_processes_and_ranks),
		TEST(cells_are_of_captured_time),
		TEST_SHORT(a_cell_with_work_before_its_launch_has_none),
		TEST(a_log_whose_ids_come_again_has_none),
		TEST(a_damaged_log_has_none),
		TEST_SHORT(a_log_with_too_many_streams_has_none),
		TEST_SHORT(a_log_far_out_of_order_has_none),
		TEST_SHORT(a_cell_with_work_whose_launch_has_gone_has_none),
		TEST(a_profile_that_is_written_has_none),
		TEST(few_events_need_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

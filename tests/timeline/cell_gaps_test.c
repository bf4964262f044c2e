/* Cells that cannot be used, among others that can: their events alone are read. */
#include "tests/support/cmocka_test.h"

#include "cells_fixture.h"

#include "base/thread_crew.h"
#include "timeline/cells/cell_file.h"
#include "timeline/log/event_log.h"
#include "timeline/log/event_packer.h"

#define CELLS 20u

static int set_up(void **state)
{
	return fold_fixture_set_up(state, FOLD_FIXTURE_BLOCKS, FOLD_FIXTURE_PIECES,
				   (struct fold_fixture_lacks){.launches = 50});
}

static void damage_cell(const struct fold_fixture *f, uint32_t cell, uint32_t share)
{
	struct cell_file file;
	char path[128];

	assert_int_equal(cell_file_open(&file, f->source), 0);
	assert_non_null(file.parts);
	cells_fixture_path(f, path);
	cells_fixture_damage(
		path, (off_t)file.parts[cell_format_place(&file.head, cell, share)].at + 3, 1);
	cell_file_close(&file);
}

static void check_all(struct fold_fixture *f, uint32_t nr_cells)
{
	for (f->nr_cpus = 1; f->nr_cpus < 6; f->nr_cpus += 2) {
		f->nr_cells = 0;
		fold_fixture_check(f, &CELLS_FIXTURE_ALL);
		assert_int_equal(f->nr_cells, nr_cells);
	}
}

static void a_damaged_cell_is_left_out_alone(void **state)
{
	struct fold_fixture *f = *state;
	uint64_t nr_left_out;

	cells_fixture_make(f, CELLS, 0);
	check_all(f, CELLS);
	damage_cell(f, 9, 2);
	check_all(f, CELLS - 1);
	damage_cell(f, 0, 0);
	damage_cell(f, 10, 7);
	check_all(f, CELLS - 3);
	damage_cell(f, CELLS - 1, 1);
	check_all(f, CELLS - 4);
	cells_fixture_check(f, &nr_left_out);
	assert_in_range(nr_left_out, 4, 1u << 20);
}

static void of_many_damaged_cells_none_is_used(void **state)
{
	struct fold_fixture *f = *state;

	cells_fixture_make(f, CELLS, 0);
	for (uint32_t i = 0; i < 8; i++)
		damage_cell(f, 2 * i, 4);
	check_all(f, CELLS - 8);
	damage_cell(f, 16, 4);
	check_all(f, 0);
}

/* Of 80 cells, a run of five is worth a read of the events before it, and one of four is not. */
static void short_runs_are_left_out(void **state)
{
	struct fold_fixture *f = *state;

	cells_fixture_make(f, 4 * CELLS, 0);
	damage_cell(f, 40, 0);
	damage_cell(f, 46, 0);
	check_all(f, 4 * CELLS - 2);
	damage_cell(f, 45, 0);
	check_all(f, 4 * CELLS - 7);
}

static uint32_t nr_readings;

void __real_thread_crew_run(uint32_t nr_parts, void (*work)(void *context, uint32_t part),
			    void *context);
void __wrap_thread_crew_run(uint32_t nr_parts, void (*work)(void *context, uint32_t part),
			    void *context);

void __wrap_thread_crew_run(uint32_t nr_parts, void (*work)(void *context, uint32_t part),
			    void *context)
{
	nr_readings++;
	__real_thread_crew_run(nr_parts, work, context);
}

/* Work that began before a range, and runs into many of its cells, has all of them left out at once. */
static void cells_that_earlier_work_runs_into_are_left_out_together(void **state)
{
	struct fold_fixture *f = *state;
	struct event_log *log = fold_fixture_write_more(f);
	const uint64_t start_ns = FOLD_FIXTURE_FIRST_NS + FOLD_FIXTURE_BLOCK_NS + 17;
	const uint32_t id = ++f->next_id;
	const struct timeline_request request = {.from_ns = FOLD_FIXTURE_FIRST_NS +
							    3 * FOLD_FIXTURE_BLOCK_NS + 5,
						 .to_ns = FOLD_FIXTURE_FIRST_NS + CELLS_FIXTURE_NS};

	fold_fixture_add_launch(event_log_packer(log), id, start_ns - 10, 1, 0);
	event_packer_record(
		event_log_packer(log),
		&(struct gpu_record){.start_ns = start_ns,
				     .end_ns = start_ns + 25 * (uint64_t)FOLD_FIXTURE_BLOCK_NS,
				     .correlation_id = id,
				     .window = (uint16_t)(1 + id % 2),
				     .name_id = 1,
				     .context_id = 1,
				     .stream_id = 1});
	fold_fixture_end_more(log);
	cells_fixture_make(f, 2 * CELLS, 0);
	for (f->nr_cpus = 1; f->nr_cpus < 6; f->nr_cpus += 2) {
		nr_readings = 0;
		f->nr_cells = 0;
		fold_fixture_check(f, &request);
		assert_int_equal(nr_readings, 2);
		assert_in_range(f->nr_cells, 10, 14);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_damaged_cell_is_left_out_alone),
		TEST(of_many_damaged_cells_none_is_used),
		TEST(short_runs_are_left_out),
		TEST(cells_that_earlier_work_runs_into_are_left_out_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Cells that cannot be used, among others that can: their events alone are read. */
#include "tests/support/cmocka_test.h"

#include "cells_fixture.h"

#include "timeline/cells/cell_file.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fold_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_damaged_cell_is_left_out_alone),
		TEST(of_many_damaged_cells_none_is_used),
		TEST(short_runs_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "timeline/kernels/kernel_rows.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/report/model/report_fixture.h"
#include "timeline/kernels/kernels_writer.h"

#define ROOM 8u

struct fixture {
	struct kernel_times times;
	struct kernel_places places;
	struct report_names *names;
};

static int set_up(void **state)
{
	static struct fixture made;

	assert_int_equal(report_fixture_set_up(state), 0);
	made = (struct fixture){.times.by_stack = true};
	made.times.times = calloc(ROOM, sizeof(*made.times.times));
	assert_non_null(made.times.times);
	*state = &made;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kernel_places_fini(&f->places);
	kernel_times_fini(&f->times);
	report_names_destroy(f->names);
	return report_fixture_tear_down(state);
}

static uint32_t frame(const char *function, uint64_t offset)
{
	return report_fixture_frame(report_fixture.program, offset, function);
}

/* A stack of main, and of launch at an offset, in a range; range NULL: in none. */
static uint32_t stack_of(const char *range, uint64_t offset)
{
	uint32_t node = range ? report_fixture_push(0, report_fixture_code(NULL, range, 0)) : 0;

	node = report_fixture_push(node, frame("main", 1));
	return report_fixture_push(node, frame("launch", offset));
}

static void add(struct fixture *f, const char *kernel, uint32_t stack_id, uint64_t ns,
		uint64_t start_ns)
{
	struct kernel_time *time = &f->times.times[f->times.nr_times++];

	assert_in_range(f->times.nr_times, 1, ROOM);
	*time = (struct kernel_time){.kind = RECORD_GPU_KERNEL,
				     .name_id = report_fixture_string(kernel),
				     .stack_id = stack_id,
				     .count = 1,
				     .ns = ns,
				     .first_ns = start_ns,
				     .last_ns = start_ns + ns};
	time->slices[start_ns / 100] = (struct kernel_slice){1, ns};
	assert_int_equal(duration_bins_add(&time->bins, duration_bucket(ns), 1), 0);
}

static void sum(struct fixture *f, enum demangle_mode demangle, enum kernel_rows_stack stack)
{
	f->names = report_names_create(&report_fixture.profile, demangle, REPORT_LINES_ON);
	assert_int_equal(
		kernel_places_init(&f->places, &f->times, &report_fixture.profile, f->names), 0);
	assert_int_equal(kernel_rows_sum(&f->times, &f->places, f->names, stack), 0);
}

/* Each row's name and place as the table shows them, with its count and sum. */
static void assert_table(struct fixture *f, const char *expected)
{
	const struct kernels_view view = {.profile = &report_fixture.profile,
					  .names = f->names,
					  .times = &f->times,
					  .places = &f->places};
	char *text, *at, out[512] = "";
	size_t size, used = 0;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(
		kernels_writer_write(file, &view, STEPS_TABLE, &(struct text_form){.columns = 0}),
		0);
	fclose(file);
	strtok_r(text, "\n", &at); /* the heading */
	for (uint32_t i = 0; i < f->times.nr_times; i++) {
		const char *line = strtok_r(NULL, "\n", &at);

		assert_non_null(line);
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%u %u %s\n",
					 (unsigned)f->times.times[i].count,
					 (unsigned)f->times.times[i].ns, strstr(line, "kernel "));
	}
	assert_string_equal(out, expected);
	free(text);
}

static void rows_that_differ_in_their_range_name_it(void **state)
{
	struct fixture *f = *state;

	add(f, "gemm", stack_of("[NVTX]forward", 2), 40, 100);
	add(f, "gemm", stack_of("[NVTX]backward", 2), 30, 200);
	add(f, "gemm", stack_of(NULL, 2), 20, 300);
	sum(f, DEMANGLE_SIMPLE, KERNEL_ROWS_LINE);
	assert_table(f, "1 40 kernel gemm  [NVTX]forward > main > launch\n"
			"1 30 kernel gemm  [NVTX]backward > main > launch\n"
			"1 20 kernel gemm  main > launch\n");
}

static void rows_that_read_the_same_are_one(void **state)
{
	struct fixture *f = *state;
	struct duration_bin list[DURATION_BUCKETS];

	add(f, "other", stack_of(NULL, 2), 45, 100);
	add(f, "gemm", stack_of(NULL, 2), 40, 200);
	add(f, "gemm", stack_of(NULL, 3), 30, 600);
	add(f, "gemm", 0, 20, 300);
	add(f, "gemm", stack_of(NULL, 4), 10, 100);
	sum(f, DEMANGLE_SIMPLE, KERNEL_ROWS_LINE);
	assert_table(f, "3 80 kernel gemm   main > launch\n"
			"1 45 kernel other  main > launch\n"
			"1 20 kernel gemm   launch not known\n");
	const struct kernel_time *all = &f->times.times[0];
	assert_int_equal(all->first_ns, 100);
	assert_int_equal(all->last_ns, 630);
	assert_int_equal(all->slices[2].ns, 40);
	assert_int_equal(all->slices[6].ns, 30);
	assert_int_equal(duration_list_count(list, duration_bins_list(&all->bins, list)), 3);
}

static void whole_stacks_are_apart_where_lines_are_one(void **state)
{
	struct fixture *f = *state;
	const uint32_t deep = report_fixture_push(stack_of(NULL, 2), frame("cudaLaunchKernel", 9));

	add(f, "gemm", stack_of(NULL, 2), 40, 200);
	add(f, "gemm", stack_of(NULL, 3), 30, 200);
	add(f, "gemm", deep, 20, 300);
	sum(f, DEMANGLE_FULL, KERNEL_ROWS_WHOLE_STACK);
	assert_int_equal(f->times.nr_times, 2);
	assert_int_equal(f->times.times[0].ns, 70);
	assert_int_equal(f->times.times[1].ns, 20);
	assert_int_not_equal(f->places.places[0].node, f->places.places[1].node);
}

static void kernels_whose_names_are_cut_alike_are_one(void **state)
{
	struct fixture *f = *state;

	f->times.by_stack = false;
	add(f, "_Z4gemmIiEvT_", 0, 40, 200);
	add(f, "_Z4gemmIfEvT_", 0, 30, 200);
	sum(f, DEMANGLE_SIMPLE, KERNEL_ROWS_NO_STACK);
	assert_int_equal(f->times.nr_times, 1);
	assert_int_equal(f->times.times[0].count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_that_differ_in_their_range_name_it),
		TEST(rows_that_read_the_same_are_one),
		TEST(whole_stacks_are_apart_where_lines_are_one),
		TEST(kernels_whose_names_are_cut_alike_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

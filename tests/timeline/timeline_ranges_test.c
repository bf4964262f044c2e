#include "timeline/trace/timeline_ranges.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "tests/report/model/report_fixture.h"
#include "timeline/steps/step_ranges.h"

#define MARKS_MAX 16u
#define LAST_NS   1000u

struct fixture {
	struct timeline_launch marks[MARKS_MAX];
	uint32_t nr_marks, process;
	struct report_names *names;
	struct report_paths *paths;
	struct timeline_ranges ranges;
	uint32_t outer, inner; /* stacks of open ranges: "outer", and "inner" in it */
};

static int set_up(void **state)
{
	static struct fixture made;
	struct fixture *f = &made;

	assert_int_equal(report_fixture_set_up(state), 0);
	*f = (struct fixture){.process = report_fixture_process("node", 1, 0, 0)};
	f->outer = report_fixture_push(0, report_fixture_code(NULL, "[NVTX]outer", 0));
	f->inner = report_fixture_push(f->outer, report_fixture_code(NULL, "[NVTX]inner", 0));
	f->names = report_names_create(&report_fixture.profile, DEMANGLE_NONE, REPORT_LINES_OFF);
	f->paths = report_paths_create(report_fixture.catalog, f->names,
				       &(struct report_paths_view){0});
	assert_non_null(f->paths);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	timeline_ranges_fini(&f->ranges);
	report_paths_destroy(f->paths);
	report_names_destroy(f->names);
	return report_fixture_tear_down(state);
}

static struct timeline_launch *mark(struct fixture *f, uint64_t time_ns, enum record_mark kind,
				    uint32_t number)
{
	struct timeline_launch *made = &f->marks[f->nr_marks++];

	assert_in_range(f->nr_marks, 1, MARKS_MAX);
	*made = (struct timeline_launch){.time_ns = time_ns,
					 .process_id = f->process,
					 .tid = 7,
					 .correlation_id = number,
					 .window = 1,
					 .flags = RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK,
					 .mark = (uint8_t)kind};
	return made;
}

static void open_ranges(struct fixture *f, uint64_t time_ns, uint16_t window, uint32_t stack)
{
	struct timeline_launch *made = mark(f, time_ns, RECORD_MARK_RANGES, 0);

	made->window = window;
	made->stack_id = stack;
}

/* Each range as "name begin-end", in order. */
static void assert_ranges(struct fixture *f, const char *expected)
{
	const struct timeline_range_names names = {f->names, f->paths, UINT32_MAX};
	const struct timeline_marks marks = {
		.marks = f->marks, .nr_marks = f->nr_marks, .last_ns = LAST_NS, .to_ns = LAST_NS};
	char text[256] = "";
	size_t at = 0;

	assert_int_equal(timeline_ranges_init(&f->ranges, &names, &marks), 0);
	for (uint32_t i = 0; i < f->ranges.nr_ranges; i++) {
		const struct timeline_range *range = &f->ranges.ranges[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %u-%u", at ? ", " : "",
				       report_names_get(f->names, range->name),
				       (unsigned)range->begin_ns, (unsigned)range->end_ns);
	}
	assert_string_equal(text, expected);
}

static void a_step_lasts_to_the_next_one(void **state)
{
	struct fixture *f = *state;

	mark(f, 100, RECORD_MARK_STEP, 4);
	mark(f, 200, RECORD_MARK_STEP, 5);
	mark(f, 300, RECORD_MARK_STEP_END, 5);
	mark(f, 400, RECORD_MARK_STEP, 6);
	assert_ranges(*state, "step 4 100-200, step 5 200-300, step 6 400-1000");
}

static void no_step_lasts_over_marks_that_are_missing(void **state)
{
	struct fixture *f = *state;

	mark(f, 100, RECORD_MARK_STEP, 4);
	mark(f, 150, RECORD_MARK_RANGES, 0);
	mark(f, 200, RECORD_MARK_STEP, 9);
	mark(f, 300, RECORD_MARK_STEP_END,
	     11); /* of a step that has no begin, behind one without an end */
	mark(f, 400, RECORD_MARK_STEP, 12);
	assert_ranges(*state, "step 4 100-150, step 12 400-1000");
}

static void ranges_end_with_their_window(void **state)
{
	struct fixture *f = *state;

	open_ranges(f, 100, 1, f->outer);
	open_ranges(f, 200, 1, f->inner);
	open_ranges(f, 500, 2, f->inner);
	open_ranges(f, 600, 2, f->outer);
	assert_ranges(*state, "outer 100-200, outer 500-1000, inner 500-600");
}

/* ---- ranges as steps */

static void assert_steps(struct fixture *f, uint32_t nr_open, uint64_t begin_ns, uint64_t end_ns)
{
	struct step_ranges *ranges = step_ranges_create(&report_fixture.profile, "inner");
	struct timeline_steps steps = {0};

	assert_non_null(ranges);
	for (uint32_t i = 0; i < f->nr_marks; i++)
		assert_int_equal(step_ranges_add(ranges, &f->marks[i], &steps), 0);
	assert_int_equal(timeline_steps_finish(&steps, NULL), 0);
	assert_int_equal(steps.nr_steps, 1);
	assert_int_equal(steps.steps[0].begin_ns, begin_ns);
	assert_int_equal(steps.steps[0].end_ns, end_ns);
	assert_int_equal(steps.nr_open, nr_open);
	timeline_steps_fini(&steps);
	step_ranges_destroy(ranges);
}

static void a_range_is_a_step(void **state)
{
	struct fixture *f = *state;

	open_ranges(f, 100, 1, f->outer);
	open_ranges(f, 200, 1, f->inner);
	open_ranges(f, 300, 1, f->outer);
	assert_steps(f, 0, 200, 300);
}

static void a_range_of_two_windows_is_no_step(void **state)
{
	struct fixture *f = *state;

	open_ranges(f, 200, 1, f->inner);
	open_ranges(f, 300, 2, f->inner); /* maybe another one: nobody knows when it began */
	open_ranges(f, 400, 2, f->outer);
	open_ranges(f, 500, 2, f->inner);
	open_ranges(f, 600, 2, f->outer);
	open_ranges(f, 700, 2, f->inner);
	open_ranges(f, 800, 3, f->outer);
	assert_steps(f, 2, 500, 600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_step_lasts_to_the_next_one),
		TEST(no_step_lasts_over_marks_that_are_missing),
		TEST(ranges_end_with_their_window),
		TEST(a_range_is_a_step),
		TEST(a_range_of_two_windows_is_no_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

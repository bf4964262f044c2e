#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "timeline/trace/timeline_steps.h"

#define PROCESS 1u

static int set_up(void **state)
{
	static struct timeline_steps steps;

	steps = (struct timeline_steps){0};
	*state = &steps;
	return 0;
}

static int tear_down(void **state)
{
	timeline_steps_fini(*state);
	return 0;
}

static void mark(struct timeline_steps *steps, uint32_t process_id, uint32_t tid, uint64_t time_ns,
		 enum record_mark kind, uint32_t number)
{
	assert_int_equal(
		timeline_steps_add(steps, &(struct timeline_launch){.time_ns = time_ns,
								    .process_id = process_id,
								    .tid = tid,
								    .correlation_id = number,
								    .flags = RECORD_LAUNCH_HOST |
									     RECORD_LAUNCH_MARK,
								    .mark = (uint8_t)kind}),
		0);
}

static void begin(struct timeline_steps *steps, uint32_t tid, uint64_t time_ns, uint32_t number)
{
	mark(steps, PROCESS, tid, time_ns, RECORD_MARK_STEP, number);
}

static void a_step_ends_where_the_next_one_of_its_thread_begins(void **state)
{
	struct timeline_steps *steps = *state;

	begin(steps, 7, 100, 1);
	begin(steps, 8, 150, 2); /* of another thread */
	begin(steps, 7, 400, 3);
	mark(steps, PROCESS, 7, 600, RECORD_MARK_STEP_END, 0);
	mark(steps, PROCESS, 7, 650, RECORD_MARK_STEP_END, 0); /* of nothing */
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(steps->nr_steps, 2);
	assert_int_equal(steps->nr_open, 1);
	assert_int_equal(steps->steps[0].number, 1);
	assert_int_equal(steps->steps[0].end_ns, 400);
	assert_int_equal(steps->steps[1].number, 3);
	assert_int_equal(steps->steps[1].end_ns, 600);
}

static void a_step_whose_next_mark_is_missing_stays_open(void **state)
{
	struct timeline_steps *steps = *state;

	begin(steps, 7, 100, 18);
	begin(steps, 7, 200, 19);
	begin(steps, 7, 900, 52);
	begin(steps, 7, 1000, 53);
	mark(steps, PROCESS, 7, 1900, RECORD_MARK_STEP_END, 61); /* those of 54 to 60 are missing */
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(steps->nr_steps, 2);
	assert_int_equal(steps->steps[0].number, 18);
	assert_int_equal(steps->steps[1].number, 52);
	assert_int_equal(steps->nr_open, 2);
	assert_int_equal(steps->nr_cut, 0);
}

static void a_step_of_two_windows_stays_open(void **state)
{
	struct timeline_steps *steps = *state;

	for (uint32_t number = 1; number <= 4; number++) {
		begin(steps, 7, 100 * number, number);
		steps->marks[number - 1].window = number <= 2 ? 1 : 2;
	}
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(steps->nr_steps, 2);
	assert_int_equal(steps->steps[0].number, 1);
	assert_int_equal(steps->steps[1].number, 3);
	assert_int_equal(steps->nr_open, 2);
	assert_int_equal(steps->nr_cut, 1);
}

static void marks_come_in_any_order(void **state)
{
	struct timeline_steps *steps = *state;

	begin(steps, 7, 300, 3);
	begin(steps, 7, 100, 1);
	begin(steps, 7, 200, 2);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(steps->nr_steps, 2);
	assert_int_equal(steps->steps[0].number, 1);
	assert_int_equal(steps->steps[1].number, 2);
}

static void launches_and_ranges_are_no_steps(void **state)
{
	struct timeline_steps *steps = *state;

	mark(steps, PROCESS, 7, 100, RECORD_MARK_RANGES, 0);
	assert_int_equal(
		timeline_steps_add(
			steps, &(struct timeline_launch){.time_ns = 1, .mark = RECORD_MARK_STEP}),
		0);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(steps->nr_marks, 0);
	assert_int_equal(steps->nr_steps + steps->nr_open, 0);
}

static void a_number_is_found_in_all_processes(void **state)
{
	struct timeline_steps *steps = *state;
	struct timeline_step *found;
	uint32_t nr;

	for (uint32_t process = 1; process <= 3; process++)
		for (uint32_t number = 1; number <= 4; number++)
			mark(steps, process, 7, 1000 * number + 10 * process, RECORD_MARK_STEP,
			     number);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	assert_int_equal(timeline_steps_find(steps, 2, &found, &nr), 0);
	assert_int_equal(nr, 3);
	for (uint32_t process = 1; process <= 3; process++) {
		const struct timeline_step *step = timeline_steps_of(found, nr, process);

		assert_non_null(step);
		assert_int_equal(step->begin_ns, 2000 + 10 * process);
		assert_int_equal(step->end_ns, 3000 + 10 * process);
	}
	assert_null(timeline_steps_of(found, nr, 4));
	free(found);
	assert_int_equal(timeline_steps_find(steps, 4, &found, &nr), 0);
	assert_int_equal(nr, 0);
	assert_null(timeline_steps_of(found, nr, 1));
	free(found);
}

static void the_first_step_is_not_the_slowest(void **state)
{
	struct timeline_steps *steps = *state;
	uint64_t median_ns;
	uint32_t nr;

	begin(steps, 7, 0, 1);
	begin(steps, 7, 1000, 2);
	begin(steps, 7, 1010, 3);
	begin(steps, 7, 1040, 4);
	begin(steps, 7, 1060, 5);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	const struct timeline_step *slowest;
	assert_int_equal(timeline_steps_slowest(steps, &slowest, &median_ns, &nr), 0);
	assert_non_null(slowest);
	assert_int_equal(slowest->number, 3);
	assert_int_equal(nr, 3);
	assert_int_equal(median_ns, 20);
}

static void the_first_one_that_was_kept_may_be_the_slowest(void **state)
{
	struct timeline_steps *steps = *state;
	uint64_t median_ns;
	uint32_t nr;

	begin(steps, 7, 0, 705);
	begin(steps, 7, 1000, 706);
	begin(steps, 7, 1010, 707);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	const struct timeline_step *slowest;
	assert_int_equal(timeline_steps_slowest(steps, &slowest, &median_ns, &nr), 0);
	assert_non_null(slowest);
	assert_int_equal(slowest->number, 705);
	assert_false(slowest->is_first);
	assert_int_equal(nr, 2);
}

static void a_single_step_counts(void **state)
{
	struct timeline_steps *steps = *state;
	uint64_t median_ns;
	uint32_t nr;

	begin(steps, 7, 0, 1);
	mark(steps, PROCESS, 7, 50, RECORD_MARK_STEP_END, 0);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	const struct timeline_step *slowest;
	assert_int_equal(timeline_steps_slowest(steps, &slowest, &median_ns, &nr), 0);
	assert_non_null(slowest);
	assert_int_equal(slowest->number, 1);
	assert_int_equal(nr, 1);
}

static void without_marks_there_is_no_step(void **state)
{
	struct timeline_steps *steps = *state;
	uint64_t median_ns;
	uint32_t nr;

	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	const struct timeline_step *slowest = &(struct timeline_step){0};
	assert_int_equal(timeline_steps_slowest(steps, &slowest, &median_ns, &nr), 0);
	assert_null(slowest);
	assert_int_equal(nr, 0);
}

static void a_step_that_was_not_captured_all_the_time_has_no_end(void **state)
{
	struct timeline_steps *steps = *state;
	struct capture_pause list[] = {{1005, 1009, PROCESS}};
	const struct capture_pauses pauses = {list, 1};

	begin(steps, 7, 0, 1);
	begin(steps, 7, 1000, 2);
	begin(steps, 7, 1010, 3);
	begin(steps, 7, 1040, 4);
	assert_int_equal(timeline_steps_finish(steps, &pauses), 0);
	assert_int_equal(steps->nr_steps, 2);
	assert_int_equal(steps->steps[0].number, 1);
	assert_int_equal(steps->steps[1].number, 3);
	assert_int_equal(steps->nr_open, 2); /* and the last one */
	assert_int_equal(steps->nr_cut, 1);
}

static bool lacks_memory;
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return lacks_memory ? NULL : __real_malloc(size);
}

static void without_memory_the_slowest_is_not_taken_for_none(void **state)
{
	struct timeline_steps *steps = *state;
	const struct timeline_step *slowest = &(struct timeline_step){0};
	uint64_t median_ns;
	uint32_t nr;

	begin(steps, 7, 0, 1);
	begin(steps, 7, 1000, 2);
	assert_int_equal(timeline_steps_finish(steps, NULL), 0);
	lacks_memory = true;
	const int error = timeline_steps_slowest(steps, &slowest, &median_ns, &nr);
	lacks_memory = false;
	assert_int_equal(error, -ENOMEM);
	assert_null(slowest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_step_ends_where_the_next_one_of_its_thread_begins),
		TEST(a_step_whose_next_mark_is_missing_stays_open),
		TEST(a_step_of_two_windows_stays_open),
		TEST(marks_come_in_any_order),
		TEST(launches_and_ranges_are_no_steps),
		TEST(a_number_is_found_in_all_processes),
		TEST(the_first_step_is_not_the_slowest),
		TEST(the_first_one_that_was_kept_may_be_the_slowest),
		TEST(a_single_step_counts),
		TEST(without_marks_there_is_no_step),
		TEST(a_step_that_was_not_captured_all_the_time_has_no_end),
		TEST(without_memory_the_slowest_is_not_taken_for_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

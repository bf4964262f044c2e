#include "inject/nvtx/nvtx_ranges.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "inject/nvtx/nvtx_abi.h"

static struct nvtx_names *names;
static uint32_t library;
static char trail[64]; /* what a watch saw: o and c */

static int push(uint32_t domain, const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return nvtx_ranges_push(domain, &text);
}

static uint64_t start(const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return nvtx_ranges_start(NVTX_DOMAIN_DEFAULT, &text);
}

/* The open ranges, outermost first, with spaces between; "?" is one without a name. */
static const char *open_ranges(uint32_t max)
{
	static char line[8192];
	uint32_t open[NVTX_RANGES_DEPTH + 1], nr = nvtx_ranges_open(open, max);
	size_t used = 0;

	line[0] = '\0';
	while (nr > 0) {
		const struct nvtx_text *text = nvtx_names_text(names, open[--nr]);

		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.*s",
					 used ? " " : "", text ? (int)text->size : 1,
					 text ? text->bytes : "?");
	}
	return line;
}

#define OPEN() open_ranges(NVTX_RANGES_DEPTH + 1)

static int set_up(void **state)
{
	struct nvtx_text text;

	(void)state;
	names = nvtx_ranges_on(NVTX_DIGITS_KEEP);
	assert_non_null(names);
	nvtx_text_ascii(&text, "library");
	library = nvtx_names_domain(names, &text);
	memset(trail, 0, sizeof(trail));
	nvtx_ranges_watch(NULL, NULL, NULL);
	return 0;
}

/* Each test leaves nothing open. */
static int tear_down(void **state)
{
	(void)state;
	return *OPEN() != '\0';
}

static void pushed_ranges_are_open_until_they_are_popped(void **state)
{
	(void)state;
	assert_int_equal(push(0, "a"), 0);
	assert_int_equal(push(0, "b"), 1);
	assert_string_equal(OPEN(), "a b");
	assert_int_equal(nvtx_ranges_pop(0), 1);
	assert_string_equal(OPEN(), "a");
	assert_int_equal(nvtx_ranges_pop(0), 0);
	assert_int_equal(nvtx_ranges_pop(0), NVTX_ABI_NO_TRACKING);
	assert_string_equal(OPEN(), "");
}

static void each_domain_has_a_stack_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(push(0, "a"), 0);
	assert_int_equal(push(library, "op"), 0);
	assert_int_equal(push(0, "b"), 1);
	assert_int_equal(push(library, "inner"), 1);
	assert_string_equal(OPEN(), "a op b inner");
	assert_int_equal(nvtx_ranges_pop(0), 1);
	assert_int_equal(nvtx_ranges_pop(library), 1);
	assert_string_equal(OPEN(), "a op");
	nvtx_ranges_pop(0);
	assert_string_equal(OPEN(), "op");
	nvtx_ranges_pop(library);
}

static void ranges_beyond_the_depth_are_one_without_a_name(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NVTX_RANGES_DEPTH + 3; i++)
		push(0, i == 0 ? "outermost" : "x");
	assert_string_equal(OPEN() + strlen(OPEN()) - 3, "x ?");
	for (int i = 0; i < 3; i++)
		nvtx_ranges_pop(0);
	assert_string_equal(OPEN() + strlen(OPEN()) - 3, "x x");
	for (uint32_t i = 0; i < NVTX_RANGES_DEPTH - 1; i++)
		nvtx_ranges_pop(0);
	assert_string_equal(OPEN(), "outermost");
	nvtx_ranges_pop(0);
}

static void little_room_keeps_the_outermost(void **state)
{
	(void)state;
	push(0, "a");
	push(0, "b");
	push(0, "c");
	assert_string_equal(open_ranges(3), "a b c");
	assert_string_equal(open_ranges(2), "a ?");
	assert_string_equal(open_ranges(1), "?");
	assert_string_equal(open_ranges(0), "");
	for (int i = 0; i < 3; i++)
		nvtx_ranges_pop(0);
}

static void started_ranges_are_open_until_they_are_ended_in_any_order(void **state)
{
	uint64_t a, b;

	(void)state;
	a = start("a");
	push(0, "pushed");
	b = start("b");
	assert_true(a && b && a != b);
	assert_string_equal(OPEN(), "a pushed b");
	nvtx_ranges_end(a);
	assert_string_equal(OPEN(), "pushed b");
	nvtx_ranges_end(a);
	nvtx_ranges_end(0);
	nvtx_ranges_end(UINT64_MAX);
	assert_string_equal(OPEN(), "pushed b");
	assert_int_equal(nvtx_ranges_pop(0), 0);
	nvtx_ranges_end(b);
}

static void *end_one(void *range)
{
	nvtx_ranges_end(*(uint64_t *)range);
	return (void *)OPEN();
}

static void another_thread_may_end_a_started_range(void **state)
{
	uint64_t a = start("a"), b = start("b");
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, end_one, &a), 0);
	pthread_join(thread, NULL);
	assert_string_equal(OPEN(), "b");
	nvtx_ranges_end(b);
}

static void more_started_ranges_than_there_is_room_for_have_no_id(void **state)
{
	uint64_t ranges[NVTX_RANGES_STARTED];

	(void)state;
	for (uint32_t i = 0; i < NVTX_RANGES_STARTED; i++)
		assert_true((ranges[i] = start("s")) != 0);
	assert_true(start("s") == 0);
	for (uint32_t i = 0; i < NVTX_RANGES_STARTED; i++)
		nvtx_ranges_end(ranges[i]);
	assert_string_equal(OPEN(), "");
}

static void *leave_open(void *none)
{
	push(0, "left open");
	push(0, "watched");
	assert_string_equal(OPEN(), "left open watched");
	return none;
}

static void saw_open(void)
{
	strcat(trail, "o");
}

static void saw_close(void)
{
	strcat(trail, "c");
}

static void threads_have_their_own_ranges(void **state)
{
	pthread_t thread;

	(void)state;
	push(0, "main");
	assert_int_equal(pthread_create(&thread, NULL, leave_open, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(OPEN(), "main");
	nvtx_ranges_pop(0);
}

static void watch_sees_the_first_open_and_the_last_close(void **state)
{
	(void)state;
	nvtx_ranges_watch("watched", saw_open, saw_close);
	push(0, "other");
	assert_string_equal(trail, "");
	push(0, "watched");
	push(0, "watched");
	push(library, "watched");
	assert_string_equal(trail, "o");
	nvtx_ranges_pop(0);
	assert_string_equal(trail, "o");
	nvtx_ranges_pop(0);
	assert_string_equal(trail, "oc");
	nvtx_ranges_pop(library);
	nvtx_ranges_pop(0);
	nvtx_ranges_end(start("watched"));
	assert_string_equal(trail, "ococ");
}

static void watch_of_a_domain_wants_its_name(void **state)
{
	(void)state;
	nvtx_ranges_watch("library:op", saw_open, saw_close);
	push(0, "op");
	push(0, "library:op");
	nvtx_ranges_pop(0);
	nvtx_ranges_pop(0);
	assert_string_equal(trail, "oc");
	push(library, "op");
	nvtx_ranges_pop(library);
	assert_string_equal(trail, "ococ");
	push(library, "o");
	push(library, "opp");
	nvtx_ranges_pop(library);
	nvtx_ranges_pop(library);
	assert_string_equal(trail, "ococ");
}

static void watched_range_closes_with_its_thread(void **state)
{
	pthread_t thread;

	(void)state;
	nvtx_ranges_watch("watched", saw_open, saw_close);
	assert_int_equal(pthread_create(&thread, NULL, leave_open, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(trail, "oc");
}

static void step_of(const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	nvtx_ranges_step(&text);
}

static void step(void)
{
	step_of("step");
}

static void a_step_ends_the_one_before_and_no_range_inside(void **state)
{
	(void)state;
	nvtx_ranges_step_end(); /* of nothing */
	push(0, "epoch");
	step();
	push(0, "forward");
	assert_string_equal(OPEN(), "epoch step forward");
	step();
	assert_string_equal(OPEN(), "epoch forward step");
	assert_int_equal(nvtx_ranges_pop(0), 1);
	assert_int_equal(nvtx_ranges_pop(0), 0);
	assert_string_equal(OPEN(), "step");
	assert_int_equal(nvtx_ranges_pop(0), NVTX_ABI_NO_TRACKING);
	nvtx_ranges_step_end();
	nvtx_ranges_step_end();
}

static void a_step_without_room_is_not_remembered(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NVTX_RANGES_DEPTH; i++)
		push(0, "x");
	step();
	nvtx_ranges_step_end();
	nvtx_ranges_pop(0);
	step();
	push(0, "beyond");
	step(); /* the step before is over, and ranges beyond the room are open */
	assert_null(strstr(OPEN(), "step"));
	for (uint32_t i = 0; i < NVTX_RANGES_DEPTH; i++)
		nvtx_ranges_pop(0);
}

static void *leave_step_open(void *nothing)
{
	step();
	return nothing;
}

static void watch_sees_each_step(void **state)
{
	pthread_t thread;

	(void)state;
	nvtx_ranges_watch("step", saw_open, saw_close);
	step();
	assert_string_equal(trail, "o");
	step();
	assert_string_equal(trail, "oco");
	nvtx_ranges_step_end();
	assert_string_equal(trail, "ococ");
	assert_int_equal(pthread_create(&thread, NULL, leave_step_open, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(trail, "ocococ");
}

static uint32_t nr_told;

static void count_change(void)
{
	nr_told++;
}

/* The caller of a step knows of it. */
static void changes_but_steps_are_told(void **state)
{
	struct nvtx_text text;

	(void)state;
	nr_told = 0;
	nvtx_ranges_tell(count_change);
	nvtx_text_ascii(&text, "told");
	nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
	assert_int_equal(nr_told, 1);
	step();
	assert_int_equal(nr_told, 1);
	nvtx_ranges_step_end();
	assert_int_equal(nr_told, 1);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
	assert_int_equal(nr_told, 2);
	nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT); /* of nothing */
	assert_int_equal(nr_told, 2);
	nvtx_text_ascii(&text, "started");
	const uint64_t range_id = nvtx_ranges_start(NVTX_DOMAIN_DEFAULT, &text);
	assert_int_equal(nr_told, 3);
	nvtx_ranges_end(range_id);
	assert_int_equal(nr_told, 4);
	nvtx_ranges_tell(NULL);
}

static uint8_t wanted_token; /* for the range "wanted" */

static uint8_t take(void *context, uint32_t name)
{
	char text[NVTX_RANGES_TEXT];

	nvtx_ranges_text(name, text);
	strcat(context, text);
	strcat(context, " ");
	return strstr(text, "wanted") ? wanted_token : 0;
}

static void end_of_accepted(uint8_t token, bool with_thread)
{
	snprintf(trail + strlen(trail), sizeof(trail) - strlen(trail), "%u%s ", token,
		 with_thread ? "t" : "");
}

static const char *offer(void)
{
	static char offered[256];

	offered[0] = '\0';
	nvtx_ranges_offer(take, offered);
	return offered;
}

static void each_range_is_offered_once_and_an_accepted_one_has_its_end_told(void **state)
{
	(void)state;
	nvtx_ranges_tell_ends(end_of_accepted);
	assert_string_equal(offer(), "");
	push(0, "outer");
	push(library, "wanted");
	push(0, "wanted"); /* within an accepted one */
	wanted_token = 7;
	assert_string_equal(offer(), "outer library:wanted ");
	assert_string_equal(offer(), "");
	nvtx_ranges_pop(0);
	assert_string_equal(trail, "");
	push(0, "wanted");
	wanted_token = 8;
	assert_string_equal(offer(), "wanted ");
	nvtx_ranges_pop(library);
	assert_string_equal(trail, "7 ");
	nvtx_ranges_pop(0);
	nvtx_ranges_pop(0);
	assert_string_equal(trail, "7 8 ");
	step_of("wanted");
	assert_string_equal(offer(), "wanted ");
	step_of("wanted");
	assert_string_equal(trail, "7 8 8 ");
	nvtx_ranges_step_end(); /* it was not offered */
	assert_string_equal(trail, "7 8 8 ");
}

static void *leave_range_open(void *unused)
{
	(void)unused;
	push(0, "wanted");
	return strcmp(offer(), "wanted ") == 0 ? names : NULL;
}

static void an_accepted_range_ends_with_its_thread_or_elsewhere(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	nvtx_ranges_tell_ends(end_of_accepted);
	wanted_token = 9;
	assert_int_equal(pthread_create(&thread, NULL, leave_range_open, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, names);
	assert_string_equal(trail, "9t ");
	uint64_t range = start("wanted");
	assert_string_equal(offer(), "wanted ");
	assert_int_equal(pthread_create(&thread, NULL, end_one, &range), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_string_equal(trail, "9t ");
	assert_string_equal(OPEN(), ""); /* as a launch looks */
	assert_string_equal(trail, "9t 9 ");
}

static void after_off_nothing_is_remembered(void **state)
{
	(void)state;
	nvtx_ranges_off();
	assert_int_equal(push(0, "a"), NVTX_ABI_NO_TRACKING);
	assert_int_equal(nvtx_ranges_pop(0), NVTX_ABI_NO_TRACKING);
	assert_true(start("a") == 0);
	step();
	nvtx_ranges_step_end();
	assert_string_equal(OPEN(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pushed_ranges_are_open_until_they_are_popped),
		TEST(each_domain_has_a_stack_of_its_own),
		TEST(ranges_beyond_the_depth_are_one_without_a_name),
		TEST(little_room_keeps_the_outermost),
		TEST(started_ranges_are_open_until_they_are_ended_in_any_order),
		TEST(another_thread_may_end_a_started_range),
		TEST(more_started_ranges_than_there_is_room_for_have_no_id),
		TEST(threads_have_their_own_ranges),
		TEST(watch_sees_the_first_open_and_the_last_close),
		TEST(watch_of_a_domain_wants_its_name),
		TEST(watched_range_closes_with_its_thread),
		TEST(a_step_ends_the_one_before_and_no_range_inside),
		TEST(a_step_without_room_is_not_remembered),
		TEST(watch_sees_each_step),
		TEST(changes_but_steps_are_told),
		TEST(each_range_is_offered_once_and_an_accepted_one_has_its_end_told),
		TEST(an_accepted_range_ends_with_its_thread_or_elsewhere),
		TEST(after_off_nothing_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

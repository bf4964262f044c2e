#include "inject/launch/outstanding_launches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/cupti/context_count.h"
#include "inject/launch/window_word.h"

static int set_up(void **state)
{
	(void)state;
	atomic_store(&window_word, 0);
	outstanding_launches_reset();
	return 0;
}

static void a_launch_is_outstanding_until_its_record(void **state)
{
	(void)state;
	outstanding_launches_begin(7, false);
	outstanding_launches_begin(8, false);
	assert_int_equal(outstanding_launches_count(), 2);
	assert_true(outstanding_launches_is_pending(7));
	assert_true(outstanding_launches_record(7));
	assert_false(outstanding_launches_is_pending(7));
	assert_int_equal(outstanding_launches_count(), 1);
	outstanding_launches_cancel(8);
	assert_int_equal(outstanding_launches_count(), 0);
}

static void what_began_after_the_end_or_unseen_is_not_wanted(void **state)
{
	(void)state;
	outstanding_launches_begin(100, false);
	outstanding_launches_begin(101, true);
	assert_true(outstanding_launches_record(100));
	assert_false(outstanding_launches_record(101));
	assert_false(outstanding_launches_record(99));
	assert_int_equal(outstanding_launches_count(), 0);
}

static void what_a_window_launched_before_it_was_tracked_is_wanted(void **state)
{
	(void)state;
	outstanding_launches_begin_late();
	outstanding_launches_begin(101, true);
	assert_true(outstanding_launches_record(99));
	assert_false(outstanding_launches_record(101));
	outstanding_launches_reset();
	assert_false(outstanding_launches_record(99));
}

static void ids_may_wrap(void **state)
{
	(void)state;
	outstanding_launches_begin(UINT32_MAX, false);
	outstanding_launches_begin(1, false);
	assert_true(outstanding_launches_record(UINT32_MAX));
	assert_true(outstanding_launches_record(1));
	assert_false(outstanding_launches_record(UINT32_MAX - 1));
}

static void a_graph_ends_with_its_stream(void **state)
{
	int stream = 0, other = 0;

	(void)state;
	outstanding_launches_begin_many(5, false, &stream, 1000);
	assert_true(outstanding_launches_record(5));
	assert_int_equal(outstanding_launches_count(), 1);
	outstanding_launches_stream_waited(&other, 2000);
	outstanding_launches_stream_waited(&stream, 999); /* began to wait before the launch */
	assert_int_equal(outstanding_launches_count(), 1);
	outstanding_launches_stream_waited(&stream, 2000);
	assert_int_equal(outstanding_launches_count(), 0);
}

static void more_graphs_than_are_followed_end_with_the_context(void **state)
{
	int stream = 0;

	(void)state;
	for (uint32_t id = 1; id <= 300; id++)
		outstanding_launches_begin_many(id, false, &stream, 1000);
	outstanding_launches_stream_waited(&stream, 2000);
	assert_true(outstanding_launches_count() > 0);
	outstanding_launches_context_waited(2000, 3000);
	assert_true(outstanding_launches_count() > 0); /* it may have been launched meanwhile */
	outstanding_launches_context_waited(4000, 5000);
	assert_int_equal(outstanding_launches_count(), 0);
}

static void what_is_not_known_is_over_when_all_of_the_context_was_waited_for_since(void **state)
{
	static int stream;

	(void)state;
	outstanding_launches_begin_unknown(1000);
	assert_true(outstanding_launches_has_unknown());
	outstanding_launches_stream_waited(&stream, 2000);
	assert_int_equal(outstanding_launches_count(), 1);
	outstanding_launches_context_waited(900, 1100); /* began before */
	assert_true(outstanding_launches_has_unknown());
	outstanding_launches_context_waited(1200, 1300);
	assert_false(outstanding_launches_has_unknown());
	assert_int_equal(outstanding_launches_count(), 0);
}

static void waiting_twice_for_the_context_clears_what_never_comes(void **state)
{
	(void)state;
	outstanding_launches_begin(9, false);
	outstanding_launches_begin_unknown(150);
	outstanding_launches_context_waited(100, 200);
	assert_int_equal(outstanding_launches_count(), 2);
	outstanding_launches_begin(10, false);         /* since then */
	outstanding_launches_context_waited(150, 300); /* began before the mark */
	assert_int_equal(outstanding_launches_count(), 3);
	outstanding_launches_context_waited(400, 500);
	assert_int_equal(outstanding_launches_count(), 0);
	outstanding_launches_begin(11, false);
	outstanding_launches_context_waited(600, 700);
	assert_int_equal(outstanding_launches_count(), 1);
}

static void what_is_outstanding_twice_lasts(void **state)
{
	(void)state;
	outstanding_launches_begin(3, false);
	assert_false(outstanding_launches_last());
	outstanding_launches_record(3);
	outstanding_launches_begin(4, false);
	assert_false(outstanding_launches_last());
	assert_true(outstanding_launches_last());
	outstanding_launches_record(4);
	assert_false(outstanding_launches_last());
	outstanding_launches_begin_unknown(1000);
	assert_false(outstanding_launches_last());
	assert_false(outstanding_launches_last());
}

/* Where windows are not wanted no launch is tracked. */
static void every_record_is_wanted_while_the_word_is_plain(void **state)
{
	(void)state;
	assert_true(outstanding_launches_wants(7, 1));
	outstanding_launches_begin(7, false);
	outstanding_launches_captured(7);
	assert_int_equal(outstanding_launches_count(), 1);
}

static void records_of_tracked_launches_alone_are_wanted(void **state)
{
	(void)state;
	atomic_store(&window_word, WINDOW_WORD_TRACK);
	assert_false(outstanding_launches_wants(7, 1));
	outstanding_launches_begin(7, false);
	assert_true(outstanding_launches_wants(7, 1));
	outstanding_launches_begin(8, true);
	assert_false(outstanding_launches_wants(8, 1));
	assert_false(context_count_has_several());
	outstanding_launches_begin(9, false);
	outstanding_launches_captured(9);
	assert_int_equal(outstanding_launches_count(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(a_launch_is_outstanding_until_its_record),
		TEST(what_began_after_the_end_or_unseen_is_not_wanted),
		TEST(what_a_window_launched_before_it_was_tracked_is_wanted),
		TEST(ids_may_wrap),
		TEST(a_graph_ends_with_its_stream),
		TEST(more_graphs_than_are_followed_end_with_the_context),
		TEST(what_is_not_known_is_over_when_all_of_the_context_was_waited_for_since),
		TEST(waiting_twice_for_the_context_clears_what_never_comes),
		TEST(what_is_outstanding_twice_lasts),
		TEST(every_record_is_wanted_while_the_word_is_plain),
		TEST(records_of_tracked_launches_alone_are_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

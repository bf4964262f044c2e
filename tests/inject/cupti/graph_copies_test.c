#include "inject/cupti/graph_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto/record.h"

static int set_up(void **state)
{
	*state = graph_copies_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	graph_copies_destroy(*state);
	return 0;
}

/* Handles are never followed. */
static void *handle(uintptr_t number)
{
	return (void *)(number << 4);
}

static void what_was_copied_since_the_graph_was_created_is_its_own(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	graph_copies_add(copies, handle(10), 5);
	graph_copies_begin(copies, 1, handle(2));
	graph_copies_add(copies, handle(11), 6);
	graph_copies_begin(copies, 1, handle(3)); /* a child's */
	graph_copies_add(copies, handle(12), 7);
	assert_false(graph_copies_is_settled(copies));
	assert_null(graph_copies_of(copies, handle(2), &count));
	graph_copies_settle(copies, handle(2));
	assert_true(graph_copies_is_settled(copies));
	const struct graph_copy *found = graph_copies_of(copies, handle(2), &count);
	assert_int_equal(count, 3);
	assert_ptr_equal(found[0].node, handle(11));
	assert_int_equal(found[0].node_id, 0);
	assert_int_equal(found[0].stack_id, 6);
	assert_int_equal(found[1].node_id, GRAPH_COPY_NONE);
	assert_ptr_equal(found[2].node, handle(12));
	assert_null(graph_copies_of(copies, handle(3), &count));
	assert_int_equal(count, 0);
}

static void a_graph_of_which_nothing_is_known_has_no_copies(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	graph_copies_add(copies, handle(10), 5);
	graph_copies_settle(copies, handle(9));
	assert_false(graph_copies_is_settled(copies));
	assert_null(graph_copies_of(copies, handle(1), &count));
	graph_copies_settle(copies, NULL);
	assert_null(graph_copies_of(copies, NULL, &count));
}

static void what_goes_while_the_graph_is_put_together_keeps_its_last_id(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	for (uint32_t i = 0; i < 4; i++)
		graph_copies_add(copies, handle(10 + i), i + 1);
	graph_copies_settle(copies, handle(1));
	graph_copies_remove(copies, handle(12), 102);
	graph_copies_remove(copies, handle(10), 100);
	graph_copies_remove(copies, handle(99), 199);
	graph_copies_add(copies, handle(20), 9); /* too late */
	const struct graph_copy *found = graph_copies_of(copies, handle(1), &count);
	assert_int_equal(count, 4);
	assert_null(found[0].node);
	assert_int_equal(found[0].node_id, 100);
	assert_int_equal(found[0].stack_id, 1);
	assert_ptr_equal(found[1].node, handle(11));
	assert_null(found[2].node);
	assert_int_equal(found[2].node_id, 102);
}

static void copies_into_no_executable_graph_are_dropped_when_a_node_goes(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	graph_copies_add(copies, handle(10), 5);
	graph_copies_remove(copies, handle(77), 7);
	graph_copies_settle(copies, handle(1));
	assert_null(graph_copies_of(copies, handle(1), &count));
}

static void nothing_is_kept_beyond_a_window_or_an_executable_graph(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	graph_copies_add(copies, handle(10), 5);
	graph_copies_begin(copies, 2, handle(2));
	graph_copies_settle(copies, handle(1));
	assert_null(graph_copies_of(copies, handle(1), &count));

	/* One that failed after it was settled. */
	graph_copies_begin(copies, 2, handle(3));
	graph_copies_add(copies, handle(11), 6);
	graph_copies_settle(copies, handle(3));
	graph_copies_begin(copies, 2, handle(4));
	assert_null(graph_copies_of(copies, handle(3), &count));
	graph_copies_settle(copies, handle(4));
	assert_non_null(graph_copies_of(copies, handle(4), &count));
	assert_int_equal(count, 0);
}

static void what_finds_no_room_is_not_kept(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t count;

	graph_copies_begin(copies, 1, handle(1));
	for (uint32_t i = 0; i < GRAPH_COPIES_MAX + 10; i++)
		graph_copies_add(copies, handle(10 + i), 5);
	graph_copies_settle(copies, handle(1));
	const struct graph_copy *found = graph_copies_of(copies, handle(1), &count);
	assert_int_equal(count, GRAPH_COPIES_MAX - 1);
	assert_ptr_equal(found[count - 1].node, handle(10 + count - 1));
	graph_copies_clear(copies);
	assert_null(graph_copies_of(copies, handle(1), &count));
	graph_copies_begin(copies, 1, handle(2));
	graph_copies_add(copies, handle(10), 5);
	graph_copies_settle(copies, handle(2));
	assert_non_null(graph_copies_of(copies, handle(2), &count));
	assert_int_equal(count, 1);
}

static void what_a_new_node_displaced_is_told_once_and_of_the_last_alone(void **state)
{
	struct graph_copies *copies = *state;
	uint32_t displaced = 1;

	graph_copies_note(copies, handle(10), 100, 5);
	graph_copies_note(copies, handle(11), 101, 6);
	assert_int_equal(graph_copies_noted(copies, handle(11), &displaced), 101);
	assert_int_equal(displaced, 6);
	assert_int_equal(graph_copies_noted(copies, handle(11), &displaced), 0);
	assert_int_equal(displaced, RECORD_STACK_NONE);
	graph_copies_note(copies, handle(10), 100, 5);
	assert_int_equal(graph_copies_noted(copies, handle(11), &displaced), 0);
	assert_int_equal(graph_copies_noted(copies, handle(10), &displaced), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_was_copied_since_the_graph_was_created_is_its_own),
		TEST(a_graph_of_which_nothing_is_known_has_no_copies),
		TEST(what_goes_while_the_graph_is_put_together_keeps_its_last_id),
		TEST(copies_into_no_executable_graph_are_dropped_when_a_node_goes),
		TEST(nothing_is_kept_beyond_a_window_or_an_executable_graph),
		TEST(what_finds_no_room_is_not_kept),
		TEST(what_a_new_node_displaced_is_told_once_and_of_the_last_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

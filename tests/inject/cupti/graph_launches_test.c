#include "inject/cupti/graph_launches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define STACK 7u
#define TID   11u

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct graph_launches));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void a_graph_that_is_always_launched_alike_has_its_latest_launch(void **state)
{
	struct graph_launches *launches = *state;

	assert_int_equal(graph_launches_get(launches, 3), 0);
	graph_launches_put(launches, 3, 100, STACK, TID);
	graph_launches_put(launches, 4, 101, STACK + 1, TID);
	assert_int_equal(graph_launches_get(launches, 3), 100);
	graph_launches_put(launches, 3, 102, STACK, TID);
	assert_int_equal(graph_launches_get(launches, 3), 102);
	assert_int_equal(graph_launches_get(launches, 4), 101);
	assert_int_equal(graph_launches_get(launches, 3 + GRAPH_LAUNCHES_SETS), 0);
}

static void one_that_was_launched_otherwise_once_has_none_any_more(void **state)
{
	struct graph_launches *launches = *state;

	graph_launches_put(launches, 3, 100, STACK, TID);
	graph_launches_put(launches, 3, 101, STACK + 1, TID);
	assert_int_equal(graph_launches_get(launches, 3), 0);
	graph_launches_put(launches, 3, 102, STACK, TID);
	assert_int_equal(graph_launches_get(launches, 3), 0);

	graph_launches_put(launches, 4, 103, STACK, TID);
	graph_launches_put(launches, 4, 104, STACK, TID + 1);
	assert_int_equal(graph_launches_get(launches, 4), 0);
}

static void one_that_was_launched_in_an_unknown_way_has_none(void **state)
{
	struct graph_launches *launches = *state;

	graph_launches_spoil(launches, 3);
	graph_launches_put(launches, 3, 100, STACK, TID);
	assert_int_equal(graph_launches_get(launches, 3), 0);
	graph_launches_put(launches, 4, 101, STACK, TID);
	graph_launches_spoil(launches, 4);
	assert_int_equal(graph_launches_get(launches, 4), 0);
}

static void a_destroyed_graph_keeps_its_launch_until_another_needs_the_place(void **state)
{
	struct graph_launches *launches = *state;
	uint32_t newest = 1 + GRAPH_LAUNCHES_WAYS * GRAPH_LAUNCHES_SETS;

	for (uint32_t i = 0; i < GRAPH_LAUNCHES_WAYS; i++)
		graph_launches_put(launches, 1 + i * GRAPH_LAUNCHES_SETS, 100 + i, STACK, TID);
	graph_launches_end(launches, 1);
	graph_launches_end(launches, 9999);
	assert_int_equal(graph_launches_get(launches, 1), 100);
	graph_launches_put(launches, newest, 200, STACK, TID);
	assert_int_equal(graph_launches_get(launches, newest), 200);
	assert_int_equal(graph_launches_get(launches, 1), 0);
	assert_int_equal(graph_launches_get(launches, 1 + GRAPH_LAUNCHES_SETS), 101);
}

static void a_graph_whose_first_launch_found_no_room_never_has_one(void **state)
{
	struct graph_launches *launches = *state;
	uint32_t refused = 1 + GRAPH_LAUNCHES_WAYS * GRAPH_LAUNCHES_SETS;

	for (uint32_t i = 0; i < GRAPH_LAUNCHES_WAYS; i++)
		graph_launches_put(launches, 1 + i * GRAPH_LAUNCHES_SETS, 100 + i, STACK, TID);
	graph_launches_put(launches, refused, 200, STACK, TID);
	graph_launches_end(launches, 1);
	graph_launches_put(launches, refused, 201, STACK + 1, TID);
	assert_int_equal(graph_launches_get(launches, refused), 0);
	assert_int_equal(graph_launches_get(launches, 1), 100);
	graph_launches_put(launches, refused + GRAPH_LAUNCHES_SETS, 202, STACK, TID);
	assert_int_equal(graph_launches_get(launches, refused + GRAPH_LAUNCHES_SETS), 202);
}

static void no_graph_has_no_launch(void **state)
{
	struct graph_launches *launches = *state;

	graph_launches_put(launches, 0, 100, STACK, TID);
	graph_launches_spoil(launches, 0);
	graph_launches_end(launches, 0);
	assert_int_equal(graph_launches_get(launches, 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_graph_that_is_always_launched_alike_has_its_latest_launch),
		TEST(one_that_was_launched_otherwise_once_has_none_any_more),
		TEST(one_that_was_launched_in_an_unknown_way_has_none),
		TEST(a_destroyed_graph_keeps_its_launch_until_another_needs_the_place),
		TEST(a_graph_whose_first_launch_found_no_room_never_has_one),
		TEST(no_graph_has_no_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "inject/cupti/graph_nodes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto/record.h"

#define THREADS 4u
#define GRAPH   256u /* nodes of one graph */
#define ROUNDS  2000u

static struct graph_nodes *nodes;

static int set_up(void **state)
{
	(void)state;
	nodes = graph_nodes_create();
	return nodes ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	graph_nodes_destroy(nodes);
	return 0;
}

static uint64_t node(uint64_t graph, uint64_t index)
{
	return graph << 32 | index;
}

static void a_node_has_the_stack_that_it_was_given_last(void **state)
{
	(void)state;
	assert_int_equal(graph_nodes_get(nodes, node(1, 0)), RECORD_STACK_NONE);
	graph_nodes_put(nodes, node(1, 0), 7);
	graph_nodes_put(nodes, node(1, 1), 8);
	assert_int_equal(graph_nodes_get(nodes, node(1, 0)), 7);
	assert_int_equal(graph_nodes_get(nodes, node(1, 1)), 8);
	graph_nodes_put(nodes, node(1, 0), 9);
	assert_int_equal(graph_nodes_get(nodes, node(1, 0)), 9);
	graph_nodes_put(nodes, node(1, 0), RECORD_STACK_NONE);
	assert_int_equal(graph_nodes_get(nodes, node(1, 0)), RECORD_STACK_NONE);
}

static void ids_that_no_node_has_are_not_entered(void **state)
{
	(void)state;
	graph_nodes_put(nodes, 0, 5);
	graph_nodes_put(nodes, 1, 5);
	assert_int_equal(graph_nodes_get(nodes, 0), RECORD_STACK_NONE);
	assert_int_equal(graph_nodes_get(nodes, 1), RECORD_STACK_NONE);
}

static void a_quarter_of_the_table_is_remembered_whole(void **state)
{
	uint32_t lost = 0;

	(void)state;
	for (uint32_t i = 0; i < GRAPH_NODES_MAX / 4; i++)
		graph_nodes_put(nodes, node(1 + i / GRAPH, i % GRAPH), i + 1);
	for (uint32_t i = 0; i < GRAPH_NODES_MAX / 4; i++)
		lost += graph_nodes_get(nodes, node(1 + i / GRAPH, i % GRAPH)) != i + 1;
	assert_true(lost < GRAPH_NODES_MAX / 4 / 100);
}

/* A program that instantiates again and again: what it runs is what it made last. */
static void the_newest_nodes_stay_whatever_came_before(void **state)
{
	(void)state;
	for (uint64_t graph = 1; graph <= 4 * GRAPH_NODES_MAX / GRAPH; graph++) {
		for (uint64_t i = 0; i < GRAPH; i++)
			graph_nodes_put(nodes, node(graph, i), (uint32_t)(graph * GRAPH + i));
		if (graph % 64 != 0)
			continue;
		for (uint64_t i = 0; i < GRAPH; i++)
			assert_int_equal(graph_nodes_get(nodes, node(graph, i)), graph * GRAPH + i);
	}
}

static void *race(void *user)
{
	const uint64_t own = 1 + (uint64_t)(uintptr_t)user;
	uintptr_t wrong = 0;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < GRAPH; i++) {
			/* A stack that tells its node. */
			uint64_t graph = own + THREADS * (round % 16);

			graph_nodes_put(nodes, node(graph, i), (uint32_t)(graph * GRAPH + i));
			uint64_t other = 1 + (round * 7 + i) % (16 * THREADS);
			uint32_t stack_id = graph_nodes_get(nodes, node(other, i));

			wrong += stack_id != RECORD_STACK_NONE && stack_id != other * GRAPH + i;
			wrong += graph_nodes_get(nodes, node(graph, i)) != graph * GRAPH + i;
		}
	}
	return (void *)wrong;
}

static void racing_threads_never_see_another_nodes_stack(void **state)
{
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race, (void *)i), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_int_equal((uintptr_t)wrong, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_node_has_the_stack_that_it_was_given_last),
		TEST(ids_that_no_node_has_are_not_entered),
		TEST(a_quarter_of_the_table_is_remembered_whole),
		TEST(the_newest_nodes_stay_whatever_came_before),
		TEST(racing_threads_never_see_another_nodes_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "inject/capture/graph_callback.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/launch/cost_limit.h"
#include "inject/launch/launch_probe.h"
#include "inject/launch/launch_thread.h"
#include "inject/module_watch.h"
#include "tests/inject/test_ring.h"
#include "unwind/unwind_table.h"

#define CU_LAUNCH_KERNEL 307u

#define CU_GRAPH_LAUNCH 514u
#define PARENT          1ul
#define CHILD           2ul
#define EXEC            5ul

/* Nodes of the child are now the executable graph's. */
static bool renumbered;

/* A node's address is its id. */
static int node_id(void *node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	if (renumbered && *id >> 32 == CHILD)
		*id = EXEC << 32 | (10 + (uint32_t)*id);
	return *id == 0xdead ? CUPTI_ABI_NOT_INITIALIZED : CUPTI_ABI_SUCCESS;
}

/* The number that is next, when the node is created. */
static int gap_id(void *node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node - 1;
	return CUPTI_ABI_SUCCESS;
}

/* So is an executable graph's. */
static int exec_id(void *exec, uint32_t *id)
{
	*id = (uint32_t)(uintptr_t)exec;
	return CUPTI_ABI_SUCCESS;
}

static const struct cupti_library library = {.get_graph_node_id = node_id,
					     .get_graph_exec_id = exec_id};

struct fixture {
	struct test_ring ring;
	struct definition_writer writer;
	struct module_watch *watch;
	struct launch_callback launch;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(launch_thread_init(LAUNCH_THREADS_KEPT), 0);
	test_ring_init(&fixture->ring);
	fixture->launch = (struct launch_callback){
		.ring = fixture->ring.guest,
		.capture = {.ring = fixture->ring.guest,
			    .stacks = stack_table_create(fixture->ring.guest),
			    .tables = unwind_tables_create(UNWIND_BYTES_MAX),
			    .python = python_frames_create(fixture->ring.guest),
			    .options = STACK_OPTIONS_DEFAULT},
		.nodes = graph_nodes_create(),
		.window = 1,
	};
	fixture->writer = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->watch = module_watch_create(&fixture->writer, fixture->launch.capture.tables);
	module_watch_poll(fixture->watch, true);
	unwind_tables_build(fixture->launch.capture.tables, UNWIND_BUILD_ALL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	module_watch_destroy(fixture->watch);
	graph_nodes_destroy(fixture->launch.nodes);
	renumbered = false;
	python_frames_destroy(fixture->launch.capture.python);
	unwind_tables_destroy(fixture->launch.capture.tables);
	stack_table_destroy(fixture->launch.capture.stacks);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static void created(struct fixture *fixture, uintptr_t id)
{
	const struct cupti_graph_data data = {.node = (void *)id};

	graph_callback_created(&fixture->launch, &library, &data);
}

static void copied(struct fixture *fixture, uintptr_t id, uintptr_t original_id)
{
	const struct cupti_graph_data data = {.node = (void *)id,
					      .original_node = (void *)original_id};

	graph_callback_copied(&fixture->launch, &library, &data);
}

static uint32_t stack_of(struct fixture *fixture, uint64_t id)
{
	return graph_nodes_get(fixture->launch.nodes, id);
}

struct call {
	struct fixture *fixture;
	void (*body)(struct fixture *fixture);
};

static void *run(void *user)
{
	struct call *call = user;

	call->body(call->fixture);
	return NULL;
}

/* On a thread of its own, whose state and lane are new. */
static void on_a_thread(struct fixture *fixture, void (*body)(struct fixture *fixture))
{
	struct call call = {fixture, body};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, &call), 0);
	pthread_join(thread, NULL);
}

static void capture_in_a_launch(struct fixture *fixture)
{
	const int result = 0;
	struct cupti_callback_data data = {.correlation_id = 9, .return_value = &result};

	launch_callback_enter(&fixture->launch, CU_LAUNCH_KERNEL, &data);
	created(fixture, 1ul << 32);
	created(fixture, (1ul << 32) + 1);
	data.site = CUPTI_ABI_API_EXIT;
	launch_callback_exit(&fixture->launch, CU_LAUNCH_KERNEL, &data);
	created(fixture, (1ul << 32) + 2);
	created(fixture, 0xdead);
}

static void a_captured_launchs_stack_is_its_nodes_and_an_added_node_has_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	on_a_thread(fixture, capture_in_a_launch);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 1);
	assert_int_not_equal(records[0].stack_id, RECORD_STACK_NONE);
	assert_int_equal(stack_of(fixture, 1ul << 32), records[0].stack_id);
	assert_int_equal(stack_of(fixture, (1ul << 32) + 1), records[0].stack_id);
	assert_int_not_equal(stack_of(fixture, (1ul << 32) + 2), RECORD_STACK_NONE);
	assert_int_not_equal(stack_of(fixture, (1ul << 32) + 2), records[0].stack_id);
	assert_int_equal(stack_of(fixture, 0xdead), RECORD_STACK_NONE);
}

static void capture_in_a_watched_launch(struct fixture *fixture)
{
	launch_probe_semaphore++;
	capture_in_a_launch(fixture);
	launch_probe_semaphore--;
}

/* The kernel's stack is the launch's alone. */
static void a_captured_launch_that_the_agent_watches_is_walked_for_its_nodes(void **state)
{
	struct fixture *fixture = *state;
	struct launch_record records[4];

	record_ring_probe(fixture->ring.agent, true);
	on_a_thread(fixture, capture_in_a_watched_launch);
	assert_int_equal(test_ring_launches(&fixture->ring, 0, records, 4), 1);
	assert_int_equal(records[0].stack_id, RECORD_STACK_PROBE);
	assert_int_not_equal(stack_of(fixture, 1ul << 32), RECORD_STACK_NONE);
	assert_int_not_equal(stack_of(fixture, 1ul << 32), RECORD_STACK_PROBE);
	assert_int_equal(stack_of(fixture, (1ul << 32) + 1), stack_of(fixture, 1ul << 32));
}

static void add_a_node(struct fixture *fixture)
{
	created(fixture, 1ul << 32);
}

/* A thread without a lane has nowhere to count it. */
static void added_nodes_take_no_stack_while_launches_cost_too_much(void **state)
{
	struct fixture *fixture = *state;

	cost_limit_set(COST_LEVEL_NONE);
	on_a_thread(fixture, add_a_node);
	assert_int_equal(stack_of(fixture, 1ul << 32), RECORD_STACK_NONE);
	while (record_ring_claim_lane(fixture->ring.guest) >= 0)
		;
	on_a_thread(fixture, add_a_node);
	cost_limit_set(COST_LEVEL_WHOLE);
	assert_int_equal(stack_of(fixture, 1ul << 32), RECORD_STACK_NONE);
	assert_int_equal(
		test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_LESS_NONE).count, 1);
}

static void copies_have_the_stack_of_their_original(void **state)
{
	struct fixture *fixture = *state;

	graph_nodes_put(fixture->launch.nodes, 1ul << 32, 7);
	copied(fixture, 2ul << 32, 1ul << 32);
	copied(fixture, 3ul << 32, 2ul << 32);
	assert_int_equal(stack_of(fixture, 2ul << 32), 7);
	assert_int_equal(stack_of(fixture, 3ul << 32), 7);
	copied(fixture, 3ul << 32, 3ul << 32); /* nothing to itself */
	assert_int_equal(stack_of(fixture, 3ul << 32), 7);
}

static void an_updated_node_has_the_stack_of_what_it_was_given(void **state)
{
	struct fixture *fixture = *state;
	const uintptr_t executable = 2ul << 32, given = 11ul << 32;
	const struct cupti_graph_data data = {.node = (void *)given,
					      .original_node = (void *)executable};

	graph_nodes_put(fixture->launch.nodes, executable, 7);
	graph_nodes_put(fixture->launch.nodes, given, 8);
	graph_callback_updated(&fixture->launch, &library, &data);
	assert_int_equal(stack_of(fixture, executable), 8);
	assert_int_equal(stack_of(fixture, given), 8);
}

static void a_copy_of_what_is_not_known_is_not_known(void **state)
{
	struct fixture *fixture = *state;

	graph_nodes_put(fixture->launch.nodes, 2ul << 32,
			7); /* by its creation, at instantiation */
	copied(fixture, 2ul << 32, 1ul << 32);
	assert_int_equal(stack_of(fixture, 2ul << 32), RECORD_STACK_NONE);
	copied(fixture, 0, 1ul << 32);
	copied(fixture, 5ul << 32, 0);
	assert_int_equal(stack_of(fixture, 5ul << 32), RECORD_STACK_NONE);
}

static void changed(struct fixture *fixture, uint32_t cbid, uintptr_t graph, uintptr_t node,
		    uintptr_t exec)
{
	const struct cupti_graph_data data = {
		.graph = (void *)graph, .node = (void *)node, .graph_exec = (void *)exec};

	graph_callback_changed(&fixture->launch, &library, cbid, &data);
}

/* As CUPTI tells of it: the copies first, those of the child under its own number. */
static void instantiate(struct fixture *fixture)
{
	changed(fixture, CUPTI_ABI_RESOURCE_GRAPH_CREATED, EXEC, 0, 0);
	created(fixture, EXEC << 32);
	copied(fixture, EXEC << 32, PARENT << 32);
	changed(fixture, CUPTI_ABI_RESOURCE_GRAPH_CREATED, CHILD, 0, 0);
	created(fixture, CHILD << 32);
	copied(fixture, CHILD << 32, (PARENT << 32) + 1);
	created(fixture, (CHILD << 32) + 1);
	copied(fixture, (CHILD << 32) + 1, (PARENT << 32) + 2);
	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_STARTING, 0, 0, EXEC);
	renumbered = true;
	/* The last gives way to another, which takes its number. */
	created(fixture, (EXEC << 32) + 12);
	changed(fixture, CUPTI_ABI_RESOURCE_NODE_DESTROYED, EXEC, (CHILD << 32) + 1, 0);
	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_CREATED, PARENT, 0, EXEC);
}

static void copies_have_their_stack_under_the_ids_of_the_executable_graph(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 3; i++)
		graph_nodes_put(fixture->launch.nodes, (PARENT << 32) + i, 7 + i);
	on_a_thread(fixture, instantiate);
	assert_int_equal(stack_of(fixture, EXEC << 32), 7);
	assert_int_equal(stack_of(fixture, (EXEC << 32) + 10), 8);
	assert_int_equal(stack_of(fixture, (EXEC << 32) + 11), 9);
}

static void copy_after_a_gap(struct fixture *fixture)
{
	/* Numbers 0 and 2: the second copy is created as 1, and the third as 2. */
	created(fixture, EXEC << 32);
	copied(fixture, EXEC << 32, PARENT << 32);
	graph_nodes_put(fixture->launch.nodes, (EXEC << 32) + 2, 8);
	const struct cupti_graph_data data = {.node = (void *)((EXEC << 32) + 3),
					      .original_node = (void *)((PARENT << 32) + 3)};
	const struct cupti_library first = {.get_graph_node_id = gap_id};

	graph_callback_created(&fixture->launch, &first, &data);
	assert_int_not_equal(stack_of(fixture, (EXEC << 32) + 2), 8);
	graph_callback_copied(&fixture->launch, &library, &data);
}

static void a_copy_leaves_alone_what_had_the_number_of_its_creation(void **state)
{
	struct fixture *fixture = *state;

	graph_nodes_put(fixture->launch.nodes, (PARENT << 32) + 3, 9);
	on_a_thread(fixture, copy_after_a_gap);
	assert_int_equal(stack_of(fixture, (EXEC << 32) + 2), 8);
	assert_int_equal(stack_of(fixture, (EXEC << 32) + 3), 9);
}

static void launch_graph(struct fixture *fixture, uint32_t correlation_id, int result, bool wanted)
{
	const struct cupti_graph_launch params = {.graph_exec = (void *)EXEC};
	struct cupti_callback_data data = {.correlation_id = correlation_id,
					   .return_value = &result,
					   .function_params = &params};

	launch_callback_enter(&fixture->launch, CU_GRAPH_LAUNCH, &data);
	graph_callback_launched(&fixture->launch, &library, &data, wanted);
	data.site = CUPTI_ABI_API_EXIT;
	graph_callback_launched(&fixture->launch, &library, &data, wanted);
	launch_callback_exit(&fixture->launch, CU_GRAPH_LAUNCH, &data);
}

static uint32_t launch_of(struct fixture *fixture)
{
	return graph_nodes_launch(fixture->launch.nodes, (EXEC << 32) + 10);
}

static void launch_alike(struct fixture *fixture)
{
	/* Volatile: unrolled, it would be two places. */
	for (volatile uint32_t id = 20; id < 22; id++)
		launch_graph(fixture, id, 0, true);
}

static void a_graph_launched_from_one_place_is_the_launch_of_its_bodies(void **state)
{
	struct fixture *fixture = *state;

	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_CREATED, PARENT, 0, EXEC);
	on_a_thread(fixture, launch_alike);
	assert_int_equal(launch_of(fixture), 21);
	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_DESTROYED, 0, 0, EXEC);
	assert_int_equal(launch_of(fixture), 21);
	/* The handle means another graph from now on, if any. */
	assert_int_equal(graph_nodes_get_exec(fixture->launch.nodes, (void *)EXEC), 0);
	on_a_thread(fixture, launch_alike);
	assert_int_equal(launch_of(fixture), 0);
}

static void launch_outside(struct fixture *fixture)
{
	launch_graph(fixture, 20, 0, true);
	launch_graph(fixture, 21, 0, false);
}

static void launches_outside_of_the_window_leave_bodies_without_one(void **state)
{
	struct fixture *fixture = *state;

	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_CREATED, PARENT, 0, EXEC);
	on_a_thread(fixture, launch_outside);
	assert_int_equal(launch_of(fixture), 0);
}

static void launch_what_is_none(struct fixture *fixture)
{
	launch_graph(fixture, 20, 1, true);
}

static void a_graph_that_nobody_told_of_has_no_launch(void **state)
{
	struct fixture *fixture = *state;

	on_a_thread(fixture, launch_what_is_none);
	assert_int_equal(launch_of(fixture), 0);
	changed(fixture, CUPTI_ABI_RESOURCE_EXEC_CREATED, PARENT, 0, EXEC);
	on_a_thread(fixture, launch_alike);
	assert_int_equal(launch_of(fixture), 21);
	graph_nodes_clear(fixture->launch.nodes);
	assert_int_equal(launch_of(fixture), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_captured_launchs_stack_is_its_nodes_and_an_added_node_has_its_own),
		TEST(a_captured_launch_that_the_agent_watches_is_walked_for_its_nodes),
		TEST(added_nodes_take_no_stack_while_launches_cost_too_much),
		TEST(copies_have_the_stack_of_their_original),
		TEST(an_updated_node_has_the_stack_of_what_it_was_given),
		TEST(a_copy_of_what_is_not_known_is_not_known),
		TEST(copies_have_their_stack_under_the_ids_of_the_executable_graph),
		TEST(a_copy_leaves_alone_what_had_the_number_of_its_creation),
		TEST(a_graph_launched_from_one_place_is_the_launch_of_its_bodies),
		TEST(launches_outside_of_the_window_leave_bodies_without_one),
		TEST(a_graph_that_nobody_told_of_has_no_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

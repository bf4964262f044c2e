#include "report/model/report_paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

/* main;step;cudaGraphLaunch, as the agent leaves it. */
static uint32_t launch_stack(const char *function)
{
	return report_fixture_push(
		report_fixture_stack("main", function, NULL),
		report_fixture_frame(report_fixture.runtime, 0x1, "cudaGraphLaunch"));
}

static uint32_t capture_stack(const char *function)
{
	return report_fixture_push(
		report_fixture_stack("main", "capture", function, NULL),
		report_fixture_frame(report_fixture.runtime, 0x2, "cudaLaunchKernel"));
}

static void add_node_of_graph(uint32_t launch, uint32_t capture, const char *kernel, uint64_t ns)
{
	struct fold_key key = report_fixture_key(launch, kernel);

	key.capture_stack_id = capture;
	report_fixture_add_row(key, 1, ns, 0);
}

static void the_capture_stands_between_the_launch_and_what_ran(void **state)
{
	(void)state;
	uint32_t launch = launch_stack("step");

	add_node_of_graph(launch, capture_stack("gemm"), "k", 5);
	add_node_of_graph(launch, capture_stack("relu"), "k", 6);
	report_fixture_assert_folded("main;step;cudaGraphLaunch;[captured at];main;capture;gemm;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 5\n"
				     "main;step;cudaGraphLaunch;[captured at];main;capture;relu;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 6\n");
}

static void nodes_without_a_capture_stay_under_the_launch(void **state)
{
	(void)state;
	uint32_t launch = launch_stack("step");

	add_node_of_graph(launch, 0, "k", 5);
	add_node_of_graph(launch, capture_stack("relu"), "k", 6);
	report_fixture_assert_folded("main;step;cudaGraphLaunch;[GPU0_Kernel]k 5\n"
				     "main;step;cudaGraphLaunch;[captured at];main;capture;relu;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 6\n");
}

static void a_capture_without_a_launch_is_under_no_known_stack(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(0, "k");

	key.capture_stack_id = capture_stack("gemm");
	key.matched = 0;
	report_fixture_add_row(key, 1, 5, 0);
	report_fixture_assert_folded("[unknown stack];[captured at];main;capture;gemm;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void a_capture_without_an_api_function_ends_in_the_applications(void **state)
{
	(void)state;
	add_node_of_graph(launch_stack("step"), report_fixture_stack("main", "add_node", NULL), "k",
			  5);
	report_fixture_assert_folded("main;step;cudaGraphLaunch;[captured at];main;add_node;"
				     "[GPU0_Kernel]k 5\n");
}

/* Stubs that were inlined, and a static runtime whose inner function has no name. */
static void the_capture_is_cut_as_the_launch_is(void **state)
{
	(void)state;
	uint32_t launch =
		report_fixture_stack("main", "cudaGraphLaunch", "__cudart1", "cuGraphLaunch", NULL);
	uint32_t inner = report_fixture_stack("main", "f", "cudaLaunchKernel", "", NULL);
	uint32_t inlined = report_fixture_push(
		report_fixture_stack("main", "g\ta.cu:7\n_Z26__device_stub__Z4gemmPfPf", NULL),
		report_fixture_frame(report_fixture.runtime, 0x1, "cudaLaunchKernel"));

	add_node_of_graph(launch, inner, "k", 5);
	add_node_of_graph(launch, inlined, "k", 6);
	report_fixture_assert_folded(
		"main;cudaGraphLaunch;[captured at];main;a.cu:g:7;cudaLaunchKernel;"
		"[GPU0_Kernel]k 6\n"
		"main;cudaGraphLaunch;[captured at];main;f;cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

static void one_capture_is_shown_under_each_of_its_launches(void **state)
{
	(void)state;
	uint32_t capture = capture_stack("gemm");

	add_node_of_graph(launch_stack("train"), capture, "k", 5);
	add_node_of_graph(launch_stack("test"), capture, "k", 6);
	report_fixture_assert_folded("main;test;cudaGraphLaunch;[captured at];main;capture;gemm;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 6\n"
				     "main;train;cudaGraphLaunch;[captured at];main;capture;gemm;"
				     "cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

/* The same stack as a launch's own: nothing of its path is taken over. */
static void a_stack_may_be_a_launchs_and_a_captures(void **state)
{
	(void)state;
	uint32_t both = capture_stack("gemm");

	add_node_of_graph(both, 0, "k", 5);
	add_node_of_graph(launch_stack("step"), both, "k", 6);
	add_node_of_graph(both, both, "k", 7);
	report_fixture_assert_folded(
		"main;capture;gemm;cudaLaunchKernel;[GPU0_Kernel]k 5\n"
		"main;capture;gemm;cudaLaunchKernel;[captured at];main;capture;gemm;"
		"cudaLaunchKernel;[GPU0_Kernel]k 7\n"
		"main;step;cudaGraphLaunch;[captured at];main;capture;gemm;cudaLaunchKernel;"
		"[GPU0_Kernel]k 6\n");
}

static void rows_of_one_capture_share_its_path(void **state)
{
	(void)state;
	uint32_t launch = launch_stack("step"), capture = capture_stack("gemm");

	add_node_of_graph(launch, capture, "a", 5);
	report_fixture_build(DEMANGLE_FULL);
	uint32_t nr_nodes = report_fixture.tree->nr_nodes;
	add_node_of_graph(launch, capture, "b", 6);
	add_node_of_graph(launch, capture, "c", 7);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->nr_nodes, nr_nodes);
	assert_int_equal(report_fixture.tree->nr_leaves, 3);
	for (uint32_t i = 1; i < 3; i++)
		assert_int_equal(report_fixture.tree->leaves[i].node,
				 report_fixture.tree->leaves[0].node);
}

static void without_lines_captures_of_a_function_merge(void **state)
{
	(void)state;
	uint32_t launch = launch_stack("step");

	add_node_of_graph(launch, report_fixture_stack("f\ta.cc:7", NULL), "k", 5);
	add_node_of_graph(launch, report_fixture_stack("f\ta.cc:8", NULL), "k", 6);
	report_fixture_assert_folded(
		"main;step;cudaGraphLaunch;[captured at];a.cc:f:7;[GPU0_Kernel]k 5\n"
		"main;step;cudaGraphLaunch;[captured at];a.cc:f:8;[GPU0_Kernel]k 6\n");
	report_fixture_build_with(&(struct report_options){.lines = REPORT_LINES_OFF});
	report_fixture_assert_folded_with(
		&(struct folded_options){.unit = FOLDED_NS},
		"main;step;cudaGraphLaunch;[captured at];f;[GPU0_Kernel]k 11\n");
	assert_int_equal(report_fixture.tree->nr_leaves, 1);
}

static void dimensions_stand_outwards_of_launch_and_capture(void **state)
{
	(void)state;
	struct folded_options options = {.unit = FOLDED_NS};

	add_node_of_graph(launch_stack("step"), capture_stack("gemm"), "k", 5);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_by_parse("rank,stream", &options.by), 0);
	report_fixture_assert_folded_with(
		&options, "rank3;stream7;main;step;cudaGraphLaunch;[captured at];main;capture;gemm;"
			  "cudaLaunchKernel;[GPU0_Kernel]k 5\n");
}

/* As deep as agents may send them, of frames with as many inlined functions as are shown. */
static uint32_t deepest_stack(const char *symbol, uint64_t offset)
{
	uint32_t frame = report_fixture_frame(report_fixture.program, offset, symbol), node = 0;

	for (uint32_t depth = 0; depth < WIRE_STACK_DEPTH_MAX; depth++)
		node = report_fixture_push(node, frame);
	return node;
}

static void the_deepest_launch_and_capture_fit_a_path(void **state)
{
	(void)state;
	char symbol[64] = "f";
	uint32_t depth = 0;

	for (uint32_t i = 1; i < REPORT_INLINES_MAX; i++)
		strcat(symbol, "\nf");
	add_node_of_graph(deepest_stack(symbol, 0x100000), deepest_stack(symbol, 0x200000), "k", 5);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->nr_leaves, 1);
	for (uint32_t node = report_fixture.tree->leaves[0].node; node != REPORT_NODE_ROOT;
	     node = report_fixture.tree->nodes[node].parent)
		depth++;
	assert_int_equal(depth, 2 * WIRE_STACK_DEPTH_MAX * REPORT_INLINES_MAX + 1);
	assert_true(depth < REPORT_DEPTH_MAX);
}

static void a_whole_graph_is_a_leaf_of_its_launch(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(launch_stack("step"), NULL);

	key.kind = RECORD_GPU_GRAPH;
	report_fixture_add_row(key, 1, 5, 0);
	key.device_id = 9;
	report_fixture_add_row(key, 1, 6, 0);
	report_fixture_assert_folded("main;step;cudaGraphLaunch;[GPU0_Graph] 5\n"
				     "main;step;cudaGraphLaunch;[GPU?_Graph] 6\n");
	assert_int_equal(report_fixture.tree->leaves[0].kind, REPORT_KIND_GRAPH);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_capture_stands_between_the_launch_and_what_ran),
		TEST(nodes_without_a_capture_stay_under_the_launch),
		TEST(a_capture_without_a_launch_is_under_no_known_stack),
		TEST(a_capture_without_an_api_function_ends_in_the_applications),
		TEST(the_capture_is_cut_as_the_launch_is),
		TEST(one_capture_is_shown_under_each_of_its_launches),
		TEST(a_stack_may_be_a_launchs_and_a_captures),
		TEST(rows_of_one_capture_share_its_path),
		TEST(without_lines_captures_of_a_function_merge),
		TEST(dimensions_stand_outwards_of_launch_and_capture),
		TEST(the_deepest_launch_and_capture_fit_a_path),
		TEST(a_whole_graph_is_a_leaf_of_its_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

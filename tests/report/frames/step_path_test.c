#include "report/frames/step_path.h"

#include "tests/support/cmocka_test.h"

#include "tests/report/model/report_fixture.h"

static const char runner[] = "/opt/vllm/v1/worker/gpu_model_runner.py";
static const char nano[] = "/opt/nanovllm/engine/model_runner.py";

static uint32_t range(uint32_t parent, const char *text)
{
	return report_fixture_push(parent, report_fixture_code(NULL, text, 0));
}

static uint32_t python(uint32_t parent, const char *file, const char *name)
{
	return report_fixture_push(parent, report_fixture_code(file, name, 1));
}

static void add(uint32_t launch, uint32_t capture, uint64_t ns)
{
	struct fold_key key = report_fixture_key(launch, "k");

	key.capture_stack_id = capture;
	report_fixture_add_row(key, 1, ns, 0);
}

/* Builds with the kinds; the expected lines have no frames but the kinds. */
static void assert_steps(const char *expected)
{
	struct folded_options folded = {.unit = FOLDED_NS};
	const struct report_options options = {
		.steps = true, .view.frames = REPORT_FRAMES_USER, .view.frameworks = "/opt/"};

	report_fixture_build_with(&options);
	assert_int_equal(report_by_parse("step-kind", &folded.by), 0);
	report_fixture_assert_folded_with(&folded, expected);
}

static void the_range_of_a_launch_tells_its_kind(void **state)
{
	uint32_t prefill = range(0, "[NVTX]execute_context_2(90)_generation_0(0)");
	uint32_t decode = range(0, "[NVTX]execute_context_0(0)_generation_7(7)");

	(void)state;
	add(python(prefill, runner, "execute_model"), 0, 5);
	add(python(decode, runner, "execute_model"), 0, 6);
	add(python(decode, runner, "_sample"), 0, 7);
	add(python(0, runner, "sample_tokens"), 0, 8);
	add(python(0, runner, "execute_model"), 0, 9);
	add(python(0, "train.py", "main"), 0, 10);
	assert_steps("[step] decode 5-8;[NVTX]execute_context_0(0)_generation_7(7);[opt];"
		     "[GPU0_Kernel]k 13\n"
		     "[step] not known;[opt];[GPU0_Kernel]k 9\n"
		     "[step] other;train.py:main:1;[GPU0_Kernel]k 10\n"
		     "[step] prefill;[NVTX]execute_context_2(90)_generation_0(0);[opt];"
		     "[GPU0_Kernel]k 5\n"
		     "[step] sampling;[opt];[GPU0_Kernel]k 8\n");
}

static void a_graph_has_the_size_of_its_capture(void **state)
{
	uint32_t decode = range(0, "[NVTX]execute_context_0(0)_generation_7(7)");
	uint32_t mixed = range(0, "[NVTX]execute_context_1(9)_generation_7(7)");
	uint32_t captured = range(0, "[NVTX]capture_8_FULL");
	uint32_t of_decode = range(0, "[NVTX]decode 8");
	uint32_t execute = python(0, runner, "execute_model");

	(void)state;
	add(decode, captured, 5);
	add(decode, python(0, runner, "_dummy_run"), 6);
	add(mixed, captured, 7);
	add(execute, captured, 8);
	add(execute, python(0, runner, "_dummy_run"), 9);
	add(execute, of_decode, 10);
	add(python(0, nano, "ModelRunner.run_model"), python(0, nano, "capture_cudagraph"), 11);
	add(python(0, nano, "ModelRunner.run_model"), 0, 12);
	add(python(0, "train.py", "main"), python(0, "train.py", "capture"), 13);
	struct report_options options = {.steps = true};
	report_fixture_build_with(&options);
	const char *expected[] = {"[step] decode 8", "[step] decode 5-8", "[step] mixed",
				  "[step] graph 8",  "[step] graph",      "[step] decode 8",
				  "[step] decode",   "[step] not known",  "[step] other"};
	assert_int_equal(report_fixture.tree->nr_leaves, 9);
	for (uint32_t i = 0; i < 9; i++) {
		const struct report_leaf *leaf = &report_fixture.tree->leaves[i];
		const char *text =
			leaf->step ? report_fixture.tree->strings[leaf->step] : "[step] other";

		assert_string_equal(text, expected[leaf->ns - 5]);
	}
}

static void whole_graphs_count_as_graphs(void **state)
{
	struct fold_key key = report_fixture_key(python(0, nano, "ModelRunner.run_model"), NULL);

	(void)state;
	key.kind = RECORD_GPU_GRAPH;
	report_fixture_add_row(key, 1, 5, 0);
	assert_steps("[step] decode;[opt];[GPU0_Graph] 5\n");
}

/* Rows whose paths look equal stay apart by their kinds, and only then. */
static void kinds_keep_leaves_apart_when_they_are_wanted(void **state)
{
	const struct report_options user = {.view.frames = REPORT_FRAMES_USER,
					    .view.frameworks = "/opt/"};

	(void)state;
	add(python(0, runner, "execute_model"), 0, 5);
	add(python(0, runner, "sample_tokens"), 0, 6);
	report_fixture_build_with(&user);
	assert_int_equal(report_fixture.tree->nr_leaves, 1);
	assert_int_equal(report_fixture.tree->steps, 0);
	assert_steps("[step] not known;[opt];[GPU0_Kernel]k 5\n"
		     "[step] sampling;[opt];[GPU0_Kernel]k 6\n");
	assert_int_equal(report_fixture.tree->nr_leaves, 2);
	assert_int_equal(report_fixture.tree->steps, 1);
}

static void work_without_a_launch_is_other(void **state)
{
	struct fold_key key = report_fixture_key(range(0, "[NVTX]prefill"), "k");

	(void)state;
	key.matched = 0;
	report_fixture_add_row(key, 1, 5, 0);
	assert_steps("[step] other;[unknown stack];[GPU0_Kernel]k 5\n");
}

static void a_stack_may_be_as_deep_as_the_wire_allows(void **state)
{
	uint32_t node = range(0, "[NVTX]prefill");

	(void)state;
	for (uint32_t depth = 1; depth < WIRE_STACK_DEPTH_MAX; depth++)
		node = python(node, "train.py", "f");
	add(node, 0, 5);
	report_fixture_build_with(&(struct report_options){.steps = true});
	assert_string_equal(report_fixture.tree->strings[report_fixture.tree->leaves[0].step],
			    "[step] prefill");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_range_of_a_launch_tells_its_kind),
		TEST(a_graph_has_the_size_of_its_capture),
		TEST(whole_graphs_count_as_graphs),
		TEST(kinds_keep_leaves_apart_when_they_are_wanted),
		TEST(work_without_a_launch_is_other),
		TEST(a_stack_may_be_as_deep_as_the_wire_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

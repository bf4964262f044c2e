#include "tests/support/cmocka_test.h"

#include "report/frames/backward_path.h"
#include "tests/report/model/report_fixture.h"

#define APPLY   "_ZN5torch8autograd9generated14AddmmBackward05applyEv"
#define ENGINE  "_ZN5torch8autograd6Engine17evaluate_functionEv"
#define ADDMM   "_ZN2at4_ops5addmm4callERKNS_6TensorE"
#define SOFTMAX "_ZN2at4_ops12_log_softmax4callERKNS_6TensorE"
#define MUL     "_ZN2at4_ops10mul_Tensor4callERKNS_6TensorE"

#define MUL_IN_PLACE  "_ZN2at4_ops11mul__Tensor4callERNS_6TensorERKS2_"
#define COPY_IN_PLACE "at::_ops::copy_::call(at::Tensor&, at::Tensor const&, bool)"

static uint64_t next_offset;

static uint32_t native(uint32_t parent, const char *name)
{
	return report_fixture_push(
		parent, report_fixture_frame(report_fixture.program, 0x1000 + ++next_offset, name));
}

static uint32_t python(uint32_t parent, const char *file, const char *name)
{
	return report_fixture_push(parent, report_fixture_code(file, name, 7));
}

static uint32_t mark(uint32_t parent, const char *text)
{
	return report_fixture_push(parent, report_fixture_code(NULL, text, 0));
}

/* start;evaluate;apply;mm;cuLaunchKernel on the engine's thread. */
static uint32_t on_engine(uint32_t parent)
{
	uint32_t node = native(native(native(native(parent, "start_thread"), ENGINE), APPLY), "mm");

	return mark(node, "cuLaunchKernel");
}

static uint32_t forward(const char *operation)
{
	return native(native(python(0, "m.py", "forward"), "THPVariable_f"), operation);
}

static void backward_work_is_under_the_innermost_python_frame(void **state)
{
	uint32_t line = forward(ADDMM);

	(void)state;
	report_fixture_add_kernel(mark(line, "cuLaunchKernel"), "k", 5);
	report_fixture_add_kernel(on_engine(mark(line, "[backward] AddmmBackward0")), "k", 6);
	report_fixture_assert_folded(
		"m.py:forward:7;THPVariable_f;at::_ops::addmm::call(at::Tensor const&);"
		"cuLaunchKernel;[GPU0_Kernel]k 5\n"
		"m.py:forward:7;[backward] AddmmBackward0;"
		"torch::autograd::generated::AddmmBackward0::apply();mm;cuLaunchKernel;"
		"[GPU0_Kernel]k 6\n");
}

static void by_thread_it_is_under_the_engines(void **state)
{
	(void)state;
	report_fixture_add_kernel(on_engine(mark(forward(ADDMM), "[backward] AddmmBackward0")), "k",
				  6);
	report_fixture_add_kernel(on_engine(mark(0, "[backward] AccumulateGrad")), "k", 7);
	report_fixture_build_with(
		&(struct report_options){.view = {.backward = REPORT_BACKWARD_THREAD}});
	report_fixture_assert_folded_with(
		&(struct folded_options){.unit = FOLDED_NS},
		"[thread start];torch::autograd::Engine::evaluate_function();"
		"torch::autograd::generated::AddmmBackward0::apply();mm;cuLaunchKernel;"
		"[GPU0_Kernel]k 13\n");
}

static void without_the_engines_frames_the_whole_stack_stays(void **state)
{
	uint32_t node = mark(forward(ADDMM), "[backward] AddmmBackward0");

	(void)state;
	report_fixture_add_kernel(mark(native(node, "mm"), "cuLaunchKernel"), "k", 6);
	report_fixture_assert_folded("m.py:forward:7;[backward] AddmmBackward0;mm;cuLaunchKernel;"
				     "[GPU0_Kernel]k 6\n");
}

/* The hook of a gradient is Python of the engine's thread. */
static void hooks_stay_under_their_node(void **state)
{
	uint32_t engine =
		native(native(mark(forward(ADDMM), "[backward] AddmmBackward0"), "start"), ENGINE);

	(void)state;
	report_fixture_add_kernel(mark(python(engine, "m.py", "hook"), "cuLaunchKernel"), "k", 6);
	report_fixture_assert_folded("m.py:forward:7;[backward] AddmmBackward0;m.py:hook:7;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
}

static void the_reducers_functions_are_one_frame(void **state)
{
	uint32_t node = native(mark(forward(ADDMM), "[backward] AccumulateGrad"), ENGINE);

	(void)state;
	node = native(native(node, "_ZN4c10d7Reducer13autograd_hookEm"), "at::something");
	node = native(native(node, "c10d::ProcessGroupNCCL::allreduce()"), "ncclAllReduce");
	report_fixture_add_kernel(mark(node, "cuLaunchKernel"), "k", 6);
	report_fixture_assert_folded("m.py:forward:7;[backward] AccumulateGrad ≈;"
				     "[gradient all-reduce];ncclAllReduce;cuLaunchKernel;"
				     "[GPU0_Kernel]k 6\n");
}

static bool is_proven(uint32_t forward_node, const char *text)
{
	return !backward_path_needs_mark(report_fixture.catalog, mark(forward_node, text));
}

static void a_line_is_proven_by_the_operations_name(void **state)
{
	(void)state;
	assert_true(is_proven(forward(ADDMM), "[backward] AddmmBackward0"));
	assert_true(is_proven(forward(SOFTMAX), "[backward] LogSoftmaxBackward0"));
	assert_true(is_proven(forward(MUL), "[backward] MulBackward0"));
	assert_true(is_proven(forward("at::_ops::nll_loss_forward::call(at::Tensor const&)"),
			      "[backward] NllLossBackward0"));
	assert_true(
		is_proven(forward("at::_ops::sum_dim_IntList::call()"), "[backward] SumBackward1"));
	assert_true(is_proven(forward("at::_ops::add__Tensor::call()"), "[backward] AddBackward0"));
	assert_true(is_proven(forward("at::_ops::relu_::call()"), "[backward] ReluBackward0"));
	/* other operators whose names begin like this one */
	assert_false(is_proven(forward("at::_ops::split_with_sizes_copy_out::call()"),
			       "[backward] SplitWithSizesBackward0"));
	assert_false(is_proven(forward("at::_ops::select_scatter::call()"),
			       "[backward] SelectBackward0"));
	assert_false(
		is_proven(forward("at::_ops::log_softmax_int::call()"), "[backward] LogBackward0"));
	assert_false(is_proven(forward(ADDMM), "[backward] MulBackward0"));
	assert_false(is_proven(forward("_ZN2at4_ops2to4callEv"), "[backward] TBackward0"));
	assert_false(is_proven(forward("f"), "[backward] AddmmBackward0"));
	assert_false(is_proven(python(0, "m.py", "f"), "[backward] AddmmBackward0"));
	assert_false(is_proven(forward(ADDMM), "[backward]"));
	/* an operation of another Python line proves nothing */
	assert_false(is_proven(native(python(forward(ADDMM), "m.py", "g"), "f"),
			       "[backward] AddmmBackward0"));
}

static void a_function_of_the_users_own_is_proven_by_its_call(void **state)
{
	uint32_t call = python(0, "torch/autograd/function.py", "Function.apply");

	(void)state;
	assert_true(is_proven(native(python(call, "m.py", "Mine.forward"), ADDMM),
			      "[backward] PyNode"));
	assert_false(is_proven(forward(ADDMM), "[backward] PyNode"));
	assert_false(is_proven(
		native(python(0, "torch/autograd/function.py", "BackwardCFunction.apply"), "f"),
		"[backward] PyNode"));
	/* before CPython 3.11 */
	call = python(python(0, "m.py", "step"), "torch/autograd/function.py", "apply");
	assert_true(is_proven(python(call, "m.py", "forward"), "[backward] PyNode"));
	assert_false(
		is_proven(python(0, "torch/autograd/function.py", "apply"), "[backward] PyNode"));
	report_fixture_add_kernel(
		on_engine(mark(native(python(python(python(0, "m.py", "step"),
						    "torch/autograd/function.py", "Function.apply"),
					     "m.py", "Mine.forward"),
				      ADDMM),
			       "[backward] PyNode")),
		"k", 6);
	report_fixture_assert_folded("m.py:step:7;[backward] PyNode;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
}

static bool is_proven_in_place(uint32_t forward_node)
{
	return is_proven(forward_node, "[backward] CopySlices");
}

static void an_operation_in_place_on_a_view_is_proven_by_its_call(void **state)
{
	uint32_t line = native(python(native(0, "main"), "m.py", "step"), "_PyEval_EvalFrame");

	(void)state;
	assert_true(is_proven_in_place(forward(MUL_IN_PLACE)));
	assert_true(is_proven_in_place(forward(COPY_IN_PLACE)));
	assert_true(is_proven_in_place(forward("at::_ops::_foreach_mul__Scalar::call()")));
	assert_true(is_proven_in_place(forward("at::_ops::__iand___Tensor::call()")));
	assert_true(is_proven_in_place(native(python(line, "m.py", "f"), MUL_IN_PLACE)));
	/* an operation that calls another one in place */
	assert_true(
		is_proven_in_place(native(forward("at::_ops::nan_to_num::call()"), COPY_IN_PLACE)));
	/* no operation in place, or no names */
	assert_false(is_proven_in_place(forward(MUL)));
	assert_false(is_proven_in_place(forward(SOFTMAX)));
	assert_false(is_proven_in_place(forward("at::_ops::sum_dim_IntList::call()")));
	assert_false(is_proven_in_place(forward("at::_ops::__and___Tensor::call()")));
	assert_false(is_proven_in_place(forward("f")));
	assert_false(is_proven_in_place(python(0, "m.py", "f")));
	assert_false(is_proven_in_place(native(0, MUL_IN_PLACE)));
	assert_false(is_proven(forward(MUL_IN_PLACE), "[backward] AsStridedBackward0"));
	/* the guest found another number's launch */
	report_fixture_add_kernel(on_engine(mark(forward(MUL_IN_PLACE), "[backward] CopySlices ≈")),
				  "k", 6);
	report_fixture_add_kernel(on_engine(mark(forward(MUL_IN_PLACE), "[backward] CopySlices")),
				  "k", 7);
	report_fixture_assert_folded("m.py:forward:7;[backward] CopySlices ≈;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n"
				     "m.py:forward:7;[backward] CopySlices;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 7\n");
}

/* Python functions that an operation in place calls before it launches itself. */
static void a_hook_within_an_operation_in_place_proves_nothing(void **state)
{
	uint32_t library = report_fixture_module("/x/torch/lib/libtorch_cpu.so", 0);
	uint32_t outer = python(0, "m.py", "step"), saved, engine;

	(void)state;
	assert_true(is_proven_in_place(native(python(outer, "m.py", "f"), COPY_IN_PLACE)));
	assert_false(is_proven_in_place(native(
		python(native(outer, MUL_IN_PLACE), "torch/autograd/graph.py", "pack_to_cpu"),
		COPY_IN_PLACE)));
	saved = report_fixture_push(outer, report_fixture_frame(library, 0x10, NULL));
	assert_false(is_proven_in_place(native(python(saved, "m.py", "pack"), COPY_IN_PLACE)));
	assert_false(is_proven_in_place(
		native(python(native(outer, "THPFunction_apply(_object*, _object*)"), "m.py",
			      "Mine.forward"),
		       COPY_IN_PLACE)));
	assert_false(is_proven_in_place(
		native(python(python(outer, "torch/autograd/function.py", "Function.apply"), "m.py",
			      "Mine.forward"),
		       COPY_IN_PLACE)));
	/* a checkpoint computes again on the engine's thread */
	engine = report_fixture_push(outer, report_fixture_frame(library, 0x20, ENGINE));
	assert_true(is_proven_in_place(native(python(engine, "m.py", "f"), COPY_IN_PLACE)));
}

/* What called the innermost Python frame may be among those that are missing. */
static void an_operation_in_place_is_not_proven_by_a_part_of_its_stack(void **state)
{
	static const char *const lacks[] = {"[frames missing]", "[stack truncated]",
					    "[native and Python frames differ]", "[subinterpreter]",
					    "[Python code table full]"};

	(void)state;
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		assert_false(is_proven_in_place(
			native(python(mark(python(0, "m.py", "step"), lacks[i]), "m.py", "f"),
			       COPY_IN_PLACE)));
		assert_false(is_proven_in_place(
			mark(native(python(0, "m.py", "f"), COPY_IN_PLACE), lacks[i])));
	}
	assert_true(is_proven_in_place(
		native(python(mark(0, "[NVTX]step"), "m.py", "f"), COPY_IN_PLACE)));
}

/* The launch of an operation that ran while a node was evaluated. */
static uint32_t in_evaluation(uint32_t node, const char *operation)
{
	return native(native(native(node, ENGINE), APPLY), operation);
}

static void a_second_derivative_is_proven_by_its_operation(void **state)
{
	uint32_t proven = mark(forward(ADDMM), "[backward] AddmmBackward0");
	uint32_t guessed = mark(forward(MUL), "[backward] AddmmBackward0");
	uint32_t near = mark(forward(ADDMM), "[backward] AddmmBackward0 ≈");
	uint32_t second = mark(in_evaluation(proven, MUL), "[backward] MulBackward0");

	(void)state;
	assert_true(is_proven(in_evaluation(proven, MUL), "[backward] MulBackward0"));
	assert_true(is_proven(in_evaluation(proven, COPY_IN_PLACE), "[backward] CopySlices"));
	assert_true(is_proven(in_evaluation(second, SOFTMAX), "[backward] LogSoftmaxBackward0"));
	/* another operation's launch in the evaluation, though the forward operation has the name */
	assert_false(is_proven(in_evaluation(proven, MUL), "[backward] AddmmBackward0"));
	assert_false(is_proven(in_evaluation(proven, MUL), "[backward] ExpandBackward0"));
	assert_false(is_proven(in_evaluation(proven, MUL), "[backward] CopySlices"));
	assert_false(is_proven(proven, "[backward] AddmmBackward0"));
	/* the first derivative's own line is not proven */
	assert_false(is_proven(in_evaluation(guessed, MUL), "[backward] MulBackward0"));
	assert_false(is_proven(in_evaluation(near, MUL), "[backward] MulBackward0"));
	/* a call of the user's function that belongs to the first derivative */
	assert_false(is_proven(
		in_evaluation(mark(python(python(0, "torch/autograd/function.py", "Function.apply"),
					  "m.py", "Mine.forward"),
				   "[backward] PyNode"),
			      MUL),
		"[backward] PyNode"));
	report_fixture_add_kernel(on_engine(second), "k", 6);
	report_fixture_add_kernel(
		on_engine(mark(in_evaluation(guessed, MUL), "[backward] MulBackward0")), "k", 7);
	report_fixture_assert_folded("m.py:forward:7;[backward] MulBackward0 ≈;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 7\n"
				     "m.py:forward:7;[backward] MulBackward0;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
}

/* As where AccumulateGrad adds gradients of which there are derivatives. */
static void a_derivative_without_an_operation_is_its_callers(void **state)
{
	uint32_t caller = python(python(0, "m.py", "step"), "torch/autograd/graph.py",
				 "_engine_run_backward");
	uint32_t first = mark(caller, "[backward] AccumulateGrad");

	(void)state;
	assert_true(is_proven(in_evaluation(first, MUL), "[backward] MulBackward0"));
	assert_false(is_proven(in_evaluation(first, MUL), "[backward] AddBackward0"));
	report_fixture_add_kernel(
		on_engine(mark(in_evaluation(first, MUL), "[backward] MulBackward0")), "k", 6);
	report_fixture_assert_folded("m.py:step:7;graph.py:_engine_run_backward:7;"
				     "[backward] MulBackward0;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
}

static void callers_of_backward_need_no_proof(void **state)
{
	uint32_t caller = python(python(0, "m.py", "step"), "torch/autograd/graph.py",
				 "_engine_run_backward");

	(void)state;
	report_fixture_add_kernel(on_engine(mark(caller, "[backward] AccumulateGrad")), "k", 6);
	report_fixture_assert_folded("m.py:step:7;graph.py:_engine_run_backward:7;"
				     "[backward] AccumulateGrad;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
	assert_true(is_proven(0, "[backward] AddmmBackward0"));
	/* files of these names that are the user's, and other functions of PyTorch's */
	assert_false(is_proven(python(0, "mytorch/autograd/graph.py", "backward"),
			       "[backward] AddmmBackward0"));
	assert_false(is_proven(python(0, "torch/autograd/grad_mode.py", "__enter__"),
			       "[backward] AddmmBackward0"));
}

static void unproven_lines_have_one_mark(void **state)
{
	(void)state;
	report_fixture_add_kernel(on_engine(mark(forward(ADDMM), "[backward] ViewBackward0")), "k",
				  6);
	report_fixture_add_kernel(on_engine(mark(forward(MUL), "[backward] AddmmBackward0 ≈")), "k",
				  7);
	report_fixture_assert_folded("m.py:forward:7;[backward] AddmmBackward0 ≈;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 7\n"
				     "m.py:forward:7;[backward] ViewBackward0 ≈;"
				     "torch::autograd::generated::AddmmBackward0::apply();mm;"
				     "cuLaunchKernel;[GPU0_Kernel]k 6\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(backward_work_is_under_the_innermost_python_frame),
		TEST(by_thread_it_is_under_the_engines),
		TEST(without_the_engines_frames_the_whole_stack_stays),
		TEST(hooks_stay_under_their_node),
		TEST(the_reducers_functions_are_one_frame),
		TEST(a_line_is_proven_by_the_operations_name),
		TEST(a_function_of_the_users_own_is_proven_by_its_call),
		TEST(an_operation_in_place_on_a_view_is_proven_by_its_call),
		TEST(a_hook_within_an_operation_in_place_proves_nothing),
		TEST(an_operation_in_place_is_not_proven_by_a_part_of_its_stack),
		TEST(a_second_derivative_is_proven_by_its_operation),
		TEST(a_derivative_without_an_operation_is_its_callers),
		TEST(callers_of_backward_need_no_proof),
		TEST(unproven_lines_have_one_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

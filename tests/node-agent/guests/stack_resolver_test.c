#include "tests/support/cmocka_test.h"

#include <unistd.h>

#include "proto/stack_word.h"
#include "tests/node-agent/guests/resolver_fixture.h"

static struct resolver_process one, two;

static int set_up(void **state)
{
	(void)state;
	resolver_fixture_create();
	resolver_fixture_open(&one, getuid());
	resolver_fixture_open(&two, getuid());
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	resolver_fixture_close(&one);
	resolver_fixture_close(&two);
	resolver_fixture_destroy();
	return 0;
}

/* --- how a stack ends ------------------------------------------------------------------------- */

static void the_runtimes_function_at_the_end_of_cudas_frames_stays(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, GUEST + 1, LIBCUDA + 9, LIBCUDART + 0x21,
			LIBCUDART + 0x31, APP + 0x41, LIBC + 0x51),
		"/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libc.so.6+0x50");
}

static void a_driver_call_is_named_after_the_launchs_function(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL_EX, GUEST + 1, LIBCUDA + 9, APP + 0x41),
		"cuLaunchKernelEx < /bin/app+0x40");
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, LIBCUDA + 9, APP + 0x41),
		"cuLaunchKernel < /bin/app+0x40");
	resolver_fixture_assert_node(RESOLVE(&one, 5, LIBCUDA + 9, APP + 0x41),
				     "CUDA call < /bin/app+0x40");
}

static void frames_of_a_static_runtime_stay_outwards_of_the_drivers_function(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, APP + 0x901, APP + 0x41),
		"cuLaunchKernel < /bin/app+0x900 < /bin/app+0x40");
}

static void a_stack_without_cudas_frames_ends_in_the_drivers_function(void **state)
{
	uint64_t python;

	(void)state;
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, APP + 0x41),
				     "cuLaunchKernel < /bin/app+0x40");
	python = stack_word_python(resolver_fixture_add_code(&one, "/srv/train.py", "step"), 12);
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, python),
				     "cuLaunchKernel < /srv/train.py:step:12");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, MARK(STACK_MARK_MISSING), python),
				     "cuLaunchKernel < [frames missing] < /srv/train.py:step:12");
}

static void cudas_frames_alone_leave_the_drivers_function(void **state)
{
	(void)state;
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, GUEST + 1, LIBCUDA + 9),
				     "cuLaunchKernel");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31),
				     "/lib/libcudart.so.13+0x30");
}

static void a_walk_that_ended_among_cudas_frames_keeps_its_mark(void **state)
{
	uint64_t python =
		stack_word_python(resolver_fixture_add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, MARK(STACK_MARK_MISSING), python),
		"cuLaunchKernel < [frames missing] < /srv/train.py:step:12");
	/* Which of libcudart's functions this is nobody knows: the walk did not come out of it. */
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31,
					     MARK(STACK_MARK_TRUNCATED)),
				     "cuLaunchKernel < [stack truncated]");
}

static void a_mark_that_ends_no_walk_leaves_the_runtimes_function(void **state)
{
	uint64_t python =
		stack_word_python(resolver_fixture_add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDA + 9, LIBCUDART + 0x31,
			MARK(STACK_MARK_MISMATCH), python),
		"/lib/libcudart.so.13+0x30 < [native and Python frames differ] < "
		"/srv/train.py:step:12");
}

static void cudas_frames_further_out_stay(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 0x31, APP + 0x41, LIBCUDA + 0x51,
			LIBCUDART + 0x61, APP + 0x71),
		"/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libcuda.so.1+0x50 < "
		"/lib/libcudart.so.13+0x60 < /bin/app+0x70");
}

static void the_first_of_two_functions_names_the_stack(void **state)
{
	uint32_t stack_id = resolver_fixture_add(&one, (uint64_t[]){LIBCUDA + 9, APP + 0x41}, 2);

	(void)state;
	resolver_fixture_assert_node(resolver_fixture_node(&one, stack_id, LAUNCH_KERNEL),
				     "cuLaunchKernel < /bin/app+0x40");
	resolver_fixture_assert_node(resolver_fixture_node(&one, stack_id, LAUNCH_KERNEL_EX),
				     "cuLaunchKernel < /bin/app+0x40");
	/* The same words once more are another stack of the guest. */
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL_EX, LIBCUDA + 9, APP + 0x41),
				     "cuLaunchKernelEx < /bin/app+0x40");
}

static void the_deepest_stack_has_room_for_the_drivers_function(void **state)
{
	uint64_t words[RECORD_STACK_DEPTH];
	uint32_t depth = 0;

	(void)state;
	for (uint32_t i = 0; i < RECORD_STACK_DEPTH; i++)
		words[i] = APP + 1 + i;
	for (uint32_t node = resolver_fixture_node(
		     &one, resolver_fixture_add(&one, words, RECORD_STACK_DEPTH), LAUNCH_KERNEL);
	     node; node = stack_dictionary_nodes(resolver_fixture_stacks, node)->parent)
		depth++;
	assert_int_equal(depth, RECORD_STACK_DEPTH + 1);
}

/* --- how the stack of a capture ends ----------------------------------------------------------- */

static void a_capture_keeps_the_runtimes_function_and_no_other_of_cudas(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		CAPTURE(&one, GUEST + 1, LIBCUDA + 9, LIBCUDART + 0x21, LIBCUDART + 0x31,
			APP + 0x41, LIBC + 0x51),
		"/lib/libcudart.so.13+0x30 < /bin/app+0x40 < /lib/libc.so.6+0x50");
	resolver_fixture_assert_node(CAPTURE(&one, GUEST + 1, LIBCUDA + 9, APP + 0x41, LIBC + 0x51),
				     "/bin/app+0x40 < /lib/libc.so.6+0x50");
	resolver_fixture_assert_node(
		CAPTURE(&one, LIBCUDART + 1, LIBCUDA + 9, APP + 0x61, LIBCUDA + 0x71),
		"/bin/app+0x60 < /lib/libcuda.so.1+0x70");
	resolver_fixture_assert_node(CAPTURE(&one, APP + 0x41), "/bin/app+0x40");
	resolver_fixture_assert_node(CAPTURE(&one, LIBCUDA + 9, LIBCUDART + 0x31),
				     "/lib/libcudart.so.13+0x30");
}

static void a_capture_whose_walk_ended_among_cudas_frames_keeps_its_mark(void **state)
{
	uint64_t python =
		stack_word_python(resolver_fixture_add_code(&one, "/srv/train.py", "step"), 12);

	(void)state;
	resolver_fixture_assert_node(
		CAPTURE(&one, LIBCUDA + 9, LIBCUDART + 0x31, MARK(STACK_MARK_MISSING), python),
		"[frames missing] < /srv/train.py:step:12");
}

static void a_capture_of_cudas_frames_alone_is_none(void **state)
{
	(void)state;
	assert_int_equal(CAPTURE(&one, GUEST + 1, LIBCUDA + 9), STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_capture(&one, RECORD_STACK_NONE), STACK_NODE_NONE);
	assert_int_equal(stack_dictionary_nr_nodes(resolver_fixture_stacks), 0);
}

static void a_stack_of_a_launch_and_of_a_capture_has_a_node_for_each(void **state)
{
	uint32_t stack_id = resolver_fixture_add(&one, (uint64_t[]){LIBCUDA + 9, APP + 0x41}, 2);

	(void)state;
	for (int i = 0; i < 2; i++) {
		resolver_fixture_assert_node(resolver_fixture_node(&one, stack_id, LAUNCH_KERNEL),
					     "cuLaunchKernel < /bin/app+0x40");
		resolver_fixture_assert_node(resolver_fixture_capture(&one, stack_id),
					     "/bin/app+0x40");
	}
	assert_int_equal(stack_dictionary_nr_nodes(resolver_fixture_stacks), 2);
}

static void a_capture_that_found_the_stack_table_full_says_so(void **state)
{
	uint32_t node = resolver_fixture_capture(&one, RECORD_STACK_FULL);

	(void)state;
	resolver_fixture_assert_node(node, "[stack table full]");
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACK_FULL, LAUNCH_KERNEL), node);
}

/* --- Python frames and marks ------------------------------------------------------------------ */

static void frames_without_a_module_stay_plain_addresses(void **state)
{
	(void)state;
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, 0x70001), //
				     "/lib/libcudart.so.13+0x0 < 0x70000");
}

static void guests_that_number_codes_differently_share_frames(void **state)
{
	uint32_t first, second;

	(void)state;
	resolver_fixture_add_code(&two, "other.py", "f");
	first = resolver_fixture_add_code(&one, "/srv/train.py", "Model.forward");
	second = resolver_fixture_add_code(&two, "/srv/train.py", "Model.forward");
	assert_int_not_equal(first, second);
	assert_int_equal(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(first, 7)),
			 RESOLVE(&two, LAUNCH_KERNEL, stack_word_python(second, 7)));
	assert_int_not_equal(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(first, 7)),
			     RESOLVE(&two, LAUNCH_KERNEL, stack_word_python(second, 8)));
}

/* Returns the module of the generated file whose line launched a kernel. */
static uint32_t module_of_line(struct resolver_process *process)
{
	static const char path[] = "/tmp/torchinductor_root/ab/"
				   "cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py";
	uint64_t line = stack_word_python(resolver_fixture_add_code(process, path, "call"), 7);
	uint32_t launch = RESOLVE(process, LAUNCH_KERNEL, line);
	uint32_t parent = stack_dictionary_nodes(resolver_fixture_stacks, launch)->parent;
	uint32_t frame = stack_dictionary_nodes(resolver_fixture_stacks, parent)->frame;

	return stack_dictionary_generated(
		resolver_fixture_stacks,
		stack_dictionary_frames(resolver_fixture_stacks, frame)->code);
}

static void lines_of_a_generated_file_are_of_its_user(void **state)
{
	struct resolver_process other;

	(void)state;
	resolver_fixture_open(&other, getuid() + 1);
	uint32_t first = module_of_line(&one), others = module_of_line(&other);
	assert_int_equal(stack_dictionary_modules(resolver_fixture_stacks, first)->owner, getuid());
	assert_int_equal(stack_dictionary_modules(resolver_fixture_stacks, others)->owner,
			 getuid() + 1);
	assert_int_equal(module_of_line(&two), first);
	assert_int_equal(module_of_line(&one), first);
	resolver_fixture_close(&other);
}

static void a_code_without_names_is_called_unknown(void **state)
{
	(void)state;
	uint64_t empty = stack_word_python(resolver_fixture_add_code(&one, "", ""), 0);
	uint64_t nul = stack_word_python(record_ring_add_code(one.guest, "\0x", 2, "f\0g", 3), 1);

	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, empty), //
				     "cuLaunchKernel < <unknown>:<unknown>:0");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, nul),
				     "cuLaunchKernel < <unknown>:f:1");
}

static void marks_are_shown_by_their_words(void **state)
{
	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, MARK(STACK_MARK_SUBINTERPRETER),
			MARK(STACK_MARK_CODE_TABLE_FULL)),
		"/lib/libcudart.so.13+0x0 < [subinterpreter] < [Python code table full]");
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, APP + 1, STACK_WORD_OTHER | STACK_WORD_MARK | 999),
		"cuLaunchKernel < /bin/app+0x0 < [frames missing]");
}

static void a_code_that_nobody_added_is_a_mark_and_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(9, 1)),
					     "cuLaunchKernel < [frames missing]");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 1);
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(UINT32_MAX, 1)),
				     "cuLaunchKernel < [frames missing]");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(0, 1)),
				     "cuLaunchKernel < [frames missing]");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 3);
}

static void names_beyond_the_room_for_text_are_a_mark_and_counted(void **state)
{
	uint64_t first = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 1);
	uint64_t second = stack_word_python(resolver_fixture_add_code(&one, "b.py", "ff"), 2);

	(void)state;
	one.text_room = 10 + 2 * RING_OUTPUTS_NAME_COST;
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, first, second),
				     "cuLaunchKernel < a.py:f:1 < [Python code table full]");
	assert_int_equal(one.text_room, 5);
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_CODE_TABLE_FULL), 1);
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 0);
}

static void ranges_are_shown_with_their_domain(void **state)
{
	uint64_t plain = stack_word_range(resolver_fixture_add_code(&one, "", "forward"));
	uint64_t domain = stack_word_range(resolver_fixture_add_code(&one, "library", "op"));

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, APP + 1, domain, plain),
		"/lib/libcudart.so.13+0x0 < /bin/app+0x0 < [NVTX]library:op < [NVTX]forward");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(0)),
				     "cuLaunchKernel < [NVTX]...");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 0);
}

static void lines_of_a_model_are_shown_as_such(void **state)
{
	uint32_t code = resolver_fixture_add_code(&one, "", "model.py:f:3, model.py:g:8");

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, LIBCUDART + 1, stack_word_lines(code),
			stack_word_range(code)),
		"/lib/libcudart.so.13+0x0 < [lines]model.py:f:3, model.py:g:8 < "
		"[NVTX]model.py:f:3, model.py:g:8");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_lines(code + 1)),
				     "cuLaunchKernel < [lines]...");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 1);
}

static void a_code_may_be_a_range_and_a_python_function(void **state)
{
	uint32_t code = resolver_fixture_add_code(&one, "a.py", "f");

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_python(code, 3), stack_word_range(code)),
		"cuLaunchKernel < a.py:f:3 < [NVTX]a.py:f");
}

static void a_range_that_nobody_added_has_no_name_and_counts_once(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(9)),
					     "cuLaunchKernel < [NVTX]...");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 1);
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_range(UINT32_MAX)),
				     "cuLaunchKernel < [NVTX]...");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 2);
}

static void ranges_beyond_the_room_for_text_have_no_name_and_are_counted(void **state)
{
	uint64_t first = stack_word_range(resolver_fixture_add_code(&one, "", "ab"));
	uint64_t second = stack_word_range(resolver_fixture_add_code(&one, "", "longer"));

	(void)state;
	one.text_room = 10 + RING_OUTPUTS_NAME_COST;
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, first, second),
				     "cuLaunchKernel < [NVTX]ab < [NVTX]...");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_NVTX_NAME_LOST), 1);
}

static void a_full_stack_table_is_one_mark(void **state)
{
	uint32_t node = resolver_fixture_node(&one, RECORD_STACK_FULL, LAUNCH_KERNEL);

	(void)state;
	resolver_fixture_assert_node(node, "[stack table full]");
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACK_FULL, LAUNCH_KERNEL_EX), node);
	assert_int_equal(resolver_fixture_node(&two, RECORD_STACK_FULL, LAUNCH_KERNEL), node);
}

static void no_stack_is_the_drivers_function_alone(void **state)
{
	(void)state;
	uint32_t launch = resolver_fixture_node(&one, RECORD_STACK_NONE, LAUNCH_KERNEL);

	resolver_fixture_assert_node(launch, "cuLaunchKernel");
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACK_NONE, LAUNCH_KERNEL), launch);
	resolver_fixture_assert_node(resolver_fixture_node(&one, RECORD_STACK_NONE, 279),
				     "cuMemcpyDtoHAsync");
}

static void a_stack_that_nobody_added_is_none(void **state)
{
	(void)state;
	assert_int_equal(resolver_fixture_node(&one, 3, LAUNCH_KERNEL), STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACKS_MAX, LAUNCH_KERNEL),
			 STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACKS_MAX + 1, LAUNCH_KERNEL),
			 STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_node(&one, RECORD_STACKS_MAX + 1, LAUNCH_KERNEL),
			 STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_capture(&one, 3), STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_capture(&one, RECORD_STACKS_MAX), STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_capture(&one, RECORD_STACKS_MAX + 1), STACK_NODE_NONE);
	assert_int_equal(resolver_fixture_capture(&one, RECORD_STACKS_MAX + 1), STACK_NODE_NONE);
	assert_int_equal(stack_dictionary_nr_nodes(resolver_fixture_stacks), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_runtimes_function_at_the_end_of_cudas_frames_stays),
		TEST(a_driver_call_is_named_after_the_launchs_function),
		TEST(frames_of_a_static_runtime_stay_outwards_of_the_drivers_function),
		TEST(a_stack_without_cudas_frames_ends_in_the_drivers_function),
		TEST(cudas_frames_alone_leave_the_drivers_function),
		TEST(a_walk_that_ended_among_cudas_frames_keeps_its_mark),
		TEST(a_mark_that_ends_no_walk_leaves_the_runtimes_function),
		TEST(cudas_frames_further_out_stay),
		TEST(the_first_of_two_functions_names_the_stack),
		TEST(the_deepest_stack_has_room_for_the_drivers_function),
		TEST(a_capture_keeps_the_runtimes_function_and_no_other_of_cudas),
		TEST(a_capture_whose_walk_ended_among_cudas_frames_keeps_its_mark),
		TEST(a_capture_of_cudas_frames_alone_is_none),
		TEST(a_stack_of_a_launch_and_of_a_capture_has_a_node_for_each),
		TEST(a_capture_that_found_the_stack_table_full_says_so),
		TEST(frames_without_a_module_stay_plain_addresses),
		TEST(guests_that_number_codes_differently_share_frames),
		TEST(lines_of_a_generated_file_are_of_its_user),
		TEST(a_code_without_names_is_called_unknown),
		TEST(marks_are_shown_by_their_words),
		TEST(a_code_that_nobody_added_is_a_mark_and_counts_once),
		TEST(names_beyond_the_room_for_text_are_a_mark_and_counted),
		TEST(ranges_are_shown_with_their_domain),
		TEST(lines_of_a_model_are_shown_as_such),
		TEST(a_code_may_be_a_range_and_a_python_function),
		TEST(a_range_that_nobody_added_has_no_name_and_counts_once),
		TEST(ranges_beyond_the_room_for_text_have_no_name_and_are_counted),
		TEST(a_full_stack_table_is_one_mark),
		TEST(no_stack_is_the_drivers_function_alone),
		TEST(a_stack_that_nobody_added_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

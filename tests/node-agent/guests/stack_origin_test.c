#include "tests/support/cmocka_test.h"

#include <unistd.h>

#include "proto/stack_word.h"
#include "tests/node-agent/guests/resolver_fixture.h"

static struct resolver_process one;

static int set_up(void **state)
{
	(void)state;
	resolver_fixture_create();
	resolver_fixture_open(&one, getuid());
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	resolver_fixture_close(&one);
	resolver_fixture_destroy();
	return 0;
}

static void an_origin_stands_between_its_forward_stack_and_the_stack(void **state)
{
	uint32_t name = resolver_fixture_add_code(&one, "", "AddmmBackward0");
	uint64_t line = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 3);
	uint32_t forward =
		resolver_fixture_add(&one, (uint64_t[]){LIBCUDART + 1, APP + 0x11, line}, 3);
	uint32_t second = resolver_fixture_add(
		&one, (uint64_t[]){APP + 0x21, stack_word_origin(name, forward, false)}, 2);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, APP + 1, stack_word_origin(name, forward, true)),
		"cuLaunchKernel < /bin/app+0x0 < [backward] AddmmBackward0 ≈ < /bin/app+0x10 < "
		"a.py:f:3");
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, RECORD_STACK_NONE, false)),
		"cuLaunchKernel < [backward]");
	/* a derivative of a derivative: its operation's frames, and the line that the first one has */
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, second, false)),
		"cuLaunchKernel < [backward] < /bin/app+0x20 < [backward] AddmmBackward0 < "
		"/bin/app+0x10 < a.py:f:3");
}

/* A pass that the thread of the call evaluates, and an operation that a checkpoint computes again. */
static void frames_of_the_call_of_backward_are_no_operations_own(void **state)
{
	uint32_t name = resolver_fixture_add_code(&one, "", "MulBackward0");
	uint64_t line = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 3);
	uint64_t call = stack_word_python(
		resolver_fixture_add_code(&one, "/x/torch/autograd/graph.py", "grad"), 5);
	uint64_t again = stack_word_python(
		resolver_fixture_add_code(&one, "torch/autograd/x.py", "again"), 7);
	uint64_t origin = stack_word_origin(
		name, resolver_fixture_add(&one, (uint64_t[]){APP + 1, line}, 2), false);
	uint32_t derivative =
		resolver_fixture_add(&one, (uint64_t[]){APP + 0x11, call, line, origin}, 4);
	uint32_t recomputed =
		resolver_fixture_add(&one, (uint64_t[]){APP + 0x21, again, call, line, origin}, 5);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, derivative, false)),
		"cuLaunchKernel < [backward] < /bin/app+0x10 < [backward] MulBackward0 < "
		"/bin/app+0x0 < a.py:f:3");
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, recomputed, false)),
		"cuLaunchKernel < [backward] < /bin/app+0x20 < torch/autograd/x.py:again:7 < "
		"/x/torch/autograd/graph.py:grad:5 < a.py:f:3");
}

/* A reentrant checkpoint computes the operation again on the engine's thread. */
static void what_a_checkpoint_computes_again_stands_under_its_call(void **state)
{
	uint32_t name = resolver_fixture_add_code(&one, "", "AddmmBackward0");
	uint64_t line = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 3);
	uint64_t apply = stack_word_python(
		resolver_fixture_add_code(&one, "/x/torch/autograd/function.py", "Function.apply"),
		5);
	uint64_t inner = stack_word_python(resolver_fixture_add_code(&one, "b.py", "g"), 7);
	uint64_t back =
		stack_word_python(resolver_fixture_add_code(&one, "/x/c.py", "backward"), 9);
	uint32_t call = resolver_fixture_add(&one, (uint64_t[]){APP + 1, inner, apply, line}, 4);
	uint32_t again = resolver_fixture_add(
		&one, (uint64_t[]){APP + 0x11, inner, back, stack_word_origin(name, call, false)},
		4);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, again, false)),
		"cuLaunchKernel < [backward] < /bin/app+0x10 < b.py:g:7 < /x/c.py:backward:9 < "
		"a.py:f:3");
}

/* CUDA's frames of the first derivative's launch are left out, as where it stands itself. */
static void a_derivatives_path_is_part_of_its_derivatives_path(void **state)
{
	uint32_t name = resolver_fixture_add_code(&one, "", "MulBackward0");
	uint64_t line = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 3);
	uint64_t origin = stack_word_origin(
		name, resolver_fixture_add(&one, (uint64_t[]){APP + 1, line}, 2), true);
	uint32_t first = resolver_fixture_add(
		&one,
		(uint64_t[]){LIBCUDA + 1, LIBCUDART + 1, APP + 0x11,
			     stack_word_range(resolver_fixture_add_code(&one, "", "step")), origin},
		5);
	uint64_t second = stack_word_origin(
		name,
		resolver_fixture_add(
			&one, (uint64_t[]){APP + 0x21, stack_word_origin(name, first, false)}, 2),
		false);

	(void)state;
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, APP + 0x31, second),
		"cuLaunchKernel < /bin/app+0x30 < [backward] MulBackward0 < /bin/app+0x20 < "
		"[backward] MulBackward0 < /bin/app+0x10 < [backward] MulBackward0 ≈ < "
		"/bin/app+0x0 < a.py:f:3");
}

/* The line is kept, and what would prove it is not. */
static void without_room_a_derivatives_derivative_is_marked(void **state)
{
	uint32_t name = resolver_fixture_add_code(&one, "", "MulBackward0");
	uint64_t line = stack_word_python(resolver_fixture_add_code(&one, "a.py", "f"), 3);
	uint64_t words[RECORD_STACK_DEPTH];
	uint32_t forward = resolver_fixture_add(&one, (uint64_t[]){APP + 1, line}, 2);

	(void)state;
	for (uint32_t i = 0; i < RECORD_STACK_DEPTH; i++)
		words[i] = APP + 0x11;
	words[RECORD_STACK_DEPTH - 1] = stack_word_origin(name, forward, false);
	uint32_t first = resolver_fixture_add(&one, words, RECORD_STACK_DEPTH);
	resolver_fixture_assert_node(
		RESOLVE(&one, LAUNCH_KERNEL, APP + 0x21, stack_word_origin(name, first, false)),
		"cuLaunchKernel < /bin/app+0x20 < [backward] MulBackward0 ≈ < /bin/app+0x0 < "
		"a.py:f:3");
}

static void an_origin_that_no_guest_writes_is_counted(void **state)
{
	uint32_t self = resolver_fixture_add(
		&one, (uint64_t[]){APP + 1, stack_word_origin(0, 1, false)}, 2);

	(void)state;
	assert_int_equal(self, 1); /* an origin that leads to itself ends */
	resolver_fixture_assert_node(resolver_fixture_node(&one, self, LAUNCH_KERNEL),
				     "cuLaunchKernel < /bin/app+0x0 < [backward] < /bin/app+0x0 < "
				     "[backward] < /bin/app+0x0 < [backward] < /bin/app+0x0 < "
				     "[backward] < /bin/app+0x0 < [backward] < /bin/app+0x0 < "
				     "[backward]");
	resolver_fixture_assert_node(RESOLVE(&one, LAUNCH_KERNEL, stack_word_origin(0, 60, false)),
				     "cuLaunchKernel < [backward]");
	assert_int_equal(resolver_fixture_counted(&one, LEDGER_UNTRUSTED_RING), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_origin_stands_between_its_forward_stack_and_the_stack),
		TEST(frames_of_the_call_of_backward_are_no_operations_own),
		TEST(what_a_checkpoint_computes_again_stands_under_its_call),
		TEST(a_derivatives_path_is_part_of_its_derivatives_path),
		TEST(without_room_a_derivatives_derivative_is_marked),
		TEST(an_origin_that_no_guest_writes_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

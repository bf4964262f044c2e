#include "inject/launch/autograd_origin.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/launch/autograd_node.h"
#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"

#define NEVER 0xdead0000u /* where no memory is */

/* Objects of libtorch, with the offsets of both ways to count references. */
struct typeinfo {
	const void *functions;
	const char *name;
};

static const struct typeinfo mul_info = {NULL, "N5torch8autograd9generated12MulBackward0E"};
static const struct {
	const struct typeinfo *info;
	const void *functions[2];
} mul_class = {&mul_info, {NULL, NULL}};

static const struct typeinfo custom_info = {NULL, "N5torch8autograd6PyNodeE"};
static const struct {
	const struct typeinfo *info;
	const void *functions[2];
} custom_class = {&custom_info, {NULL, NULL}};

static const struct typeinfo in_place_info = {NULL, "N5torch8autograd10CopySlicesE"};
static const struct {
	const struct typeinfo *info;
	const void *functions[2];
} in_place_class = {&in_place_info, {NULL, NULL}};

static struct {
	uint64_t words[8];
	uint64_t control[2];
} node;

/* What libtorch's thread-local variables hold. */
static uint64_t next_number, thread_id;
static bool makes_nodes, intrusive;
static int task;
static uint32_t nr_asked;

static uint64_t get_next_number(void)
{
	return next_number;
}

static uint64_t get_thread_id(void)
{
	return thread_id;
}

static bool get_makes_nodes(void)
{
	return makes_nodes;
}

static int get_task(void)
{
	nr_asked++;
	return task;
}

static void *get_node(void *pointer)
{
	uint64_t *words = pointer;

	words[0] = (uint64_t)(uintptr_t)node.words;
	if (intrusive) {
		node.words[1]++;
	} else {
		words[1] = (uint64_t)(uintptr_t)node.control;
		node.control[1]++;
	}
	return pointer;
}

/* A library that counts elsewhere. */
static void *get_uncounted_node(void *pointer)
{
	get_node(pointer);
	node.control[1]--;
	return pointer;
}

static void *get_lost_node(void *pointer)
{
	((uint64_t *)pointer)[0] = NEVER;
	((uint64_t *)pointer)[1] = NEVER;
	return pointer;
}

static const struct autograd_functions functions = {get_next_number, get_thread_id, get_makes_nodes,
						    get_task, get_node};

static struct test_ring ring;
static struct autograd_origin *origin;
static struct autograd_thread thread;

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	origin = autograd_origin_create(ring.guest);
	autograd_origin_use(origin, &functions);
	thread = (struct autograd_thread){0};
	next_number = 0;
	thread_id = 1;
	makes_nodes = true;
	intrusive = false;
	task = -1;
	nr_asked = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	autograd_origin_destroy(origin);
	test_ring_fini(&ring);
	return 0;
}

static struct autograd_launch look_as(bool has_python)
{
	struct autograd_launch launch;

	autograd_origin_look(origin, &thread, has_python, &launch);
	return launch;
}

static struct autograd_launch look(void)
{
	return look_as(true);
}

/* A forward operation that launches with this stack. */
static void operate(uint32_t stack_id)
{
	task = -1;
	next_number++;
	struct autograd_launch launch = look();
	assert_int_not_equal(launch.number, 0);
	assert_int_equal(launch.word, 0);
	autograd_origin_remember(origin, &launch, stack_id);
}

static void set_node(uint64_t number, uint64_t its_thread)
{
	memset(&node, 0, sizeof(node));
	node.words[0] = (uint64_t)(uintptr_t)mul_class.functions;
	node.words[intrusive ? 2 : 3] = number;
	node.words[intrusive ? 5 : 6] = its_thread;
	node.control[1] = 2;
	if (intrusive)
		node.words[1] = 1ull << 32 | 2;
}

/* The launch of a node of this number, on the engine's thread. Its reference is given back. */
static struct autograd_launch evaluate(uint64_t number, uint64_t its_thread)
{
	set_node(number, its_thread);
	task = 5;
	makes_nodes = false;
	struct autograd_launch launch = look_as(false);
	makes_nodes = true;
	assert_int_equal(intrusive ? (uint32_t)node.words[1] : node.control[1], 2);
	return launch;
}

static uint32_t stack_of(const struct autograd_launch *launch)
{
	assert_true(stack_word_is_origin(launch->word));
	assert_int_not_equal(stack_word_origin_name(launch->word), 0);
	return stack_word_origin_stack(launch->word);
}

static void a_node_has_the_stack_of_its_operation(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		tear_down(NULL);
		set_up(NULL);
		intrusive = i;
		operate(11);
		operate(12);
		struct autograd_launch launch = evaluate(next_number - 2, 1);
		assert_int_equal(stack_of(&launch), 11);
		assert_int_equal(launch.number, 0);
		assert_false(stack_word_origin_is_near(launch.word));
		launch = evaluate(next_number - 1, 1);
		assert_int_equal(stack_of(&launch), 12);
	}
}

static void the_first_launch_of_an_operation_counts(void **state)
{
	(void)state;
	operate(11);
	struct autograd_launch launch = look();
	autograd_origin_remember(origin, &launch, 12);
	launch = evaluate(0, 1);
	assert_int_equal(stack_of(&launch), 11);
}

static void numbers_of_threads_are_apart(void **state)
{
	(void)state;
	operate(11);
	thread_id = 2;
	next_number = 0;
	operate(12);
	struct autograd_launch launch = evaluate(0, 1);
	assert_int_equal(stack_of(&launch), 11);
	launch = evaluate(0, 2);
	assert_int_equal(stack_of(&launch), 12);
}

static void a_number_without_a_launch_has_its_neighbours_stack(void **state)
{
	(void)state;
	operate(11);
	next_number += 2; /* two views */
	struct autograd_launch launch = evaluate(next_number - 1, 1);
	assert_int_equal(stack_of(&launch), 11);
	assert_true(stack_word_origin_is_near(launch.word));
	next_number++;
	assert_true(evaluate(next_number - 1, 1).wants_caller);
}

static void a_function_without_a_launch_is_its_callers(void **state)
{
	(void)state;
	operate(11);
	next_number++;
	evaluate(0, 1); /* the pass is known */
	set_node(next_number - 1, 1);
	node.words[0] = (uint64_t)(uintptr_t)custom_class.functions;
	assert_true(look_as(true).wants_caller);
	thread.caller_stack_id = 21;
	struct autograd_launch launch = look_as(true);
	assert_int_equal(stack_of(&launch), 21);
	assert_false(stack_word_origin_is_near(launch.word));
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_ORIGIN_UNKNOWN).count,
			 0);
}

static void a_function_has_the_stack_of_its_own_launch(void **state)
{
	(void)state;
	operate(11);
	set_node(next_number - 1, 1);
	node.words[0] = (uint64_t)(uintptr_t)custom_class.functions;
	task = 5;
	struct autograd_launch launch = look_as(false);
	assert_int_equal(stack_of(&launch), 11);
	assert_false(stack_word_origin_is_near(launch.word));
}

static struct autograd_launch evaluate_in_place(uint64_t number)
{
	set_node(number, 1);
	node.words[0] = (uint64_t)(uintptr_t)in_place_class.functions;
	task = 5;
	makes_nodes = false;
	struct autograd_launch launch = look_as(false);
	makes_nodes = true;
	return launch;
}

/* Its own node has the number before that of CopySlices. A node of the view may follow. */
static void an_operation_in_place_on_a_view_has_the_number_before(void **state)
{
	(void)state;
	operate(11);
	operate(12);
	next_number += 2;
	struct autograd_launch launch = evaluate_in_place(2);
	assert_int_equal(stack_of(&launch), 12);
	assert_false(stack_word_origin_is_near(launch.word));
	/* a launch that makes no node comes after it, and has its number */
	task = -1;
	next_number--;
	launch = look();
	autograd_origin_remember(origin, &launch, 13);
	launch = evaluate_in_place(2);
	assert_int_equal(stack_of(&launch), 12);
	assert_false(stack_word_origin_is_near(launch.word));
}

/* A hook of a saved tensor, or a function of the user's own that works in place. */
static void what_an_operation_in_place_calls_is_a_neighbour(void **state)
{
	(void)state;
	next_number = 1;
	makes_nodes = false;
	struct autograd_launch launch = look();
	autograd_origin_remember(origin, &launch, 11);
	makes_nodes = true;
	launch = look(); /* the operation's own */
	autograd_origin_remember(origin, &launch, 12);
	next_number = 2;
	launch = evaluate_in_place(1);
	assert_int_equal(stack_of(&launch), 11);
	assert_true(stack_word_origin_is_near(launch.word));
	/* for other nodes the names, or the call, prove the line */
	launch = evaluate(0, 1);
	assert_int_equal(stack_of(&launch), 11);
	assert_false(stack_word_origin_is_near(launch.word));
}

static void an_operation_in_place_without_a_launch_has_its_neighbours_stack(void **state)
{
	(void)state;
	operate(11);
	next_number += 2;
	struct autograd_launch launch = look();
	autograd_origin_remember(origin, &launch, 12); /* under the number of CopySlices */
	launch = evaluate_in_place(2);
	assert_int_equal(stack_of(&launch), 11);
	assert_true(stack_word_origin_is_near(launch.word));
	assert_true(evaluate_in_place(0).wants_caller); /* there is no number before */
}

static void a_number_whose_place_was_taken_has_no_neighbour(void **state)
{
	(void)state;
	operate(11);
	operate(12);
	next_number += AUTOGRAD_ORIGIN_SLOTS - 1;
	operate(13);
	assert_true(evaluate(1, 1).wants_caller);
	struct autograd_launch launch = evaluate(1, 1);
	assert_int_equal(stack_of(&launch), RECORD_STACK_NONE);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_ORIGIN_UNKNOWN).count,
			 1);
}

static void without_an_operation_the_caller_is_asked_for_once_in_a_pass(void **state)
{
	(void)state;
	assert_true(evaluate(AUTOGRAD_NODE_NO_NUMBER, 0).wants_caller);
	thread.caller_stack_id = 21;
	for (int i = 0; i < 3; i++) {
		struct autograd_launch launch = evaluate(AUTOGRAD_NODE_NO_NUMBER, 0);

		assert_false(launch.wants_caller);
		assert_int_equal(stack_of(&launch), 21);
	}
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_ORIGIN_UNKNOWN).count,
			 0);
	set_node(AUTOGRAD_NODE_NO_NUMBER, 0);
	task = 6;
	assert_true(look_as(false).wants_caller);
}

static void a_thread_that_evaluates_in_its_own_call_has_no_origin_but_its_frames(void **state)
{
	(void)state;
	operate(11);
	set_node(AUTOGRAD_NODE_NO_NUMBER, 0);
	task = 5;
	makes_nodes = false;
	struct autograd_launch launch = look();
	assert_int_equal(launch.word, 0);
	assert_false(launch.wants_caller);
	set_node(0, 1);
	launch = look();
	assert_int_equal(stack_of(&launch), 11);
}

static void an_engine_thread_stays_one_within_python_functions(void **state)
{
	(void)state;
	evaluate(AUTOGRAD_NODE_NO_NUMBER, 0);
	thread.caller_stack_id = 21;
	struct autograd_launch launch = look(); /* a hook */
	assert_int_equal(stack_of(&launch), 21);
}

static void *get_no_node(void *pointer)
{
	return pointer;
}

static void the_engines_own_work_is_its_callers(void **state)
{
	struct autograd_functions without = functions;
	struct autograd_launch launch;

	(void)state;
	without.node = get_no_node;
	autograd_origin_use(origin, &without);
	task = 5;
	makes_nodes = false;
	assert_int_equal(look().word, 0); /* it has Python frames of its own */
	autograd_origin_look(origin, &thread, false, &launch);
	assert_true(launch.wants_caller);
	thread.caller_stack_id = 21;
	autograd_origin_look(origin, &thread, false, &launch);
	assert_int_equal(launch.word, stack_word_origin(0, 21, false));
	/* A callback at the pass's end that is a Python function. */
	assert_int_equal(look().word, stack_word_origin(0, 21, false));
}

static void operations_within_a_pass_have_numbers_if_nodes_are_made(void **state)
{
	(void)state;
	operate(11);
	set_node(0, 1);
	task = 5;
	next_number++;
	struct autograd_launch launch = look();
	assert_int_not_equal(launch.number, 0);
	assert_int_equal(stack_of(&launch), 11);
	/* A user's function, of which a node was made before it makes none. */
	makes_nodes = false;
	assert_int_not_equal(look().number, 0);
	assert_int_equal(look_as(false).number, 0);
	thread.node = 0; /* the evaluation of another node begins */
	assert_int_equal(look().number, 0);
}

static void nothing_is_made_before_the_first_node(void **state)
{
	(void)state;
	assert_int_equal(look().number, 0);
}

static void threads_are_many(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 20000; i++) {
		thread_id = i;
		next_number = 0;
		operate(i);
	}
	struct autograd_launch launch = evaluate(0, 20000);
	assert_int_equal(stack_of(&launch), 20000);
}

static void numbers_beyond_all_bounds_have_no_place(void **state)
{
	(void)state;
	next_number = 1ull << 40;
	assert_int_equal(look().number, 0);
	next_number = 1;
	thread_id = 1ull << 32;
	assert_int_equal(look().number, 0);
	assert_true(evaluate(1ull << 40, 1).wants_caller);
	assert_int_equal(autograd_origin_state(origin), AUTOGRAD_READY);
}

static void nodes_that_cannot_be_switch_it_off(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		tear_down(NULL);
		set_up(NULL);
		struct autograd_functions lost = functions;
		if (i == 0)
			lost.node = get_lost_node;
		else if (i == 3)
			lost.node = get_uncounted_node;
		autograd_origin_use(origin, &lost);
		set_node(i == 1 ? 1ull << 60 : 0, i == 2 ? 1ull << 60 : 1);
		task = 5;
		makes_nodes = false;
		assert_int_equal(look_as(false).word, 0);
		assert_int_equal(autograd_origin_state(origin), AUTOGRAD_REFUSED);
		assert_string_not_equal(autograd_origin_text(origin), "");
		assert_int_equal(look().word, 0);
	}
}

/* Nodes of operations before a window. */
static void numbers_that_hit_nothing_are_counted(void **state)
{
	(void)state;
	evaluate(AUTOGRAD_NODE_NO_NUMBER, 0);
	for (uint32_t i = 0; i < 2000; i++)
		evaluate(100 * i, 1);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_ORIGIN_UNKNOWN).count,
			 2000);
	operate(11);
	struct autograd_launch launch = evaluate(next_number - 1, 1);
	assert_int_equal(stack_of(&launch), 11);
}

static void a_reference_of_another_layout_is_refused_and_left_alone(void **state)
{
	(void)state;
	operate(11);
	evaluate(0, 1);
	set_node(0, 1);
	uint64_t *half = &node.words[1];
	*half = 77;
	intrusive = true;
	task = 5;
	assert_int_equal(look_as(false).word, 0);
	assert_int_equal(*half, 78); /* as libtorch left it */
	assert_int_equal(autograd_origin_state(origin), AUTOGRAD_REFUSED);
}

/* The first touch of the pass's variable takes the loader's lock. */
static void threads_that_never_used_pytorch_are_not_asked_for_their_pass(void **state)
{
	(void)state;
	task = 5;
	set_node(AUTOGRAD_NODE_NO_NUMBER, 0);
	look_as(true);
	look_as(false);
	assert_int_equal(nr_asked, 0);
	makes_nodes = false;
	assert_true(look_as(false).wants_caller);
	assert_int_not_equal(nr_asked, 0);
}

static void processes_without_pytorch_have_no_origins(void **state)
{
	(void)state;
	struct autograd_origin *without = autograd_origin_create(ring.guest);
	struct autograd_launch launch;

	assert_int_equal(autograd_origin_find(without), AUTOGRAD_NONE);
	autograd_origin_look(without, &thread, true, &launch);
	assert_int_equal(launch.number, 0);
	autograd_origin_destroy(without);
}

/* Loads a library under this name, and looks for PyTorch. The library stays. */
static enum autograd_state find_as(const char *library, const char *name)
{
	struct autograd_origin *own = autograd_origin_create(ring.guest);
	char directory[] = "/tmp/flamegrid-test.XXXXXX", path[64];

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(symlink(library, path), 0);
	assert_non_null(dlopen(path, RTLD_LAZY));
	enum autograd_state state = autograd_origin_find(own);
	autograd_origin_destroy(own);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
	return state;
}

static void pytorchs_library_may_have_a_version_behind_its_name(void **state)
{
	(void)state;
	assert_int_equal(find_as(OLD_TORCH, "libtorch_cpu.so2"), AUTOGRAD_NONE);
	assert_int_equal(find_as(FAKE_TORCH, "libtorch_cpu.so.2.6"), AUTOGRAD_READY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_has_the_stack_of_its_operation),
		TEST(the_first_launch_of_an_operation_counts),
		TEST(numbers_of_threads_are_apart),
		TEST(a_number_without_a_launch_has_its_neighbours_stack),
		TEST(a_function_without_a_launch_is_its_callers),
		TEST(a_function_has_the_stack_of_its_own_launch),
		TEST(an_operation_in_place_on_a_view_has_the_number_before),
		TEST(what_an_operation_in_place_calls_is_a_neighbour),
		TEST(an_operation_in_place_without_a_launch_has_its_neighbours_stack),
		TEST(a_number_whose_place_was_taken_has_no_neighbour),
		TEST(without_an_operation_the_caller_is_asked_for_once_in_a_pass),
		TEST(the_engines_own_work_is_its_callers),
		TEST(a_thread_that_evaluates_in_its_own_call_has_no_origin_but_its_frames),
		TEST(an_engine_thread_stays_one_within_python_functions),
		TEST(operations_within_a_pass_have_numbers_if_nodes_are_made),
		TEST(threads_are_many),
		TEST(nothing_is_made_before_the_first_node),
		TEST(numbers_beyond_all_bounds_have_no_place),
		TEST(nodes_that_cannot_be_switch_it_off),
		TEST(numbers_that_hit_nothing_are_counted),
		TEST(a_reference_of_another_layout_is_refused_and_left_alone),
		TEST(threads_that_never_used_pytorch_are_not_asked_for_their_pass),
		TEST(processes_without_pytorch_have_no_origins),
		TEST(pytorchs_library_may_have_a_version_behind_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

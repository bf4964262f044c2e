#include "inject/launch/kernel_context.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"
#include "tests/support/fake_torch/fake_model.h"

#define FRAMES 3u

static struct test_ring ring;
static struct kernel_contexts *contexts;
static void *model;
static void (*call)(const char *trace, size_t size, void (*launch)(void *), void *user);
static void (*call_with)(struct fake_context *context, void (*launch)(void *), void *user);

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	contexts = kernel_contexts_create(ring.guest);
	return 0;
}

static void unload(void)
{
	if (model)
		assert_int_equal(dlclose(model), 0);
	model = NULL;
}

static int tear_down(void **state)
{
	(void)state;
	unload();
	kernel_contexts_destroy(contexts);
	test_ring_fini(&ring);
	return 0;
}

static void load(void)
{
	model = dlopen(FAKE_MODEL, RTLD_NOW);
	assert_non_null(model);
	call = (void (*)(const char *, size_t, void (*)(void *), void *))dlsym(model,
									       "fake_model_call");
	call_with = (void (*)(struct fake_context *, void (*)(void *), void *))dlsym(
		model, "fake_model_call_with");
	assert_non_null(call);
	assert_non_null(call_with);
}

static uint64_t look_from(uint64_t frame, uint64_t low)
{
	const uint64_t frames[FRAMES] = {(uint64_t)(uintptr_t)&look_from, frame,
					 stack_word_mark(STACK_MARK_MISSING)};
	const struct kernel_context_stack stack = {frames, FRAMES, low, low + 65536};

	return kernel_contexts_word(contexts, &stack);
}

/* A launch of the model's: its caller is the model. */
static __attribute__((noinline)) void launch(void *word)
{
	*(uint64_t *)word = look_from((uint64_t)(uintptr_t)__builtin_return_address(0),
				      (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static uint64_t word_of(const char *trace)
{
	uint64_t word = 1;

	call(trace, strlen(trace), launch, &word);
	return word;
}

static void assert_lines(uint64_t word, const char *lines)
{
	struct record_ring_code code;

	assert_true(stack_word_is_lines(word));
	assert_int_equal(record_ring_read_code(ring.agent, stack_word_range_code(word), &code), 0);
	assert_int_equal(code.file_size, 0);
	assert_int_equal(code.name_size, strlen(lines));
	assert_memory_equal(code.name, lines, code.name_size);
}

static void model_is_known_while_it_is_loaded(void **state)
{
	(void)state;
	kernel_contexts_find(contexts);
	assert_false(kernel_contexts_any(contexts));
	for (int i = 0; i < 3; i++) {
		load();
		kernel_contexts_find(contexts);
		assert_true(kernel_contexts_any(contexts));
		assert_lines(word_of("File \"/u/model.py\", line 12, in forward\n"),
			     "model.py:forward:12");
		unload();
		/* Nothing keeps the library. */
		assert_null(dlopen(FAKE_MODEL, RTLD_NOW | RTLD_NOLOAD));
		kernel_contexts_find(contexts);
		assert_false(kernel_contexts_any(contexts));
	}
	assert_string_equal(kernel_contexts_text(contexts), "");
}

static void equal_tracebacks_have_one_word(void **state)
{
	char same[] = "File \"/u/model.py\", line 12, in forward\n";

	(void)state;
	load();
	kernel_contexts_find(contexts);
	uint64_t word = word_of("File \"/u/model.py\", line 12, in forward\n");
	assert_true(word_of(same) == word);
	assert_lines(word_of("File \"/u/model.py\", line 13, in forward\n"), "model.py:forward:13");
}

/* A launch elsewhere, while the variable is set. */
static void launch_elsewhere(void *word)
{
	*(uint64_t *)word = look_from((uint64_t)(uintptr_t)&launch_elsewhere,
				      (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static void launches_without_the_models_code_have_no_lines(void **state)
{
	static const char trace[] = "File \"a.py\", line 1, in f";
	uint64_t word = 1;

	(void)state;
	load();
	kernel_contexts_find(contexts);
	call(trace, sizeof(trace) - 1, launch_elsewhere, &word);
	assert_int_equal(word, 0);
	word = 1;
	call_with(NULL, launch, &word);
	assert_int_equal(word, 0);
}

/* A library that needs the model has thread-local variables, but not this one. */
static void library_that_needs_a_model_is_none(void **state)
{
	void *user = dlopen(FAKE_MODEL_USER, RTLD_NOW);

	(void)state;
	assert_non_null(user);
	load();
	kernel_contexts_find(contexts);
	assert_lines(word_of("File \"a.py\", line 1, in f"), "a.py:f:1");
	dlclose(user);
}

static void *run_thread(void *word)
{
	*(uint64_t *)word = word_of("File \"a.py\", line 2, in f");
	return NULL;
}

static void each_thread_has_its_own(void **state)
{
	uint64_t word = 1;
	pthread_t thread;

	(void)state;
	load();
	kernel_contexts_find(contexts);
	assert_lines(word_of("File \"a.py\", line 1, in f"), "a.py:f:1");
	assert_int_equal(pthread_create(&thread, NULL, run_thread, &word), 0);
	pthread_join(thread, NULL);
	assert_lines(word, "a.py:f:2");
}

static void kernel_without_tracebacks_has_no_lines(void **state)
{
	(void)state;
	load();
	kernel_contexts_find(contexts);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(word_of(""), 0);
		assert_int_equal(word_of("no traceback"), 0);
	}
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL).count,
			 0);
}

static uint64_t word_with(struct fake_context *context)
{
	uint64_t word = 1;

	call_with(context, launch, &word);
	return word;
}

/* They have no lines, and the others have. */
static void objects_of_another_kind_are_left_out(void **state)
{
	static const char trace[] = "File \"a.py\", line 1, in f";
	struct fake_context good = {.trace = {trace, sizeof(trace) - 1, ""}}, bad = good;
	struct fake_context *away = malloc(sizeof(*away)); /* on no stack */

	(void)state;
	load();
	kernel_contexts_find(contexts);
	for (int i = 0; i < 100; i++)
		assert_lines(word_with(&good), "a.py:f:1");
	assert_int_equal(word_with((struct fake_context *)0x1000), 0);
	*away = good;
	assert_int_equal(word_with(away), 0);
	free(away);
	assert_string_equal(kernel_contexts_text(contexts), "");
	bad.trace.data = (const char *)0xdead0000;
	assert_int_equal(word_with(&bad), 0);
	assert_string_equal(
		kernel_contexts_text(contexts),
		"kernels of AOTInductor have no lines: their contexts are not as they should be");
	assert_lines(word_with(&good), "a.py:f:1");
}

static void of_a_very_long_traceback_the_begin_is_read(void **state)
{
	static char trace[200000];

	(void)state;
	memset(trace, 'x', sizeof(trace));
	memcpy(trace, "File \"a.py\", line 1, in f\n\n", 27);
	load();
	kernel_contexts_find(contexts);
	struct fake_context context = {.trace = {trace, sizeof(trace), ""}};
	assert_lines(word_with(&context), "a.py:f:1");
	context.trace.size = 1ull << 40;
	assert_lines(word_with(&context), "a.py:f:1");
}

static void lines_without_room_are_counted(void **state)
{
	(void)state;
	load();
	kernel_contexts_find(contexts);
	while (record_ring_add_code(ring.guest, "a.py", 4, "f", 1))
		;
	for (int i = 0; i < 3; i++)
		assert_int_equal(word_of("File \"b.py\", line 1, in g"), 0);
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL).count,
			 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(model_is_known_while_it_is_loaded),
		TEST(equal_tracebacks_have_one_word),
		TEST(launches_without_the_models_code_have_no_lines),
		TEST(library_that_needs_a_model_is_none),
		TEST(each_thread_has_its_own),
		TEST(kernel_without_tracebacks_has_no_lines),
		TEST(objects_of_another_kind_are_left_out),
		TEST(of_a_very_long_traceback_the_begin_is_read),
		TEST(lines_without_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "inject/launch/kernel_context.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "proto/stack_word.h"
#include "tests/inject/test_ring.h"
#include "tests/support/fake_torch/fake_model.h"

static struct test_ring ring;
static struct kernel_contexts *contexts;
static void (*set)(struct fake_context *context);

static int set_up(void **state)
{
	(void)state;
	test_ring_init(&ring);
	contexts = kernel_contexts_create(ring.guest);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (set)
		set(NULL);
	kernel_contexts_destroy(contexts);
	test_ring_fini(&ring);
	return 0;
}

static void load(void)
{
	void *library = dlopen(FAKE_MODEL, RTLD_NOW);

	assert_non_null(library);
	set = (void (*)(struct fake_context *))dlsym(library, "fake_model_set");
	assert_non_null(set);
}

static struct fake_context context_of(const char *trace)
{
	return (struct fake_context){.name = {"triton_0", 8, ""},
				     .trace = {trace, strlen(trace), ""}};
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

/* First of all tests: nothing has loaded the model. */
static void without_a_model_there_is_none(void **state)
{
	(void)state;
	kernel_contexts_find(contexts);
	assert_false(kernel_contexts_any(contexts));
	assert_int_equal(kernel_contexts_word(contexts), 0);
}

static void model_is_found_once_and_its_lines_are_told(void **state)
{
	struct fake_context one = context_of("File \"/u/model.py\", line 12, in forward\n"),
			    same = context_of("File \"/u/model.py\", line 12, in forward\n"),
			    other = context_of("File \"/u/model.py\", line 13, in forward\n");

	(void)state;
	kernel_contexts_find(contexts);
	load();
	assert_false(kernel_contexts_any(contexts));
	for (int i = 0; i < 3; i++)
		kernel_contexts_find(contexts);
	assert_true(kernel_contexts_any(contexts));
	assert_int_equal(kernel_contexts_word(contexts), 0);
	set(&one);
	uint64_t word = kernel_contexts_word(contexts);
	assert_lines(word, "model.py:forward:12");
	set(&same);
	assert_true(kernel_contexts_word(contexts) == word);
	set(&other);
	assert_lines(kernel_contexts_word(contexts), "model.py:forward:13");
	set(NULL);
	assert_int_equal(kernel_contexts_word(contexts), 0);
}

/* A library that needs the model would find its variable, too. */
static void library_that_needs_a_model_is_none(void **state)
{
	struct fake_context one = context_of("File \"a.py\", line 1, in f");

	(void)state;
	assert_non_null(dlopen(FAKE_MODEL_USER, RTLD_NOW));
	load();
	kernel_contexts_find(contexts);
	set(&one);
	assert_lines(kernel_contexts_word(contexts), "a.py:f:1");
}

static void *word_of_this_thread(void *word)
{
	*(uint64_t *)word = kernel_contexts_word(contexts);
	return NULL;
}

static void each_thread_has_its_own(void **state)
{
	struct fake_context one = context_of("File \"a.py\", line 1, in f");
	uint64_t word = 1;
	pthread_t thread;

	(void)state;
	load();
	kernel_contexts_find(contexts);
	set(&one);
	assert_int_equal(pthread_create(&thread, NULL, word_of_this_thread, &word), 0);
	pthread_join(thread, NULL);
	assert_int_equal(word, 0);
	assert_lines(kernel_contexts_word(contexts), "a.py:f:1");
}

static void kernel_without_tracebacks_has_no_lines(void **state)
{
	struct fake_context empty = context_of(""), other = context_of("no traceback");

	(void)state;
	load();
	kernel_contexts_find(contexts);
	for (int i = 0; i < 3; i++) {
		set(&empty);
		assert_int_equal(kernel_contexts_word(contexts), 0);
		set(&other);
		assert_int_equal(kernel_contexts_word(contexts), 0);
	}
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL).count,
			 0);
}

/* Each of them switches it off, also for what is as it should be. */
static void objects_of_another_kind_switch_it_off(void **state)
{
	static char no_end[] = "File \"a.py\", line 1, in f";
	const char *nowhere = (const char *)0xdead0000;
	struct fake_context good = context_of(no_end), bad[4];

	(void)state;
	load();
	bad[0] = bad[1] = bad[2] = bad[3] = good;
	bad[0].name.data = nowhere;
	bad[1].trace.size = 1ull << 40;
	bad[2].trace.size--; /* no NUL behind it */
	bad[3].trace.data = nowhere;
	for (size_t i = 0; i <= sizeof(bad) / sizeof(*bad); i++) {
		kernel_contexts_destroy(contexts);
		contexts = kernel_contexts_create(ring.guest);
		kernel_contexts_find(contexts);
		set(&good);
		assert_lines(kernel_contexts_word(contexts), "a.py:f:1");
		set(i < 4 ? &bad[i] : (struct fake_context *)0xdead0000);
		assert_int_equal(kernel_contexts_word(contexts), 0);
		set(&good);
		assert_int_equal(kernel_contexts_word(contexts), 0);
	}
}

static void lines_without_room_are_counted_once(void **state)
{
	char trace[64];
	struct fake_context one;
	uint64_t word;

	(void)state;
	load();
	kernel_contexts_find(contexts);
	while (record_ring_add_code(ring.guest, "a.py", 4, "f", 1))
		;
	snprintf(trace, sizeof(trace), "File \"b.py\", line 1, in g");
	one = context_of(trace);
	set(&one);
	for (int i = 0; i < 3; i++) {
		word = kernel_contexts_word(contexts);
		assert_int_equal(word, 0);
	}
	assert_int_equal(test_ring_ledger(&ring, LEDGER_DEVICE_NONE, LEDGER_CODE_TABLE_FULL).count,
			 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_model_there_is_none),
		TEST(model_is_found_once_and_its_lines_are_told),
		TEST(library_that_needs_a_model_is_none),
		TEST(each_thread_has_its_own),
		TEST(kernel_without_tracebacks_has_no_lines),
		TEST(objects_of_another_kind_switch_it_off),
		TEST(lines_without_room_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

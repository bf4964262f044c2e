/* Reads the frames of a thread of an interpreter that is made up, in the layouts of 3.11 and 3.12. */
#include "python/python_standing.h"

#include "tests/support/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

#include "fake_objects.h"
#include "proto/stack_word.h"
#include "python/python_code.h"
#include "python/python_texts.h"
#include "tests/inject/test_ring.h"

#define WORDS 16u

static const char *const functions[] = {"backward", NULL};
static const struct python_place place = {"torch/autograd/", functions};

static struct test_ring ring;
static struct python_codes *codes;
static struct python_library library;
static struct python_standing remembered;
static struct fake_object runtime, interpreter, own, other, c_frame, types[3];
static struct fake_object frames[2]; /* the innermost first */
static struct fake_code backward, train;
static uint64_t words[WORDS];

static void *own_thread(void)
{
	return &own;
}

static void put_code(struct fake_code *code, const char *file, const char *name, uint32_t version)
{
	fake_code_fill(code, &library, file, name, 10);
	if (library.layout.code_version != PYTHON_LAYOUT_NONE)
		fake_object_put32(&code->code, library.layout.code_version, version);
}

static void put_frame(struct fake_object *frame, const struct fake_code *code,
		      const struct fake_object *back)
{
	const struct python_layout *layout = &library.layout;
	const uint64_t address = fake_object_address(&code->code);

	memset(frame, 0, sizeof(*frame));
	fake_object_put64(frame, layout->frame_code, address);
	fake_object_put64(frame, layout->frame_instruction, address + layout->code_bytecode + 2);
	fake_object_put64(frame, layout->frame_back, back ? fake_object_address(back) : 0);
}

/* One thread stands in backward(), which train() called; this thread runs nothing. */
static void put_interpreter(unsigned minor)
{
	const struct python_layout *layout = &library.layout;

	library.layout = *python_layout_of(minor);
	python_texts_unmap(&remembered.texts);
	memset(&remembered, 0, sizeof(remembered));
	memset(&runtime, 0, sizeof(runtime));
	memset(&interpreter, 0, sizeof(interpreter));
	memset(&own, 0, sizeof(own));
	memset(&other, 0, sizeof(other));
	library.layout.runtime_interpreters = 8;
	library.layout.interpreter_threads = 8;
	library.runtime = fake_object_address(&runtime);
	library.this_thread_state = own_thread;
	library.code_type = fake_object_address(&types[0]);
	library.string_type = fake_object_address(&types[1]);
	library.bytes_type = fake_object_address(&types[2]);
	fake_object_put64(&runtime, layout->runtime_interpreters,
			  fake_object_address(&interpreter));
	fake_object_put64(&interpreter, layout->interpreter_threads, fake_object_address(&own));
	fake_object_put64(&own, layout->thread_next, fake_object_address(&other));
	fake_object_put64(&other, layout->thread_frame, fake_object_address(&c_frame));
	fake_object_put64(&c_frame, layout->c_frame_frame, fake_object_address(&frames[0]));
	put_code(&backward, "/v/torch/autograd/graph.py", "backward", 7);
	put_code(&train, "train.py", "train", 8);
	put_frame(&frames[0], &backward, &frames[1]);
	put_frame(&frames[1], &train, NULL);
}

static int set_up(void **state)
{
	(void)state;
	test_ring_init_sizes(&ring, &RECORD_RING_SIZES_DEFAULT);
	codes = calloc(1, sizeof(*codes));
	codes->ring = ring.guest;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	python_texts_unmap(&remembered.texts);
	free(codes);
	test_ring_fini(&ring);
	return 0;
}

static uint32_t walk(void)
{
	bool cut;
	uint32_t nr =
		python_standing_walk(&library, codes, &remembered, &place, words, WORDS, &cut);

	assert_false(cut);
	return nr;
}

static void assert_frame(uint64_t word, const char *file, const char *name)
{
	struct record_ring_code code;

	assert_true(stack_word_is_python(word));
	assert_int_equal(record_ring_read_code(ring.agent, stack_word_code_id(word), &code), 0);
	assert_int_equal(code.file_size, strlen(file));
	assert_memory_equal(code.file, file, code.file_size);
	assert_int_equal(code.name_size, strlen(name));
	assert_memory_equal(code.name, name, code.name_size);
}

static void frames_are_the_same_each_time(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		put_interpreter(minor);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(walk(), 2);
			assert_frame(words[0], "/v/torch/autograd/graph.py", "backward");
			assert_frame(words[1], "train.py", "train");
			assert_int_equal(stack_word_line(words[1]), 11);
		}
	}
}

/* The caller runs another instruction, and so another line. */
static void another_instruction_has_its_own_line(void **state)
{
	(void)state;
	put_interpreter(12);
	walk();
	fake_object_put64(&frames[1], library.layout.frame_instruction,
			  fake_object_address(&train.code) + library.layout.code_bytecode + 4);
	assert_int_equal(walk(), 2);
	assert_int_equal(stack_word_line(words[1]), 12);
}

static void another_code_at_the_same_address_has_its_own_names(void **state)
{
	(void)state;
	for (unsigned minor = 11; minor <= 12; minor++) {
		put_interpreter(minor);
		walk();
		put_code(&train, "eval.py", "score", 9);
		assert_int_equal(walk(), 2);
		assert_frame(words[1], "eval.py", "score");
	}
}

/* What is remembered is not read again. */
static void names_of_a_code_are_read_once(void **state)
{
	(void)state;
	put_interpreter(12);
	walk();
	uint64_t word = words[1];
	put_code(&train, "eval.py", "score", 8);
	assert_int_equal(walk(), 2);
	assert_true(words[1] == word);
	/* Without a number of its own a code is always read. */
	put_code(&train, "eval.py", "score", 0);
	assert_int_equal(walk(), 2);
	assert_frame(words[1], "eval.py", "score");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_are_the_same_each_time),
		TEST(another_instruction_has_its_own_line),
		TEST(another_code_at_the_same_address_has_its_own_names),
		TEST(names_of_a_code_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

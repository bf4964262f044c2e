#include "python/python_code.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_objects.h"
#include "proto/stack_word.h"
#include "python/python_texts.h"
#include "tests/inject/test_ring.h"

#define THREADS     4
#define RACED_CODES 100
#define ROUNDS      200
#define FEW_CODES   64

struct fixture {
	struct test_ring ring;
	struct python_library library;
	struct python_codes *codes;
	struct python_texts *texts;
	struct fake_code code;
};

static void set_up_with(struct fixture *fixture, unsigned minor, uint32_t nr_codes)
{
	struct record_ring_sizes sizes = RECORD_RING_SIZES_DEFAULT;

	sizes.codes = nr_codes;
	test_ring_init_sizes(&fixture->ring, &sizes);
	fixture->library.layout = *python_layout_of(minor);
	fixture->library.code_type = 0x1000;
	fixture->library.string_type = 0x2000;
	fixture->library.bytes_type = 0x3000;
	fixture->codes = calloc(1, sizeof(*fixture->codes));
	assert_non_null(fixture->codes);
	fixture->codes->ring = fixture->ring.guest;
	fake_code_fill(&fixture->code, &fixture->library, "train.py", "Model.step", 10);
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	set_up_with(*state, 12, 1024);
	return 0;
}

static int set_up_3_11(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	set_up_with(*state, 11, 1024);
	return 0;
}

static int set_up_few(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	set_up_with(*state, 12, FEW_CODES);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	python_texts_unmap(&fixture->texts);
	free(fixture->codes);
	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

static uint64_t word_with(struct fixture *fixture, struct python_texts **texts,
			  const struct fake_code *code, int32_t instruction)
{
	return python_codes_word(fixture->codes, &fixture->library, texts,
				 fake_object_address(&code->code), instruction);
}

static uint64_t word_of(struct fixture *fixture, const struct fake_code *code, int32_t instruction)
{
	return word_with(fixture, &fixture->texts, code, instruction);
}

static uint64_t identity(struct fixture *fixture)
{
	return python_code_identity(&fixture->library.layout,
				    fake_object_address(&fixture->code.code));
}

static void assert_names(struct fixture *fixture, uint64_t word, const char *file, const char *name)
{
	static struct record_ring_code code;

	assert_true(stack_word_is_python(word));
	assert_int_equal(
		record_ring_read_code(fixture->ring.agent, stack_word_code_id(word), &code), 0);
	assert_int_equal(code.file_size, strlen(file));
	assert_memory_equal(code.file, file, code.file_size);
	assert_int_equal(code.name_size, strlen(name));
	assert_memory_equal(code.name, name, code.name_size);
}

static void word_names_the_function_and_the_line(void **state)
{
	struct fixture *fixture = *state;
	uint64_t word = word_of(fixture, &fixture->code, 6);

	assert_names(fixture, word, "train.py", "Model.step");
	assert_int_equal(stack_word_line(word), 13);
	assert_int_equal(stack_word_line(word_of(fixture, &fixture->code, 0)), 10);
}

static void equal_names_have_one_id_whatever_the_code(void **state)
{
	struct fixture *fixture = *state;
	struct fake_code other, different;

	fake_code_fill(&other, &fixture->library, "train.py", "Model.step", 99);
	fake_code_fill(&different, &fixture->library, "train.pyM", "odel.step", 99);
	uint64_t word = word_of(fixture, &fixture->code, 0);
	assert_int_equal(stack_word_code_id(word_of(fixture, &other, 0)), stack_word_code_id(word));
	assert_int_equal(stack_word_line(word_of(fixture, &other, 0)), 99);
	word = word_of(fixture, &different, 0);
	assert_names(fixture, word, "train.pyM", "odel.step");
}

static void identity_differs_with_anything_that_tells_codes_apart(void **state)
{
	struct fixture *fixture = *state;
	const struct python_layout *layout = &fixture->library.layout;
	const uint16_t fields[] = {layout->code_qualified_name, layout->code_file,
				   layout->code_lines};
	struct fake_object elsewhere;
	uint64_t before = identity(fixture);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t old = python_load(fake_object_address(&fixture->code.code) + fields[i]);

		memcpy(&elsewhere, (const void *)(uintptr_t)old, sizeof(elsewhere));
		fake_object_put64(&fixture->code.code, fields[i], fake_object_address(&elsewhere));
		assert_int_not_equal(identity(fixture), before);
		fake_object_put64(&fixture->code.code, fields[i], old);
		assert_int_equal(identity(fixture), before);
	}
	fake_object_put32(&fixture->code.code, layout->code_first_line, 11);
	assert_int_not_equal(identity(fixture), before);
	fake_object_put32(&fixture->code.code, layout->code_first_line, 10);
	fake_object_put32(&fixture->code.code, layout->code_version, 1);
	assert_int_not_equal(identity(fixture), before);
}

/* Where codes have no number of their own. */
static void other_names_at_the_same_addresses_are_noticed(void **state)
{
	struct fixture *fixture = *state;
	const char *const names[] = {
		"Model.step", "Model.stop", "Nodel.step", "Model_Step",
		"f",          "g",          "",           "a name that is long"};
	const char *const files[] = {"train.py", "trail.py", "<g1>", "<g2>"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fake_object_ascii(&fixture->code.name, &fixture->library, names[i]);
		assert_names(fixture, word_of(fixture, &fixture->code, 0), "train.py", names[i]);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		fake_object_ascii(&fixture->code.file, &fixture->library, files[i]);
		assert_names(fixture, word_of(fixture, &fixture->code, 0), files[i],
			     "a name that is long");
	}
}

/* A blank line changes one byte, anywhere in the table of lines. */
static void each_byte_of_names_and_lines_at_the_same_addresses_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	char text[301] = {0};
	uint16_t wide[301];

	for (uint32_t size = 1; size < sizeof(text); size += size < 40 ? 1 : 67) {
		memset(text, 'a', size);
		for (uint32_t at = 0; at < size; at++) {
			struct fake_object *const objects[] = {
				&fixture->code.lines, &fixture->code.name, &fixture->code.file};

			fake_object_bytes(objects[0], &fixture->library, text, size);
			fake_object_string(objects[1], &fixture->library, text, size, 1, 1);
			fake_object_string(objects[2], &fixture->library, text, size, 1, 0);
			const uint64_t before = identity(fixture);

			for (int i = 0; i < 3; i++) {
				const struct fake_object old = *objects[i];

				text[at] = 'b';
				if (i == 0)
					fake_object_bytes(objects[i], &fixture->library, text,
							  size);
				else
					fake_object_string(objects[i], &fixture->library, text,
							   size, 1, i == 1);
				text[at] = 'a';
				assert_int_not_equal(identity(fixture), before);
				*objects[i] = old;
				assert_int_equal(identity(fixture), before);
			}
		}
	}
	for (uint32_t i = 0; i < 100; i++)
		wide[i] = 0x3b1;
	fake_object_string(&fixture->code.name, &fixture->library, wide, 100, 2, 0);
	const uint64_t before = identity(fixture);
	wide[50] = 0x3b2;
	fake_object_string(&fixture->code.name, &fixture->library, wide, 100, 2, 0);
	assert_int_not_equal(identity(fixture), before);
}

/* Of a table that is longer than PYTHON_CODE_BYTES_MAX the halves at both ends count, and nothing outside is read. */
static void of_a_long_table_of_lines_both_ends_count(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t size = 3 * PYTHON_CODE_BYTES_MAX;
	char *lines = calloc(1, PYTHON_BYTES_DATA + size);
	const uint64_t address = (uint64_t)(uintptr_t)lines, bytes_type = 0x3000;
	const uint32_t told[] = {0, PYTHON_CODE_BYTES_MAX / 2 - 1, size - PYTHON_CODE_BYTES_MAX / 2,
				 size - 1};
	uint64_t long_size = size;

	memcpy(lines + PYTHON_OBJECT_TYPE, &bytes_type, sizeof(bytes_type));
	memcpy(lines + PYTHON_OBJECT_SIZE, &long_size, sizeof(long_size));
	fake_object_put64(&fixture->code.code, fixture->library.layout.code_lines, address);
	const uint64_t before = identity(fixture);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		lines[PYTHON_BYTES_DATA + told[i]] = 1;
		assert_int_not_equal(identity(fixture), before);
		lines[PYTHON_BYTES_DATA + told[i]] = 0;
	}
	lines[PYTHON_BYTES_DATA + size / 2] = 1;
	assert_int_equal(identity(fixture), before);
	free(lines);
}

static void objects_of_another_type_are_not_read(void **state)
{
	struct fixture *fixture = *state;

	fake_object_put64(&fixture->code.name, PYTHON_OBJECT_TYPE, 0x9999);
	fake_object_put64(&fixture->code.lines, PYTHON_OBJECT_TYPE, 0x9999);
	uint64_t word = word_of(fixture, &fixture->code, 6);
	assert_names(fixture, word, "train.py", "<unreadable>");
	assert_int_equal(stack_word_line(word), 0);
	fake_object_put64(&fixture->code.code, PYTHON_OBJECT_TYPE, 0x9999);
	fake_object_put32(&fixture->code.code, fixture->library.layout.code_version, 1);
	assert_int_equal(word_of(fixture, &fixture->code, 6),
			 stack_word_mark(STACK_MARK_CODE_TABLE_FULL));
}

static void full_table_gives_a_mark_but_keeps_old_names(void **state)
{
	struct fixture *fixture = *state;
	struct fake_code code;
	char name[32];

	uint64_t first = word_of(fixture, &fixture->code, 0);
	for (int i = 1; i < FEW_CODES; i++) {
		snprintf(name, sizeof(name), "function%d", i);
		fake_code_fill(&code, &fixture->library, "train.py", name, 1);
		fake_object_put32(&code.code, fixture->library.layout.code_version, (uint32_t)i);
		assert_names(fixture, word_of(fixture, &code, 0), "train.py", name);
	}
	fake_code_fill(&code, &fixture->library, "train.py", "one too many", 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(word_of(fixture, &code, 0),
				 stack_word_mark(STACK_MARK_CODE_TABLE_FULL));
	assert_int_equal(word_of(fixture, &fixture->code, 0), first);
	fake_code_fill(&code, &fixture->library, "train.py", "Model.step", 10);
	assert_int_equal(word_of(fixture, &code, 0), first);
}

struct racer {
	struct fixture *fixture;
	pthread_barrier_t *barrier;
	struct fake_code code; /* its own, as its frames would keep it */
	struct python_texts *texts;
	uint32_t offset;
	uint32_t ids[RACED_CODES];
	uint32_t changed; /* ids that were not the same each time */
};

static void *race(void *user)
{
	struct racer *racer = user;
	char name[32];

	pthread_barrier_wait(racer->barrier);
	for (uint32_t n = 0; n < RACED_CODES * ROUNDS; n++) {
		uint32_t i = (n + racer->offset) % RACED_CODES;

		snprintf(name, sizeof(name), "raced%u", i);
		fake_code_fill(&racer->code, &racer->fixture->library, "race.py", name, 1 + i);
		fake_object_put32(&racer->code.code, racer->fixture->library.layout.code_version,
				  1 + i);
		uint64_t word = word_with(racer->fixture, &racer->texts, &racer->code, 0);
		uint32_t id = stack_word_line(word) == 1 + i ? stack_word_code_id(word) : 0;
		if (n >= RACED_CODES && racer->ids[i] != id)
			racer->changed++;
		racer->ids[i] = id;
	}
	python_texts_unmap(&racer->texts);
	return NULL;
}

static void racing_threads_agree_on_every_id(void **state)
{
	struct fixture *fixture = *state;
	struct racer *racers = calloc(THREADS, sizeof(*racers));
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	char name[32];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		racers[i].fixture = fixture;
		racers[i].barrier = &barrier;
		racers[i].offset = i / 2 * (RACED_CODES / 2); /* two race for the same */
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(racers[i].changed, 0);
		assert_memory_equal(racers[i].ids, racers[0].ids, sizeof(racers[0].ids));
	}
	for (uint32_t i = 0; i < RACED_CODES; i++) {
		snprintf(name, sizeof(name), "raced%u", i);
		assert_names(fixture, stack_word_python(racers[0].ids[i], 1), "race.py", name);
	}
	pthread_barrier_destroy(&barrier);
	free(racers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(word_names_the_function_and_the_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(equal_names_have_one_id_whatever_the_code, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			identity_differs_with_anything_that_tells_codes_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_names_at_the_same_addresses_are_noticed,
						set_up_3_11, tear_down),
		cmocka_unit_test_setup_teardown(
			each_byte_of_names_and_lines_at_the_same_addresses_is_noticed, set_up_3_11,
			tear_down),
		cmocka_unit_test_setup_teardown(of_a_long_table_of_lines_both_ends_count,
						set_up_3_11, tear_down),
		cmocka_unit_test_setup_teardown(objects_of_another_type_are_not_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(full_table_gives_a_mark_but_keeps_old_names,
						set_up_few, tear_down),
		cmocka_unit_test_setup_teardown(racing_threads_agree_on_every_id, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "proto/ring/record_ring.h"
#include "proto/ring/record_ring_layout.h"
#include "record_ring_fixture.h"

static uint32_t add_code(struct record_ring_fixture *pair, const char *file, const char *name)
{
	return record_ring_add_code(pair->guest, file, (uint32_t)strlen(file), name,
				    (uint32_t)strlen(name));
}

static void the_names_of_a_code_arrive_as_they_were_added(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	static struct record_ring_code code;

	(void)state;
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), -ENOENT);
	assert_int_equal(add_code(&pair, "/srv/train.py", "Model.forward"), 1);
	assert_int_equal(add_code(&pair, "", "x"), 2);
	assert_int_equal(add_code(&pair, "<string>", ""), 3);
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), 0);
	assert_int_equal(code.file_size, 13);
	assert_memory_equal(code.file, "/srv/train.py", 13);
	assert_int_equal(code.name_size, 13);
	assert_memory_equal(code.name, "Model.forward", 13);
	assert_int_equal(record_ring_read_code(pair.agent, 2, &code), 0);
	assert_int_equal(code.file_size, 0);
	assert_memory_equal(code.name, "x", 1);
	assert_int_equal(record_ring_read_code(pair.agent, 3, &code), 0);
	assert_memory_equal(code.file, "<string>", 8);
	assert_int_equal(code.name_size, 0);
	record_ring_fixture_close(&pair);
}

static void codes_are_bounded_by_number_by_words_and_by_size(void **state)
{
	struct record_ring_sizes roomy = record_ring_fixture_small;
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	static char text[RECORD_CODE_TEXT_MAX + 1];
	static struct record_ring_code code;

	(void)state;
	for (uint32_t i = 1; i <= record_ring_fixture_small.codes; i++)
		assert_int_equal(add_code(&pair, "a.py", "f"), i);
	assert_int_equal(add_code(&pair, "a.py", "f"), 0);
	assert_int_equal(record_ring_read_code(pair.agent, 0, &code), -ENOENT);
	assert_int_equal(
		record_ring_read_code(pair.agent, record_ring_fixture_small.codes + 1, &code),
		-ENOENT);
	assert_int_equal(code.file_size, 0);
	record_ring_fixture_close(&pair);

	pair = record_ring_fixture_open(&record_ring_fixture_small);
	assert_int_equal(record_ring_add_code(pair.guest, text,
					      8 * record_ring_fixture_small.code_words - 8, "f", 1),
			 1);
	assert_int_equal(add_code(&pair, "a.py", "f"), 0);
	record_ring_fixture_close(&pair);

	roomy.code_words = 4096;
	pair = record_ring_fixture_open(&roomy);
	assert_int_equal(record_ring_add_code(pair.guest, text, sizeof(text), "f", 1), 0);
	assert_int_equal(record_ring_add_code(pair.guest, "f", 1, text, sizeof(text)), 0);
	assert_int_equal(record_ring_add_code(pair.guest, text, RECORD_CODE_TEXT_MAX, text,
					      RECORD_CODE_TEXT_MAX),
			 1);
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), 0);
	assert_int_equal(code.file_size, RECORD_CODE_TEXT_MAX);
	assert_int_equal(code.name_size, RECORD_CODE_TEXT_MAX);
	record_ring_fixture_close(&pair);
}

/* Writes an entry of the code index as no guest does. */
static void spoil(const struct record_ring_fixture *pair, uint32_t code_id, uint64_t entry)
{
	struct ring_layout layout = {0};

	assert_int_equal(ring_layout(&record_ring_fixture_small, &layout), 0);
	uint8_t *memory = mmap(NULL, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, pair->fd, 0);
	assert_true(memory != MAP_FAILED);
	((uint64_t *)(memory + layout.code_index))[code_id - 1] = entry;
	munmap(memory, layout.size);
}

static uint64_t entry_of(uint64_t word, uint64_t file_size, uint64_t name_size)
{
	return (word + 1) << (2 * RING_CODE_TEXT_BITS) | file_size << RING_CODE_TEXT_BITS |
	       name_size;
}

static void a_code_outside_of_the_arena_is_refused(void **state)
{
	struct record_ring_fixture pair = record_ring_fixture_open(&record_ring_fixture_small);
	static struct record_ring_code code;
	const uint64_t wrong[] = {
		entry_of(record_ring_fixture_small.code_words, 1, 0),
		entry_of(record_ring_fixture_small.code_words + 1, 0, 0),
		entry_of(0, 8 * record_ring_fixture_small.code_words, 1),
		entry_of(record_ring_fixture_small.code_words - 1, 8, 1),
		entry_of(0, RECORD_CODE_TEXT_MAX + 1, 0),
		entry_of(0, 0, RECORD_CODE_TEXT_MAX + 1),
		1,
		UINT64_MAX,
	};

	(void)state;
	assert_int_equal(add_code(&pair, "a.py", "f"), 1);
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		spoil(&pair, 1, wrong[i]);
		assert_int_equal(record_ring_read_code(pair.agent, 1, &code), -EPROTO);
		assert_int_equal(code.file_size, 0);
		assert_int_equal(code.name_size, 0);
	}
	spoil(&pair, 1, entry_of(record_ring_fixture_small.code_words - 1, 4, 4));
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), 0);
	record_ring_fixture_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_names_of_a_code_arrive_as_they_were_added),
		cmocka_unit_test(codes_are_bounded_by_number_by_words_and_by_size),
		cmocka_unit_test(a_code_outside_of_the_arena_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/definition.h"
#include "proto/record_ring.h"
#include "proto/record_ring_layout.h"

static const struct record_ring_sizes small = {
	.launch_lanes = 4,
	.launch_lane_records = 64,
	.activity_records = 64,
	.definition_bytes = 2 * DEFINITION_SIZE_MAX,
	.stacks = 16,
	.stack_words = 256,
	.codes = 4,
	.code_words = 64,
};

struct pair {
	struct record_ring *guest, *agent;
	int fd;
};

static struct pair open_pair(const struct record_ring_sizes *sizes)
{
	struct pair pair;

	assert_int_equal(record_ring_create(sizes, &pair.guest, &pair.fd), 0);
	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	return pair;
}

static void close_pair(struct pair *pair)
{
	record_ring_unmap(pair->agent);
	record_ring_destroy(pair->guest);
	close(pair->fd);
}

static uint32_t add_code(struct pair *pair, const char *file, const char *name)
{
	return record_ring_add_code(pair->guest, file, (uint32_t)strlen(file), name,
				    (uint32_t)strlen(name));
}

static void the_names_of_a_code_arrive_as_they_were_added(void **state)
{
	struct pair pair = open_pair(&small);
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
	close_pair(&pair);
}

static void codes_are_bounded_by_number_by_words_and_by_size(void **state)
{
	struct record_ring_sizes roomy = small;
	struct pair pair = open_pair(&small);
	static char text[RECORD_CODE_TEXT_MAX + 1];
	static struct record_ring_code code;

	(void)state;
	for (uint32_t i = 1; i <= small.codes; i++)
		assert_int_equal(add_code(&pair, "a.py", "f"), i);
	assert_int_equal(add_code(&pair, "a.py", "f"), 0);
	assert_int_equal(record_ring_read_code(pair.agent, 0, &code), -ENOENT);
	assert_int_equal(record_ring_read_code(pair.agent, small.codes + 1, &code), -ENOENT);
	assert_int_equal(code.file_size, 0);
	close_pair(&pair);

	pair = open_pair(&small);
	assert_int_equal(record_ring_add_code(pair.guest, text, 8 * small.code_words - 8, "f", 1),
			 1);
	assert_int_equal(add_code(&pair, "a.py", "f"), 0);
	close_pair(&pair);

	roomy.code_words = 4096;
	pair = open_pair(&roomy);
	assert_int_equal(record_ring_add_code(pair.guest, text, sizeof(text), "f", 1), 0);
	assert_int_equal(record_ring_add_code(pair.guest, "f", 1, text, sizeof(text)), 0);
	assert_int_equal(record_ring_add_code(pair.guest, text, RECORD_CODE_TEXT_MAX, text,
					      RECORD_CODE_TEXT_MAX),
			 1);
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), 0);
	assert_int_equal(code.file_size, RECORD_CODE_TEXT_MAX);
	assert_int_equal(code.name_size, RECORD_CODE_TEXT_MAX);
	close_pair(&pair);
}

/* Writes an entry of the code index as no guest does. */
static void spoil(const struct pair *pair, uint32_t code_id, uint64_t entry)
{
	struct ring_layout layout;

	assert_int_equal(ring_layout(&small, &layout), 0);
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
	struct pair pair = open_pair(&small);
	static struct record_ring_code code;
	const uint64_t wrong[] = {
		entry_of(small.code_words, 1, 0),
		entry_of(small.code_words + 1, 0, 0),
		entry_of(0, 8 * small.code_words, 1),
		entry_of(small.code_words - 1, 8, 1),
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
	spoil(&pair, 1, entry_of(small.code_words - 1, 4, 4));
	assert_int_equal(record_ring_read_code(pair.agent, 1, &code), 0);
	close_pair(&pair);
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

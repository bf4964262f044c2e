/* Samples of running kernels whose names, lines or places find no room. */
#include "node-agent/guests/ring_samples.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/places/sample_names.h"
#include "node-agent/places/sample_places.h"
#include "proto/batch/message.h"
#include "proto/host_sample.h"
#include "samples_fixture.h"
#include "tests/node-agent/cubin/cubin_fixture.h"

#define CRC     SAMPLES_FIXTURE_CRC
#define PIECE   SAMPLES_FIXTURE_PIECE
#define ENTRIES SAMPLES_FIXTURE_ENTRIES

/* A collection of its own; one at a time. */
static struct ring_samples *create(const struct ring_source_fixture *fixture)
{
	static struct ring_outputs outputs;

	outputs = (struct ring_outputs){
		.strings = fixture->strings, .stacks = fixture->stacks, .ledger = fixture->ledger};
	struct ring_samples *samples = ring_samples_create(&outputs, 0);
	assert_non_null(samples);
	return samples;
}

static uint64_t no_place(struct ring_source_fixture *fixture)
{
	return ring_source_fixture_ledger_count(fixture, 0, LEDGER_KERNEL_SAMPLE_NO_PLACE);
}

static uint64_t no_lines(struct ring_source_fixture *fixture)
{
	return ring_source_fixture_ledger_count(fixture, 0, LEDGER_KERNEL_SAMPLE_NO_LINES);
}

#define ROWS      200u
#define NAME_SIZE 60000u
#define NAME_STEP 7u

/* Kernel "a" has a row each 16 bytes, in which a function with a long name is inlined: always the same one, or each
 * time another. */
static void define_long_names(struct ring_source_fixture *fixture, bool same)
{
	static char strings[NAME_SIZE + NAME_STEP * ROWS];
	static struct cubin_fixture cubin;
	size_t size;

	for (uint32_t i = 0; i < sizeof(strings) - NAME_STEP; i += NAME_STEP)
		snprintf(strings + i, NAME_STEP + 1, "%07u", i);
	memset(&cubin, 0, sizeof(cubin));
	cubin.strings = strings;
	cubin.strings_size = sizeof(strings);
	fixture_symbol_add(&cubin, "a", FIXTURE_TEXT_A, 0, 16 * (ROWS + 1));
	fixture_begin(&cubin);
	fixture_address(&cubin, 0, 0);
	fixture_row(&cubin, 0, 9);
	for (uint32_t i = 0; i < ROWS; i++) {
		fixture_inline(&cubin, 1, same ? 0 : NAME_STEP * i);
		fixture_row(&cubin, 16, 1);
	}
	fixture_end_sequence(&cubin, 16);
	fixture_end(&cubin);
	uint8_t *image = fixture_image(&cubin, &size);
	for (uint32_t at = 0; at < size; at += PIECE)
		samples_fixture_piece(fixture, CRC, (uint32_t)size, at, image + at,
				      size - at < PIECE ? (uint32_t)size - at : PIECE);
	free(image);
}

static const struct host_sample *sample_long_names(struct ring_source_fixture *fixture)
{
	struct definition_kernel_sample entries[ROWS];

	for (uint32_t i = 0; i < ROWS; i++)
		entries[i] = (struct definition_kernel_sample){16 * (i + 1), 0, 1};
	samples_fixture_define(fixture, CRC, 0, "a", entries, ROWS);
	return samples_fixture_take_all(fixture, ROWS);
}

static void known_names_take_no_room(void **state)
{
	struct ring_source_fixture *fixture = *state;

	assert_true((uint64_t)ROWS * NAME_SIZE > SAMPLE_NAMES_LINES_MAX);
	define_long_names(fixture, true);
	const struct host_sample *samples = sample_long_names(fixture);
	for (uint32_t i = 0; i < ROWS; i++) {
		char line[32];

		snprintf(line, sizeof(line), "/src/one.cu:%u:0000000", 11 + i);
		assert_memory_equal(ring_source_fixture_stack(fixture, samples[i].stack_id), line,
				    strlen(line));
	}
	assert_int_equal(no_lines(fixture) + no_place(fixture), 0);
}

static void lines_without_room_become_offsets_and_are_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint32_t first[ROWS];
	uint32_t nr_lines = 0;

	define_long_names(fixture, false);
	const struct host_sample *samples = sample_long_names(fixture);
	for (uint32_t i = 0; i < ROWS; i++) {
		const char *stack = ring_source_fixture_stack(fixture, samples[i].stack_id);
		char offset[32];

		first[i] = samples[i].stack_id;
		snprintf(offset, sizeof(offset), "+0x%x < a", 16 * (i + 1));
		nr_lines += *stack == '/';
		if (*stack != '/')
			assert_string_equal(stack, offset);
	}
	/* Names are cut at WIRE_STRING_MAX, and the last ones are shorter. */
	assert_true(nr_lines >= SAMPLE_NAMES_LINES_MAX / WIRE_STRING_MAX);
	assert_true(nr_lines <= SAMPLE_NAMES_LINES_MAX / NAME_SIZE);
	assert_int_equal(no_lines(fixture), ROWS - nr_lines);
	assert_int_equal(no_place(fixture), 0);
	/* They stay where they are. */
	samples = sample_long_names(fixture);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(samples[i].stack_id, first[i]);
	assert_int_equal(no_lines(fixture), 2 * (ROWS - nr_lines));
}

static void names_beyond_the_bounds_enter_nothing(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct ring_samples *samples = create(fixture);
	const uint32_t name_size = 60000, end = SAMPLE_NAMES_KERNELS_MAX / name_size;
	const struct definition_kernel_sample entry = {0, 0, 1};
	uint8_t *tail = malloc(sizeof(entry) + name_size);
	struct definition_kernel_samples head = {.nr_entries = 1};
	struct message message;
	uint32_t strings = 0;

	assert_non_null(tail);
	memcpy(tail, &entry, sizeof(entry));
	memset(tail + sizeof(entry), 'n', name_size);
	for (uint32_t i = 0; i < end + 50; i++) {
		snprintf((char *)tail + sizeof(entry), 20, "%019d", (int)i);
		tail[sizeof(entry) + 19] = 'n';
		if (i == end)
			strings = string_dictionary_count(fixture->strings);
		assert_int_equal(ring_samples_add(samples, &head, tail, sizeof(entry) + name_size),
				 0);
	}
	assert_int_equal(string_dictionary_count(fixture->strings), strings);
	assert_true(ring_samples_take(samples, &message));
	assert_int_equal(message.samples.nr_samples, end + 50);
	for (uint32_t i = 0; i < end + 50; i++)
		assert_int_equal(message.samples.samples[i].stack_id == STACK_NODE_NONE, i >= end);
	assert_int_equal(no_place(fixture), 50);
	/* A kernel that is known stays known. */
	snprintf((char *)tail + sizeof(entry), 20, "%019d", 0);
	tail[sizeof(entry) + 19] = 'n';
	assert_int_equal(ring_samples_add(samples, &head, tail, sizeof(entry) + name_size), 0);
	const uint32_t first = message.samples.samples[0].stack_id;
	assert_true(ring_samples_take(samples, &message));
	assert_int_equal(message.samples.samples[0].stack_id, first);
	assert_int_equal(no_place(fixture), 50);
	ring_samples_destroy(samples);
	free(tail);
}

static void nodes_beyond_the_bounds_enter_nothing(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct ring_samples *samples = create(fixture);
	static struct definition_kernel_sample entries[ENTRIES + 1];
	struct definition_kernel_samples head = {.nr_entries = ENTRIES};
	struct message message;
	uint32_t with_stack = 0, kernel = 0, strings = string_dictionary_count(fixture->strings);

	memcpy(&entries[ENTRIES], "k", 1);
	for (uint32_t round = 0; round < SAMPLE_PLACES_MAX / ENTRIES + 2; round++) {
		for (uint32_t i = 0; i < ENTRIES; i++)
			entries[i] = (struct definition_kernel_sample){round * ENTRIES + i, 0, 1};
		assert_int_equal(
			ring_samples_add(samples, &head, entries, ENTRIES * sizeof(entries[0]) + 1),
			0);
		assert_true(ring_samples_take(samples, &message));
		assert_int_equal(message.samples.nr_samples, ENTRIES);
		for (uint32_t i = 0; i < ENTRIES; i++)
			with_stack += message.samples.samples[i].stack_id != STACK_NODE_NONE;
		kernel = message.samples.samples[ENTRIES - 1].stack_id;
	}
	/* One node is the kernel's. Two must be left, because a new kernel would need them. What finds no room is the
	 * kernel itself. */
	assert_int_equal(with_stack, SAMPLE_PLACES_MAX + 2 * ENTRIES);
	assert_string_equal(ring_source_fixture_stack(fixture, kernel), "k");
	assert_int_equal(no_place(fixture), 2 * ENTRIES + 2);
	assert_int_equal(stack_dictionary_nr_nodes(fixture->stacks), SAMPLE_PLACES_MAX - 1);
	assert_int_equal(string_dictionary_count(fixture->strings) - strings,
			 SAMPLE_PLACES_MAX - 1);
	ring_samples_destroy(samples);
}

static void a_user_without_room_enters_nothing(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct ring_samples *samples = create(fixture);
	static const struct {
		struct definition_kernel_sample entry;
		char name[4];
	} tail = {{0, 0, 1}, "abc"};
	const struct definition_kernel_samples head = {.nr_entries = 1};
	const uint32_t strings = string_dictionary_count(fixture->strings);
	struct message message;

	ring_samples_close(samples);
	assert_int_equal(ring_samples_add(samples, &head, &tail, sizeof(tail)), 0);
	assert_true(ring_samples_take(samples, &message));
	assert_int_equal(message.samples.samples[0].stack_id, STACK_NODE_NONE);
	assert_int_equal(string_dictionary_count(fixture->strings), strings);
	assert_int_equal(no_place(fixture), 1);
	ring_samples_destroy(samples);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(known_names_take_no_room),
		TEST(lines_without_room_become_offsets_and_are_counted),
		TEST(names_beyond_the_bounds_enter_nothing),
		TEST(nodes_beyond_the_bounds_enter_nothing),
		TEST(a_user_without_room_enters_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

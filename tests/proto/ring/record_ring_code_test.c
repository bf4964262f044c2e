/* Cubins in the log of a ring, where the next agent finds them. */
#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/definition.h"
#include "record_ring_fixture.h"

static struct record_ring_fixture pair;

static int set_up(void **state)
{
	struct record_ring_sizes sizes = record_ring_fixture_small;

	(void)state;
	sizes.definition_bytes = 1u << 18;
	sizes.log_bytes = 4096;
	pair = record_ring_fixture_open(&sizes);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	record_ring_fixture_close(&pair);
	return 0;
}

/* Defines a cubin in pieces of 100 bytes. */
static void define_cubin(uint64_t crc, uint32_t size)
{
	static const uint8_t bytes[100];

	for (uint32_t at = 0; at < size; at += sizeof(bytes)) {
		const struct definition_cubin head = {.crc = crc, .size = size, .offset = at};

		assert_true(record_ring_define(
			pair.guest, DEFINITION_CUBIN, &head, sizeof(head), bytes,
			size - at < sizeof(bytes) ? size - at : (uint32_t)sizeof(bytes)));
	}
}

/* Reads the cubins that the next agent finds: "CRC:BYTES". */
static const char *read_cubins(void)
{
	static struct record_ring_snapshot snapshot;
	static char text[256];
	_Alignas(8) uint8_t body[256];
	struct definition_cubin head = {.size = 0};
	uint64_t crc = 0, bytes = 0;
	uint32_t type, size;

	*text = '\0';
	record_ring_snapshot(pair.agent, &snapshot);
	for (int r = 1; r;) {
		r = record_ring_read_definition(pair.agent, &snapshot, &type, body, sizeof(body),
						&size);
		if (r == 1 && type != DEFINITION_CUBIN)
			continue;
		if (r == 1)
			memcpy(&head, body, sizeof(head));
		if (crc && (r == 0 || head.crc != crc)) {
			size_t used = strlen(text);

			snprintf(text + used, sizeof(text) - used, "%d:%d ", (int)crc, (int)bytes);
			bytes = 0;
		}
		crc = head.crc;
		assert_true(r == 0 || head.offset == bytes);
		bytes += r == 1 ? size - sizeof(head) : 0;
	}
	return text;
}

/* The agent has everything, and another one comes. */
static void hand_over(void)
{
	struct record_ring_position position;

	assert_int_equal(record_ring_position(pair.agent, &position), 0);
	record_ring_release(pair.agent, &position);
	free(position.launch);
	record_ring_unmap(pair.agent);
	assert_int_equal(record_ring_map(pair.fd, &pair.agent), 0);
	record_ring_begin(pair.agent);
}

static void without_a_next_agent_they_are_not_kept(void **state)
{
	(void)state;
	define_cubin(7, 250);
	assert_string_equal(read_cubins(), "7:250 ");
	hand_over();
	assert_string_equal(read_cubins(), "");
}

static void other_definitions_have_the_other_half(void **state)
{
	static struct record_ring_snapshot snapshot;
	static uint8_t body[2048];
	uint32_t type, size, names = 0;
	const struct definition_name name = {.name_id = 1};

	(void)state;
	record_ring_keep_code(pair.guest);
	for (uint64_t crc = 1; crc < 6; crc++)
		define_cubin(crc, 900);
	for (int i = 0; i < 40; i++)
		assert_true(record_ring_define(pair.guest, DEFINITION_NAME, &name, sizeof(name),
					       "kernel", 6));
	assert_string_equal(read_cubins(), "1:900 2:900 3:900 4:900 5:900 ");
	hand_over();
	record_ring_snapshot(pair.agent, &snapshot);
	while (record_ring_read_definition(pair.agent, &snapshot, &type, body, sizeof(body),
					   &size) == 1)
		names += type == DEFINITION_NAME;
	assert_int_equal(names, 40);
}

static void cubins_stay_in_half_of_the_log_for_the_next_agent(void **state)
{
	(void)state;
	record_ring_keep_code(pair.guest);
	define_cubin(7, 250);
	define_cubin(8, 1800); /* too much: the next agent hears of it */
	define_cubin(9, 700);
	define_cubin(10, 10);
	assert_string_equal(read_cubins(), "7:250 8:1800 9:700 10:10 ");
	hand_over();
	assert_string_equal(read_cubins(), "7:250 8:64 9:700 10:10 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_next_agent_they_are_not_kept),
		TEST(cubins_stay_in_half_of_the_log_for_the_next_agent),
		TEST(other_definitions_have_the_other_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

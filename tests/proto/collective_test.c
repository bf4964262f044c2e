#include "proto/collective.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proto/batch/codec_fixture.h"

/* Vectors of the hash's own page, http://www.isthe.com/chongo/tech/comp/fnv/. */
static void the_hash_is_fnv_1a_of_64_bits(void **state)
{
	(void)state;
	assert_true(collective_hash(COLLECTIVE_HASH_START, "", 0) == 0xcbf29ce484222325ull);
	assert_true(collective_hash(COLLECTIVE_HASH_START, "a", 1) == 0xaf63dc4c8601ec8cull);
	assert_true(collective_hash(COLLECTIVE_HASH_START, "foobar", 6) == 0x85944171f73967e8ull);
	assert_true(collective_hash(collective_hash(COLLECTIVE_HASH_START, "foo", 3), "bar", 3) ==
		    0x85944171f73967e8ull);
}

static void a_key_is_that_of_all_bytes_of_the_id(void **state)
{
	uint8_t id[COLLECTIVE_UNIQUE_ID_SIZE] = {1};
	uint64_t key = collective_key(id);

	(void)state;
	assert_true(key == collective_hash(COLLECTIVE_HASH_START, id, sizeof(id)));
	id[COLLECTIVE_UNIQUE_ID_SIZE - 1] = 1;
	assert_true(key != collective_key(id));
}

static void bytes_are_those_of_the_elements(void **state)
{
	static const uint32_t sizes[COLLECTIVE_TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	(void)state;
	for (uint32_t type = 0; type < COLLECTIVE_TYPES; type++) {
		assert_int_equal(collective_type_size(type), sizes[type]);
		assert_int_equal(collective_bytes(COLLECTIVE_ALL_REDUCE, type, 5), 5 * sizes[type]);
	}
	assert_int_equal(collective_type_size(COLLECTIVE_TYPES), 0);
	assert_int_equal(collective_bytes(COLLECTIVE_SEND, COLLECTIVE_TYPE_NONE, 5), 0);
	assert_int_equal(collective_bytes(COLLECTIVE_GROUP, COLLECTIVE_INT8, 5), 0);
}

static void every_number_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COLLECTIVE_FUNCTIONS; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(collective_function_name(i),
						collective_function_name(j));
	for (uint32_t i = 0; i < COLLECTIVE_TYPES; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(collective_type_name(i), collective_type_name(j));
	for (uint32_t i = 0; i < COMMUNICATOR_ORIGINS; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(communicator_origin_name(i),
						communicator_origin_name(j));
	assert_string_equal(collective_op_name(COLLECTIVE_OP_AVG), "avg");
	assert_string_equal(collective_op_name(COLLECTIVE_OP_CUSTOM), "custom");
	assert_string_equal(collective_op_name(COLLECTIVE_OP_NONE), "");
	assert_string_equal(collective_type_name(COLLECTIVE_TYPE_NONE), "");
	assert_string_equal(collective_function_name(COLLECTIVE_FUNCTIONS), "unknown");
	assert_string_equal(collective_type_name(COLLECTIVE_TYPES), "unknown");
	assert_string_equal(collective_op_name(7), "unknown");
	assert_string_equal(communicator_origin_name(COMMUNICATOR_ORIGINS), "unknown");
}

/* ---- the message -------------------------------------------------------------------------------- */

static int encode(struct codec_fixture *codec, const struct message *message)
{
	const uint8_t *frame;
	size_t size;

	return batch_encode(codec->encoder, message, &frame, &size);
}

static void a_message_has_these_bytes(void **state)
{
	static const uint8_t expected[] = {
		0x98, 19,   1, /* COLLECTIVES, version 1 */
		5,    2,       /* seq, process_id */
		1,    0x98, 1,    7,    0,
		0,    2,                      /* a communicator: id, key, parent, rank, nr_ranks */
		0,    0,    0,                /* color, split, origin */
		2,    0xdc, 0,    17,         /* two calls, 17 columns */
		0x92, 100,  10,               /* start_ns: steps from 100 by 10 */
		5,    1,    9,                /* duration_ns, communicator_id, tid */
		0x92, 1,    1,                /* sequence: steps from 1 by 1 */
		0x92, 1,    1,                /* function_sequence */
		3,    12,                     /* count, bytes */
		0xce, 0xff, 0xff, 0xff, 0xff, /* peer: none */
		4,    0,    0,                /* stack_id, group, stream */
		0,    7,    0,    0,          /* function, data_type, reduce_op, result */
		0x92, 77,   1,                /* correlation_id: steps from 77 by 1 */
	};
	const struct communicator communicator = {.communicator_id = 1, .key = 7, .nr_ranks = 2};
	struct collective calls[2];

	for (uint32_t i = 0; i < 2; i++)
		calls[i] = (struct collective){.start_ns = 100 + 10 * i,
					       .duration_ns = 5,
					       .sequence = 1 + i,
					       .function_sequence = 1 + i,
					       .count = 3,
					       .bytes = 12,
					       .communicator_id = 1,
					       .tid = 9,
					       .peer = COLLECTIVE_NOT_KNOWN,
					       .stack_id = 4,
					       .correlation_id = 77 + i,
					       .data_type = COLLECTIVE_FLOAT32};
	const struct message message = {.type = MESSAGE_COLLECTIVES,
					.collectives = {.seq = 5,
							.process_id = 2,
							.nr_communicators = 1,
							.nr_collectives = 2,
							.communicators = &communicator,
							.collectives = calls}};
	struct codec_fixture_frame frame = codec_fixture_encode(*state, &message);

	assert_int_equal(frame.size, sizeof(expected));
	assert_memory_equal(frame.bytes, expected, sizeof(expected));
	free(frame.bytes);
}

static void what_no_decoder_takes_is_not_encoded(void **state)
{
	const struct communicator none = {.key = 1};
	const struct communicator high = {.communicator_id = COLLECTIVE_COMMUNICATORS_MAX + 1};
	const struct communicator origin = {.communicator_id = 1, .origin = COMMUNICATOR_ORIGINS};
	const struct collective empty = {.start_ns = 1};
	const struct collective stack = {.duration_ns = 1, .stack_id = WIRE_ID_MAX + 1};
	const struct collective function = {.duration_ns = 1, .function = COLLECTIVE_FUNCTIONS};
	const struct {
		struct message_collectives message;
		int error;
	} cases[] = {
		{{.seq = 1, .process_id = 0}, -EINVAL},
		{{.seq = 0, .process_id = 1}, -EINVAL},
		{{1, 1, 1, 0, &none, NULL}, -EINVAL},
		{{1, 1, 1, 0, &high, NULL}, -EINVAL},
		{{1, 1, 1, 0, &origin, NULL}, -EINVAL},
		{{1, 1, 0, 1, NULL, &empty}, -EINVAL},
		{{1, 1, 0, 1, NULL, &function}, -EINVAL},
		{{1, 1, 0, 1, NULL, &stack}, -EMSGSIZE},
		{{1, 1, WIRE_ITEMS_MAX + 1, 0, &none, NULL}, -EMSGSIZE},
		{{1, 1, 0, WIRE_EVENTS_MAX + 1, NULL, &empty}, -EMSGSIZE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(encode(*state, &(struct message){.type = MESSAGE_COLLECTIVES,
								  .collectives = cases[i].message}),
				 cases[i].error);
}

static void a_decoder_takes_nothing_that_cannot_be(void **state)
{
#define HEAD        "\x98\x13\x01\x01\x01"
#define NOTHING     "\x00\x90"
#define CALLS(rest) HEAD NOTHING "\x02\xdc\x00\x11" rest
	static const struct {
		const char *bytes;
		size_t size;
		const char *error;
	} cases[] = {
		{HEAD NOTHING NOTHING, 9, ""},
		{"\x98\x13\x01\x01\x00" NOTHING NOTHING, 9, "COLLECTIVES: process_id"},
		{HEAD "\x01\x98\x01\x07\x00\x00\x02\x00\x00\x00" NOTHING, 17, ""},
		{HEAD "\x01\x98\x00\x07\x00\x00\x02\x00\x00\x00" NOTHING, 17,
		 "COLLECTIVES: communicator communicator_id is 0 in row 0"},
		{HEAD "\x01\x98\x01\x07\x00\x00\x02\x00\x00\x06" NOTHING, 17,
		 "COLLECTIVES: communicator origin"},
		{HEAD "\x01\x97\x01\x07\x00\x00\x02\x00\x00" NOTHING, 16,
		 "COLLECTIVES: communicator origin is missing"},
		{CALLS("\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 28, ""},
		{CALLS("\x01\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 28,
		 "COLLECTIVES: collective duration_ns is 0 in row 0"},
		{CALLS("\x01\x01\0\0\0\0\0\0\0\0\0\0\x0b\0\0\0\0"), 28,
		 "COLLECTIVES: collective function"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct codec_fixture *codec = *state;
		struct message message;

		assert_int_equal(
			codec_fixture_decode(codec, cases[i].bytes, cases[i].size, &message),
			*cases[i].error ? -EBADMSG : 0);
		assert_memory_equal(batch_decoder_error(codec->decoder), cases[i].error,
				    strlen(cases[i].error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_fnv_1a_of_64_bits),
		cmocka_unit_test(a_key_is_that_of_all_bytes_of_the_id),
		cmocka_unit_test(bytes_are_those_of_the_elements),
		cmocka_unit_test(every_number_has_a_name_of_its_own),
		cmocka_unit_test_setup_teardown(a_message_has_these_bytes, codec_fixture_set_up,
						codec_fixture_tear_down),
		cmocka_unit_test_setup_teardown(what_no_decoder_takes_is_not_encoded,
						codec_fixture_set_up, codec_fixture_tear_down),
		cmocka_unit_test_setup_teardown(a_decoder_takes_nothing_that_cannot_be,
						codec_fixture_set_up, codec_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

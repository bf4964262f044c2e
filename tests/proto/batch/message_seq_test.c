#include "proto/batch/message_seq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "proto/batch/message.h"

static void a_sequenced_message_keeps_its_number(void **state)
{
	static const enum message_type types[] = {
		MESSAGE_STRINGS, MESSAGE_STACKS,      MESSAGE_PROCESS,   MESSAGE_EVENTS,
		MESSAGE_LEDGER,  MESSAGE_STATISTICS,  MESSAGE_STREAM,    MESSAGE_BYE,
		MESSAGE_SAMPLES, MESSAGE_COLLECTIVES, MESSAGE_PLACEMENT, MESSAGE_PAGES,
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct message message = {.type = types[i]};

		message_seq_set(&message, UINT64_MAX - i);
		assert_true(message_seq_get(&message) == UINT64_MAX - i);
	}
}

static void a_message_without_a_number_stays_as_it_is(void **state)
{
	struct message message = {.type = MESSAGE_PING, .ping.token = 5};

	(void)state;
	message_seq_set(&message, 7);
	assert_int_equal(message_seq_get(&message), 0);
	assert_int_equal(message.ping.token, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sequenced_message_keeps_its_number),
		cmocka_unit_test(a_message_without_a_number_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a process says of counters that are not sampled. */
#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <string.h>

#include "node-agent/guests/agent_notices.h"
#include "proto/counter_refusal.h"

struct said {
	uint32_t count;
	char last[COUNTER_REFUSAL_SIZE];
};

static void say(void *context, const char *line)
{
	struct said *said = context;

	said->count++;
	snprintf(said->last, sizeof(said->last), "%s", line);
}

static void each_refusal_is_said_once_and_is_a_notice(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	const struct guest_hello hello = {.pid = 1};
	struct process_description *description =
		process_description_create(1, 0, &hello, strings, NULL);
	struct counter_state states[] = {{.device_id = 0},
					 {.device_id = 3, .refusal = COUNTER_NO_RIGHT}};
	const struct message_placement placement = {.nr_counter_states = 2,
						    .counter_states = states};
	struct message message;
	struct said said = {0};

	(void)state;
	assert_non_null(description);
	process_description_message(description, &message);
	const uint32_t before = message.process.nr_notices;
	assert_int_equal(agent_notices_counters(description, &placement, say, &said), 0);
	assert_int_equal(said.count, 1);
	assert_string_equal(said.last, "counters of CUDA device 3 are not sampled: not permitted "
				       "(RmProfilingAdminOnly)");
	assert_true(counter_refusal_is(said.last));
	/* The process is sent again, with the notice. */
	assert_true(process_description_changed(description));
	process_description_message(description, &message);
	assert_int_equal(message.process.nr_notices, before + 1);
	assert_int_equal(agent_notices_counters(description, &placement, say, &said), 0);
	assert_int_equal(said.count, 1);
	assert_false(process_description_changed(description));
	/* A sampling that ends in the middle of a run had samples. */
	states[0].refusal = COUNTER_DIED;
	assert_int_equal(agent_notices_counters(description, &placement, NULL, NULL), 0);
	assert_int_equal(said.count, 1);
	assert_int_equal(agent_notices_counters(description, &placement, say, &said), 0);
	assert_int_equal(said.count, 1);
	process_description_message(description, &message);
	assert_int_equal(message.process.nr_notices, before + 2);
	process_description_destroy(description);
	string_dictionary_destroy(strings);
}

static void each_refusal_has_words(void **state)
{
	char text[COUNTER_REFUSAL_SIZE];

	(void)state;
	for (uint32_t refusal = 1; refusal <= COUNTER_REFUSALS; refusal++) {
		const char *line = counter_refusal_notice(UINT32_MAX, refusal, text, sizeof(text));

		assert_non_null(strstr(line, counter_refusal_words(refusal)));
		assert_true(counter_refusal_is(line));
	}
	assert_non_null(strstr(counter_refusal_notice(0, COUNTER_DIED, text, sizeof(text)),
			       "counters of CUDA device 0 are no longer sampled: "));
	assert_string_equal(counter_refusal_words(COUNTER_REFUSALS), "the reason is unknown");
	assert_false(counter_refusal_is("kernels of CUDA device 0 are not sampled: no"));
	assert_false(counter_refusal_is("counters of CUDA device 0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_refusal_is_said_once_and_is_a_notice),
		cmocka_unit_test(each_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/cmocka_test.h"

#include <string.h>

#include "node-agent/watch/event_samples.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/kernel/wait_reasons.h"

static void check_name(const struct string_dictionary *strings, uint32_t name_id,
		       const char *wanted)
{
	const struct message_text *text = string_dictionary_texts(strings, name_id);

	assert_int_equal(text->size, strlen(wanted));
	assert_memory_equal(text->data, wanted, text->size);
}

/* A wait of 1,000 ns that ended at 5,000, on an agent's clock that is 70 ahead. */
static uint32_t make(struct string_dictionary *strings, uint64_t queued_ns, uint8_t flags,
		     struct host_sample samples[static EVENT_SAMPLES_MAX])
{
	struct sample_event event = {.kind = HOST_SAMPLE_OFF_CPU,
				     .time_ns = 5000,
				     .duration_ns = 1000,
				     .argument = queued_ns,
				     .tid = 7,
				     .cpu = 3,
				     .flags = flags};
	struct wait_reasons *reasons = wait_reasons_create(NULL); /* the kernel has no names here */
	uint32_t nr;

	assert_int_equal(event_samples_make(reasons, strings, &event, 70, samples, &nr), 0);
	wait_reasons_destroy(reasons);
	assert_int_equal(nr, sample_event_samples(&event));
	for (uint32_t i = 0; i < nr; i++) {
		assert_int_equal(samples[i].kind, HOST_SAMPLE_OFF_CPU);
		assert_int_equal(samples[i].tid, 7);
		assert_int_equal(samples[i].cpu, 3);
	}
	return nr;
}

static void a_wait_ends_where_the_thread_is_woken_and_the_rest_is_run_queue(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	struct host_sample samples[EVENT_SAMPLES_MAX];

	(void)state;
	assert_int_equal(make(strings, 300, 0, samples), 2);
	assert_int_equal(samples[0].time_ns, 4770);
	assert_int_equal(samples[0].duration_ns, 700);
	assert_int_equal(samples[0].name_id, STRING_NONE);
	assert_int_equal(samples[1].time_ns, 5070);
	assert_int_equal(samples[1].duration_ns, 300);
	check_name(strings, samples[1].name_id, "run queue");
	string_dictionary_destroy(strings);
}

static void a_wait_of_one_part_is_one_sample(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	struct host_sample samples[EVENT_SAMPLES_MAX];

	(void)state;
	assert_int_equal(make(strings, 0, SAMPLE_EVENT_PREEMPTED, samples), 1);
	assert_int_equal(samples[0].time_ns, 5070);
	assert_int_equal(samples[0].duration_ns, 1000);
	check_name(strings, samples[0].name_id, "preempted");
	assert_int_equal(make(strings, 1000, 0, samples), 1);
	assert_int_equal(samples[0].time_ns, 5070);
	assert_int_equal(samples[0].duration_ns, 1000);
	check_name(strings, samples[0].name_id, "run queue");
	string_dictionary_destroy(strings);
}

static void what_is_no_wait_has_no_such_part(void **state)
{
	struct string_dictionary *strings = string_dictionary_create();
	struct sample_event event = {
		.kind = HOST_SAMPLE_CALL, .time_ns = 5000, .duration_ns = 1000, .argument = 1};
	struct host_sample samples[EVENT_SAMPLES_MAX];
	uint32_t nr;

	(void)state;
	assert_int_equal(sample_event_samples(&event), 1);
	assert_int_equal(event_samples_make(NULL, strings, &event, 0, samples, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(samples[0].time_ns, 5000);
	assert_int_equal(samples[0].duration_ns, 1000);
	string_dictionary_destroy(strings);
}

static uint64_t queued(uint64_t woken_ns, uint64_t min_ns)
{
	struct sample_event event = {
		.kind = HOST_SAMPLE_OFF_CPU, .time_ns = 5000, .duration_ns = 1000, .argument = 77};

	sample_event_set_queued(&event, woken_ns, min_ns);
	return sample_event_queued(&event);
}

static void a_run_queue_below_the_minimum_stays_in_the_wait(void **state)
{
	(void)state;
	assert_int_equal(queued(4800, 200), 200);
	assert_int_equal(queued(4800, 201), 0);
	assert_int_equal(queued(0, 1), 0);
	assert_int_equal(queued(5000, 1), 0);
	assert_int_equal(queued(3000, 1), 1000); /* woken before it left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_ends_where_the_thread_is_woken_and_the_rest_is_run_queue),
		cmocka_unit_test(a_wait_of_one_part_is_one_sample),
		cmocka_unit_test(what_is_no_wait_has_no_such_part),
		cmocka_unit_test(a_run_queue_below_the_minimum_stays_in_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/definition.h"
#include "ring_source_fixture.h"

static void the_newest_clock_and_the_goodbye_are_seen(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_clock clock = {.monotonic_ns = 100, .cupti_ns = 1000};
	int64_t offset_ns;

	assert_false(ring_source_clock(fixture->source, &offset_ns));
	record_ring_define(fixture->guest, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
	clock.monotonic_ns = 300;
	record_ring_define(fixture->guest, DEFINITION_CLOCK, &clock, sizeof(clock), NULL, 0);
	record_ring_finish(fixture->guest);
	assert_true(ring_source_fixture_pass(fixture));
	assert_true(ring_source_clock(fixture->source, &offset_ns));
	assert_int_equal(offset_ns, -700);
}

static void devices_and_notices_reach_the_description(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_device device = {.device_id = 1, .pci_bus = 0x17};
	struct definition_notice notice = {.code = NOTICE_NO_CUPTI};
	struct message message;

	record_ring_define(fixture->guest, DEFINITION_DEVICE, &device, sizeof(device), "H200", 4);
	for (int i = 0; i < 3; i++)
		record_ring_define(fixture->guest, DEFINITION_NOTICE, &notice, sizeof(notice),
				   "no\x1b[31m libcupti\n", 17);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_notices, 1);
	assert_string_equal(fixture->notice, "no [31m libcupti ");
	process_description_message(fixture->description, &message);
	assert_int_equal(message.process.nr_devices, 1);
	assert_int_equal(message.process.devices[0].index, MESSAGE_INDEX_NONE);
	assert_memory_equal(
		string_dictionary_texts(fixture->strings, message.process.devices[0].pci)->data,
		"0000:17:00.0", 12);
	assert_int_equal(message.process.nr_notices, 1);
}

/* Processes of a job say the same at different times. The description keeps the text without the name. */
static void a_line_about_the_limit_of_cost_names_its_process(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_notice notice = {.code = NOTICE_COST_LIMIT};
	struct message message;
	char line[64];

	ring_source_fixture_close_source(fixture);
	ring_source_fixture_open_source(fixture, getpid());
	record_ring_define(fixture->guest, DEFINITION_NOTICE, &notice, sizeof(notice), "launches",
			   8);
	ring_source_fixture_pass(fixture);
	snprintf(line, sizeof(line), "process %d: launches", (int)getpid());
	assert_string_equal(fixture->notice, line);
	process_description_message(fixture->description, &message);
	assert_int_equal(message.process.nr_notices, 1);
}

static void facts_are_noted_but_interrupt_nobody(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const uint32_t facts[] = {NOTICE_CUPTI_FOUND, NOTICE_PYTHON_FOUND,
					 NOTICE_UNWIND_TABLES, NOTICE_SUBSCRIPTION_SHARED};
	struct message message;

	for (uint32_t i = 0; i < 4; i++) {
		struct definition_notice notice = {.code = facts[i]};

		record_ring_define(fixture->guest, DEFINITION_NOTICE, &notice, sizeof(notice),
				   "abcd" + i, 1);
	}
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_notices, 0);
	process_description_message(fixture->description, &message);
	assert_int_equal(message.process.nr_notices, 4);
}

static void short_and_unknown_definitions_are_skipped(void **state)
{
	struct ring_source_fixture *fixture = *state;
	uint8_t bytes[8] = {1};

	for (uint32_t type = 0; type < 10; type++)
		record_ring_define(fixture->guest, type, bytes, 2, NULL, 0);
	ring_source_fixture_define_name(fixture, 1, "after");
	ring_source_fixture_push_record(fixture, 1, 1);
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_gpu, 1);
	assert_int_not_equal(fixture->gpu[0].name_id, STRING_NONE);
	assert_int_equal(ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE,
							  LEDGER_UNTRUSTED_RING),
			 10);
}

static void modules_beyond_the_limit_are_counted(void **state)
{
	struct ring_source_fixture *fixture = *state;

	ring_source_fixture_define_module(fixture, 0x2000, 0x1000, 0, "/reversed");
	ring_source_fixture_define_module(fixture, 0x1000, 0x2000, 0, "");
	ring_source_fixture_pass(fixture);
	assert_int_equal(
		ring_source_fixture_ledger_count(fixture, LEDGER_DEVICE_NONE, LEDGER_MODULE_LOST),
		2);
	assert_int_equal(fixture->nr_modules, 0);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, ring_source_fixture_set_up,                          \
					ring_source_fixture_tear_down)

static void a_window_is_open_until_its_end_was_read(void **state)
{
	struct ring_source_fixture *fixture = *state;
	struct definition_window window = {.begin_ns = 1, .window = 1};

	for (int i = 0; i < 2; i++) {
		window.end_ns = 0;
		assert_true(record_ring_define(fixture->guest, DEFINITION_WINDOW, &window,
					       sizeof(window), NULL, 0));
		assert_false(ring_source_has_open_window(fixture->source));
		ring_source_fixture_pass(fixture);
		assert_true(ring_source_has_open_window(fixture->source));
		window.end_ns = 2;
		assert_true(record_ring_define(fixture->guest, DEFINITION_WINDOW, &window,
					       sizeof(window), NULL, 0));
		assert_true(ring_source_has_open_window(fixture->source));
		ring_source_fixture_pass(fixture);
		assert_false(ring_source_has_open_window(fixture->source));
	}
}

/* The agent's marks are between the launches of the process. */
static void a_time_between_windows_becomes_two_marks(void **state)
{
	struct ring_source_fixture *fixture = *state;
	static const struct definition_window windows[] = {
		{.begin_ns = 10, .window = 1},
		{.begin_ns = 10, .end_ns = 20, .window = 1},
		{.begin_ns = 50, .window = 2},
		{.begin_ns = 50, .end_ns = 60, .window = 2},
		{.begin_ns = 55, .window = 3} /* it resumes */,
		{.begin_ns = 55, .end_ns = 70, .window = 3},
	};

	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		assert_true(record_ring_define(fixture->guest, DEFINITION_WINDOW, &windows[i],
					       sizeof(windows[i]), NULL, 0));
	ring_source_fixture_pass(fixture);
	assert_int_equal(fixture->nr_launches, 2);
	const struct launch_record *end = &fixture->launches[0], *begin = &fixture->launches[1];
	assert_int_equal(end->flags, RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK);
	assert_int_equal(end->cbid, RECORD_MARK_WINDOW_END);
	assert_int_equal(end->time_ns, 20);
	assert_int_equal(begin->flags, RECORD_LAUNCH_HOST | RECORD_LAUNCH_MARK);
	assert_int_equal(begin->cbid, RECORD_MARK_WINDOW);
	assert_int_equal(begin->time_ns, 50);
	assert_int_equal(begin->window, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_newest_clock_and_the_goodbye_are_seen),
		TEST(devices_and_notices_reach_the_description),
		TEST(a_line_about_the_limit_of_cost_names_its_process),
		TEST(facts_are_noted_but_interrupt_nobody),
		TEST(a_time_between_windows_becomes_two_marks),
		TEST(short_and_unknown_definitions_are_skipped),
		TEST(modules_beyond_the_limit_are_counted),
		TEST(a_window_is_open_until_its_end_was_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

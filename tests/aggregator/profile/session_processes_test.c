#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/session_apply.h"

static struct collection *collection;

static int set_up(void **state)
{
	(void)state;
	collection = collection_create();
	return collection ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	collection_destroy(collection);
	return 0;
}

/* Of agent number: the one process that there is, under another command for each agent. */
static const struct roster_process *tell(uint8_t number, enum process_state told, int32_t rank)
{
	static const struct message_text commands[] = {{"train", 5}, {"[unknown command]", 17}};
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {number};
	struct agent_session *session = collection_session(collection, epoch);
	struct message message = {.type = MESSAGE_STRINGS,
				  .strings = {1, 1, 1, &commands[number - 1]}};
	const char *reason;

	assert_non_null(session);
	if (session->received_seq == 0)
		assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	message = (struct message){.type = MESSAGE_PROCESS,
				   .process = {.seq = session->received_seq + 1,
					       .process_id = 1,
					       .pid = 7,
					       .state = told,
					       .rank = rank,
					       .local_rank = -1,
					       .command = 1}};
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	assert_int_equal(roster_size(collection->roster).processes, 1);
	return roster_process(collection->roster, 1);
}

static void the_next_agents_word_of_an_end_keeps_what_was_told(void **state)
{
	(void)state;
	const uint32_t command = tell(1, PROCESS_RUNNING, 3)->command;
	const struct roster_process *process = tell(2, PROCESS_UNCLEAN, -1);

	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->rank, 3);
	assert_int_equal(process->command, command);
}

static void a_goodbye_is_not_taken_back_by_the_next_agent(void **state)
{
	(void)state;
	tell(1, PROCESS_RUNNING, 3);
	tell(1, PROCESS_ENDED, 3);
	assert_int_equal(tell(2, PROCESS_UNCLEAN, -1)->state, PROCESS_ENDED);
}

static void the_only_word_of_a_process_may_be_its_end(void **state)
{
	(void)state;
	const struct roster_process *process = tell(2, PROCESS_UNCLEAN, 5);

	assert_int_equal(process->state, PROCESS_UNCLEAN);
	assert_int_equal(process->rank, 5);
	assert_int_not_equal(process->command, 0);
}

static uint64_t paused_ns(enum timeline_level level, uint32_t device_id)
{
	const struct timeline_key key = {.level = level, .process_id = 1, .device_id = device_id};
	const struct timeline_entry *entry = timeline_table_find(collection->timelines, &key);

	return entry ? stream_timeline_busy_ns(entry->timeline) : 0;
}

/* The helper thread compares the clocks, and windows may end before that. */
static void a_pause_waits_for_the_clock(void **state)
{
	static const struct launch_record marks[] = {
		{.time_ns = 1100, .cbid = RECORD_MARK_WINDOW_END, .flags = RECORD_LAUNCH_MARK},
		{.time_ns = 1140, .cbid = RECORD_MARK_WINDOW, .flags = RECORD_LAUNCH_MARK},
		{.time_ns = 1200, .cbid = RECORD_MARK_WINDOW_END, .flags = RECORD_LAUNCH_MARK},
		{.time_ns = 1205, .cbid = RECORD_MARK_WINDOW, .flags = RECORD_LAUNCH_MARK}};
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct message message = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = 3, .process_id = 1, .nr_launches = 4, .launches = marks}};
	const char *reason;

	(void)state;
	tell(1, PROCESS_RUNNING, 3);
	struct agent_session *session = collection_session(collection, epoch);
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	assert_int_equal(paused_ns(TIMELINE_EARLY_PAUSES, 0), 45);
	assert_int_equal(paused_ns(TIMELINE_PAUSES, 0), 0);
	for (uint64_t seq = 4; seq <= 5; seq++) {
		message.events = (struct message_events){
			.seq = seq, .process_id = 1, .clock_valid = 1, .clock_offset_ns = 1000};
		assert_int_equal(session_apply(session, collection, &message, &reason), 0);
		assert_int_equal(paused_ns(TIMELINE_PAUSES, 0), 45);
	}
	const struct timeline_key key = {.level = TIMELINE_PAUSES, .process_id = 1};
	struct timeline_sums sums;
	stream_timeline_sums(timeline_table_find(collection->timelines, &key)->timeline, &sums);
	assert_int_equal(sums.first_ns, 100);
	assert_int_equal(sums.last_ns, 205);
	assert_int_equal(sums.records, 2);
}

/* The guest's rings are read one by one, so launches may come before their process's devices. */
static void a_device_has_the_pauses_of_before_its_description(void **state)
{
	static const struct launch_record marks[] = {
		{.time_ns = 100, .cbid = RECORD_MARK_WINDOW_END, .flags = RECORD_LAUNCH_MARK},
		{.time_ns = 140, .cbid = RECORD_MARK_WINDOW, .flags = RECORD_LAUNCH_MARK}};
	static const struct message_device device = {.device_id = 3, .uuid = {7}};
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct message message = {.type = MESSAGE_EVENTS,
				  .events = {.seq = 3,
					     .process_id = 1,
					     .clock_valid = 1,
					     .nr_launches = 2,
					     .launches = marks}};
	const char *reason;

	(void)state;
	tell(1, PROCESS_RUNNING, 3);
	struct agent_session *session = collection_session(collection, epoch);
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	assert_int_equal(paused_ns(TIMELINE_PAUSES, 0), 40);
	assert_int_equal(paused_ns(TIMELINE_DEVICE_PAUSES, 1), 0);
	message = (struct message){
		.type = MESSAGE_PROCESS,
		.process = {.seq = 4, .process_id = 1, .nr_devices = 1, .devices = &device}};
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	assert_int_equal(paused_ns(TIMELINE_DEVICE_PAUSES, 1), 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_agents_word_of_an_end_keeps_what_was_told),
		TEST(a_goodbye_is_not_taken_back_by_the_next_agent),
		TEST(the_only_word_of_a_process_may_be_its_end),
		TEST(a_pause_waits_for_the_clock),
		TEST(a_device_has_the_pauses_of_before_its_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

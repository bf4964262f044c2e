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

static uint64_t busy_ns(enum timeline_level level, uint32_t device_id)
{
	const struct timeline_key key = {.level = level, .process_id = 1, .device_id = device_id};
	const struct timeline_entry *entry = timeline_table_find(collection->timelines, &key);

	return entry ? stream_timeline_busy_ns(entry->timeline) : 0;
}

static void run_kernel(uint64_t seq, uint64_t start_ns, uint64_t end_ns)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	const struct gpu_record record = {.start_ns = start_ns,
					  .end_ns = end_ns,
					  .device_id = 3,
					  .kind = RECORD_GPU_KERNEL,
					  .correlation_id = (uint32_t)seq,
					  .name_id = RECORD_NAME_NONE};
	const struct message message = {
		.type = MESSAGE_EVENTS,
		.events = {.seq = seq, .process_id = 1, .nr_gpu = 1, .gpu = &record}};
	const char *reason;

	assert_int_equal(
		session_apply(collection_session(collection, epoch), collection, &message, &reason),
		0);
}

/* A guest describes its devices beside its launches, so they may come first. */
static void a_device_has_the_work_of_before_its_description(void **state)
{
	static const struct message_device device = {.device_id = 3, .uuid = {7}};
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct message message = {
		.type = MESSAGE_PROCESS,
		.process = {.seq = 5, .process_id = 1, .nr_devices = 1, .devices = &device}};
	const char *reason;

	(void)state;
	tell(1, PROCESS_RUNNING, 3);
	run_kernel(3, 100, 150);
	run_kernel(4, 170, 200);
	assert_int_equal(busy_ns(TIMELINE_ORDINAL, 3), 80);
	for (int i = 0; i < 2; i++, message.process.seq++) {
		assert_int_equal(session_apply(collection_session(collection, epoch), collection,
					       &message, &reason),
				 0);
		assert_int_equal(busy_ns(TIMELINE_ORDINAL, 3), 0);
		assert_int_equal(busy_ns(TIMELINE_DEVICE, 1), 80);
	}
	run_kernel(7, 190, 260);
	assert_int_equal(busy_ns(TIMELINE_ORDINAL, 3), 0);
	assert_int_equal(busy_ns(TIMELINE_DEVICE, 1), 140);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_agents_word_of_an_end_keeps_what_was_told),
		TEST(a_goodbye_is_not_taken_back_by_the_next_agent),
		TEST(the_only_word_of_a_process_may_be_its_end),
		TEST(a_device_has_the_work_of_before_its_description),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_agents_word_of_an_end_keeps_what_was_told),
		TEST(a_goodbye_is_not_taken_back_by_the_next_agent),
		TEST(the_only_word_of_a_process_may_be_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

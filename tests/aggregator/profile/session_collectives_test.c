#include "aggregator/profile/session_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/store/store.h"
#include "proto/batch/message_seq.h"
#include "report/model/report_build.h"
#include "report/model/report_collectives.h"
#include "report/profile/profile.h"
#include "report/profile/profile_collectives.h"
#include "report/writers/collectives_writer.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static char folder[64], path[96];
static struct store *store;
static struct collection *collection;
static struct agent_session *session;

/* ---- a store, and an agent with two processes --------------------------------------------------- */

static void open_store(void)
{
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	char *error = NULL;

	assert_int_equal(store_open(path, NULL, &store, &error), 0);
	collection = collection_create();
	assert_int_equal(store_load(store, collection), 0);
	session = collection_session(collection, epoch);
}

static void close_store(void)
{
	store_close(store);
	collection_destroy(collection);
}

static int apply(struct message message)
{
	const char *reason;

	message_seq_set(&message, session->received_seq + 1);
	return session_apply(session, collection, &message, &reason);
}

static void define(void)
{
	static const struct message_text strings[] = {TEXT("train.py"), TEXT("main"), TEXT("step"),
						      TEXT("train")};
	static const struct message_code codes[] = {{1, 2}, {1, 3}};
	static const struct message_frame frames[] = {{.code = 1, .offset = 7},
						      {.code = 2, .offset = 9}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}};
	const struct message_hello hello = {
		.software = TEXT("test"), .node = TEXT("node01"), .boot_id = TEXT("b00t")};

	assert_int_equal(
		agent_session_hello(session, collection->catalog, collection->roster, &hello), 0);
	assert_int_equal(
		apply((struct message){.type = MESSAGE_STRINGS,
				       .strings = {.base = 1, .count = 4, .strings = strings}}),
		0);
	assert_int_equal(apply((struct message){.type = MESSAGE_STACKS,
						.stacks = {.frame_base = 1,
							   .nr_frames = 2,
							   .frames = frames,
							   .node_base = 1,
							   .nr_nodes = 2,
							   .nodes = nodes,
							   .code_base = 1,
							   .nr_codes = 2,
							   .codes = codes}}),
			 0);
	for (uint32_t id = 1; id <= 2; id++)
		assert_int_equal(apply((struct message){.type = MESSAGE_PROCESS,
							.process = {.process_id = id,
								    .pid = 70 + id,
								    .instance = {(uint8_t)id},
								    .rank = (int32_t)id - 1,
								    .local_rank = -1,
								    .world_size = 2,
								    .command = 4}}),
				 0);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/flamegrid-collective-store.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/profile.db", folder);
	open_store();
	define();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_store();
	unlink(path);
	return rmdir(folder);
}

static const struct communicator world = {
	.communicator_id = 1, .key = 0xabcdef0123456789ull, .rank = 1, .nr_ranks = 2};
static const struct communicator half = {.communicator_id = 2,
					 .key = 77,
					 .parent_key = 0xabcdef0123456789ull,
					 .rank = COLLECTIVE_NOT_KNOWN,
					 .nr_ranks = COLLECTIVE_NOT_KNOWN,
					 .color = -3,
					 .split = 4,
					 .origin = COMMUNICATOR_SPLIT};
static const struct communicator middle = {.communicator_id = 3,
					   .rank = COLLECTIVE_NOT_KNOWN,
					   .nr_ranks = COLLECTIVE_NOT_KNOWN,
					   .origin = COMMUNICATOR_MIDDLE};

static struct collective call_of(uint32_t communicator_id, uint64_t sequence, uint8_t function)
{
	return (struct collective){
		.start_ns = 1000 * sequence,
		.duration_ns = 10 + sequence,
		.sequence = sequence,
		.function_sequence = sequence,
		.count = 5,
		.bytes = 20,
		.stream = UINT64_MAX - 1,
		.communicator_id = communicator_id,
		.tid = 9,
		.peer = COLLECTIVE_NOT_KNOWN,
		.stack_id = 2,
		.function = function,
		.data_type = COLLECTIVE_FLOAT32,
	};
}

static int send_lists(uint32_t process, const struct communicator *communicators,
		      uint32_t nr_communicators, const struct collective *calls, uint32_t nr_calls)
{
	return apply((struct message){.type = MESSAGE_COLLECTIVES,
				      .collectives = {.process_id = process,
						      .nr_communicators = nr_communicators,
						      .nr_collectives = nr_calls,
						      .communicators = communicators,
						      .collectives = calls}});
}

static struct collective_folds *stored(void)
{
	struct collective_folds *folds;
	char *error = NULL;

	assert_int_equal(profile_collectives_load(path, &folds, &error), 0);
	return folds;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void what_is_stored_is_what_came_in_order(void **state)
{
	const struct communicator communicators[] = {world, half};
	struct collective calls[] = {call_of(1, 1, COLLECTIVE_ALL_REDUCE),
				     call_of(2, 1, COLLECTIVE_SEND),
				     call_of(0, 0, COLLECTIVE_GROUP)};
	uint32_t count;

	(void)state;
	calls[1].peer = 1;
	calls[1].result = -1;
	calls[1].stack_id = 0;
	assert_int_equal(send_lists(1, communicators, 2, calls, 2), 0);
	assert_int_equal(send_lists(1, NULL, 0, calls + 2, 1), 0);
	assert_int_equal(send_lists(2, &world, 1, calls, 1), 0);
	assert_int_equal(store_commit(store, collection), 0);
	struct collective_folds *folds = stored();
	const struct collective_log_communicator *made =
		collective_log_communicators(folds->log, &count);
	assert_int_equal(count, 3);
	assert_int_equal(made[1].process, 1);
	assert_memory_equal(&made[0].communicator, &world, sizeof(world));
	assert_memory_equal(&made[1].communicator, &half, sizeof(half));
	assert_int_equal(made[2].process, 2);
	const struct collective_log_call *found = collective_log_calls(folds->log, &count);
	assert_int_equal(count, 4);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(found[i].process, 1);
		assert_memory_equal(&found[i].call, &calls[i], sizeof(calls[i]));
	}
	assert_int_equal(found[3].process, 2);
	collective_folds_destroy(folds);
}

static void a_later_word_on_a_communicator_replaces_the_earlier_one(void **state)
{
	struct communicator again = world;
	uint32_t count;

	(void)state;
	assert_int_equal(send_lists(1, &world, 1, NULL, 0), 0);
	assert_int_equal(store_commit(store, collection), 0);
	again.nr_ranks = 8;
	assert_int_equal(send_lists(1, &again, 1, NULL, 0), 0);
	assert_int_equal(store_commit(store, collection), 0);
	struct collective_folds *folds = stored();
	const struct collective_log_communicator *made =
		collective_log_communicators(folds->log, &count);
	assert_int_equal(count, 1);
	assert_int_equal(made[0].communicator.nr_ranks, 8);
	collective_folds_destroy(folds);
}

static void a_restart_goes_on_where_it_was(void **state)
{
	const struct communicator communicators[] = {world, half};
	const struct collective call = call_of(2, 1, COLLECTIVE_ALL_REDUCE);
	uint32_t count;

	(void)state;
	assert_int_equal(send_lists(1, communicators, 2, &call, 1), 0);
	assert_int_equal(store_commit(store, collection), 0);
	/* Not committed: it comes again. */
	assert_int_equal(send_lists(1, &middle, 1, &call, 1), 0);
	close_store();
	open_store();
	assert_int_equal(collective_log_defined(collection->collectives, 1), 2);
	assert_int_equal(collective_log_defined(collection->collectives, 2), 0);
	assert_int_equal(send_lists(1, &middle, 1, &call, 1), 0);
	assert_int_equal(store_commit(store, collection), 0);
	assert_int_equal(store_commit(store, collection), 0);
	struct collective_folds *folds = stored();
	collective_log_calls(folds->log, &count);
	assert_int_equal(count, 2);
	assert_int_equal(collective_log_defined(folds->log, 1), 3);
	collective_folds_destroy(folds);
}

static void what_is_not_defined_is_refused_and_changes_nothing(void **state)
{
	const struct communicator communicators[] = {world, half, middle};
	struct communicator none = world;
	struct collective stack = call_of(1, 1, COLLECTIVE_ALL_REDUCE);
	const struct collective unknown = call_of(2, 1, COLLECTIVE_ALL_REDUCE);
	uint32_t count;

	(void)state;
	stack.stack_id = 3;
	none.communicator_id = 0;
	assert_int_equal(send_lists(0, &world, 1, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(send_lists(3, &world, 1, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(send_lists(1, &none, 1, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(send_lists(1, &half, 1, NULL, 0), REFUSE_UNDEFINED);
	assert_int_equal(send_lists(1, &world, 1, &stack, 1), REFUSE_UNDEFINED);
	assert_int_equal(send_lists(1, &world, 1, &unknown, 1), REFUSE_UNDEFINED);
	collective_log_communicators(collection->collectives, &count);
	assert_int_equal(count, 0);
	collective_log_calls(collection->collectives, &count);
	assert_int_equal(count, 0);
	assert_int_equal(
		collective_log_load(collection->collectives, 1, COLLECTIVE_COMMUNICATORS_MAX), 0);
	const struct communicator more = {.communicator_id = COLLECTIVE_COMMUNICATORS_MAX + 1};
	assert_int_equal(send_lists(1, &more, 1, NULL, 0), REFUSE_LIMIT);
	assert_int_equal(send_lists(2, communicators, 3, &unknown, 1), 0);
}

/* Two ranks of one communicator, one that is not known, a group. */
static void send_all(void)
{
	const struct communicator communicators[] = {world, half, middle};
	struct communicator other = world;
	struct collective calls[] = {
		call_of(1, 1, COLLECTIVE_ALL_REDUCE), call_of(1, 2, COLLECTIVE_ALL_REDUCE),
		call_of(1, 3, COLLECTIVE_BROADCAST),  call_of(3, 5, COLLECTIVE_ALL_REDUCE),
		call_of(0, 0, COLLECTIVE_GROUP),
	};

	other.rank = 0;
	assert_int_equal(send_lists(1, communicators, 3, calls, 5), 0);
	calls[1].result = 3;
	calls[1].sequence = 0;
	assert_int_equal(send_lists(2, &other, 1, calls, 2), 0);
	assert_int_equal(store_commit(store, collection), 0);
}

struct reports {
	struct profile *profile;
	struct report_tree *tree;
	struct report_collectives *collectives;
};

static void open_reports(struct reports *reports)
{
	char *error = NULL;

	assert_int_equal(profile_load(path, &reports->profile, &error), 0);
	assert_int_equal(report_tree_build(reports->profile, NULL, &reports->tree), 0);
	assert_int_equal(
		report_collectives_create(reports->profile, stored(), NULL, &reports->collectives),
		0);
}

static void close_reports(struct reports *reports)
{
	report_collectives_destroy(reports->collectives);
	report_tree_destroy(reports->tree);
	profile_destroy(reports->profile);
}

static void ranks_of_one_key_are_summed_up(void **state)
{
	struct reports reports;
	(void)state;
	send_all();
	open_reports(&reports);
	const struct report_collective_sum *sums = reports.collectives->sums;

	assert_int_equal(reports.collectives->nr_calls, 7);
	assert_int_equal(reports.collectives->nr_sums, 4);
	assert_true(sums[0].key == world.key);
	assert_int_equal(sums[0].function, COLLECTIVE_ALL_REDUCE);
	assert_int_equal(sums[0].nr_seen, 2);
	assert_int_equal(sums[0].nr_ranks, 2);
	assert_int_equal(sums[0].calls, 4);
	assert_int_equal(sums[0].failed, 1);
	assert_int_equal(sums[0].bytes, 60);
	assert_int_equal(sums[0].total_ns, 46);
	assert_int_equal(sums[0].max_ns, 12);
	assert_int_equal(sums[0].first, 1);
	assert_int_equal(sums[0].last, 2);
	assert_true(sums[1].key == 0);
	assert_int_equal(sums[1].communicator_id, 3);
	assert_int_equal(sums[1].nr_ranks, COLLECTIVE_NOT_KNOWN);
	assert_int_equal(sums[2].function, COLLECTIVE_BROADCAST);
	assert_int_equal(sums[2].nr_seen, 1);
	assert_int_equal(sums[3].function, COLLECTIVE_GROUP);
	close_reports(&reports);
}

static void assert_line(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no \"%s\" in:\n%s", line, text);
}

static void every_format_shows_them(void **state)
{
	struct reports reports;
	char *text = NULL;
	size_t size;
	(void)state;
	send_all();
	open_reports(&reports);
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(collectives_writer_table(out, reports.collectives, reports.tree, NULL, 0, false),
			 0);
	assert_int_equal(collectives_writer_csv(out, reports.collectives), 0);
	collectives_writer_json(out, reports.collectives);
	fclose(out);
	assert_null(strstr(text, "all ranks         abcdef0123456789"));
	assert_line(text, "function       communicator      sequence\n");
	assert_line(text, "2 of 2  all_reduce     all ranks         1..2; 1 failed\n");
	assert_line(text, "71.3 (not known)  5..5\n");
	assert_line(text, "note: communicators \"not known\"");
	assert_line(text, "node01,71,0,9,abcdef0123456789,1,2,1,unique id,,1,1,all_reduce,float32,"
			  "sum,5,20,,0,0xfffffffffffffffe,0,1000,11,0,,,,"
			  "\"train.py:main:7;train.py:step:9\",all ranks\n");
	assert_line(text, "node01,72,1,9,abcdef0123456789,1,2,0,unique id,,0,2,");
	assert_line(text, "node01,71,0,9,,3,,,seen in the middle,,5,5,all_reduce,");
	assert_line(text, "node01,71,0,9,,,,,,,0,0,group,");
	assert_line(text, "{\"communicator\":\"abcdef0123456789\",\"name\":\"all ranks\","
			  "\"origin\":\"unique id\","
			  "\"function\":\"all_reduce\",\"ranks\":2,\"ranks_seen\":2,\"calls\":4,"
			  "\"failed\":1,\"bytes\":60,\"host_ns\":46,\"max_ns\":12,"
			  "\"first_sequence\":1,\"last_sequence\":2,\"gpu_calls\":0,\"gpu_ns\":0}");
	assert_line(text, "\"host\":\"node01\",\"pid\":71,\"communicator_id\":3,");
	free(text);
	out = open_memstream(&text, &size);
	assert_int_equal(collectives_writer_table(out, reports.collectives, reports.tree, NULL, 0, true),
			 0);
	fclose(out);
	assert_line(text, "communicator      key               sequence\n");
	assert_line(text, "all ranks         abcdef0123456789  1..2; 1 failed\n");
	assert_line(text, "71.3 (not known)                    5..5\n");
	free(text);
	close_reports(&reports);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_stored_is_what_came_in_order),
		TEST(a_later_word_on_a_communicator_replaces_the_earlier_one),
		TEST(a_restart_goes_on_where_it_was),
		TEST(what_is_not_defined_is_refused_and_changes_nothing),
		TEST(ranks_of_one_key_are_summed_up),
		TEST(every_format_shows_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "aggregator/profile/session_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/profile/session_apply.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

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

static struct agent_session *agent(uint8_t number, const struct message_text *texts, uint32_t count)
{
	uint8_t epoch[WIRE_EPOCH_SIZE] = {number};
	struct message message = {.type = MESSAGE_STRINGS, .strings = {1, 1, count, texts}};
	struct agent_session *session = collection_session(collection, epoch);
	const char *reason;

	assert_non_null(session);
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	return session;
}

static int apply(struct agent_session *session, const struct message_stacks *stacks,
		 const char **reason)
{
	const struct message message = {.type = MESSAGE_STACKS, .stacks = *stacks};

	*reason = "";
	return session_stacks_apply(session, collection, &message, reason);
}

/* Two guests ran the same two functions and saw them, their files and a mark in another order. */
static void equal_codes_of_agents_that_number_them_differently_are_one(void **state)
{
	static const struct message_text texts[] = {TEXT("train.py"), TEXT("step"), TEXT("loss"),
						    TEXT("[frames missing]")},
					 other[] = {TEXT("[frames missing]"), TEXT("loss"),
						    TEXT("unused"), TEXT("step"), TEXT("train.py")};
	static const struct message_code codes[] = {{1, 2}, {1, 3}, {0, 4}},
					 others[] = {{0, 1}, {5, 2}, {5, 4}};
	static const struct message_frame frames[] = {{.code = 1, .offset = 12},
						      {.code = 2, .offset = 30},
						      {.code = 3}},
					  other_frames[] = {{.code = 1},
							    {.code = 2, .offset = 30},
							    {.code = 2, .offset = 31},
							    {.code = 3, .offset = 12}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}, {2, 3}},
					 other_nodes[] = {{0, 4}, {1, 2}, {2, 1}, {1, 3}};
	const struct message_stacks first = {.code_base = 1,
					     .nr_codes = LENGTH(codes),
					     .codes = codes,
					     .frame_base = 1,
					     .nr_frames = LENGTH(frames),
					     .frames = frames,
					     .node_base = 1,
					     .nr_nodes = LENGTH(nodes),
					     .nodes = nodes};
	const struct message_stacks second = {.code_base = 1,
					      .nr_codes = LENGTH(others),
					      .codes = others,
					      .frame_base = 1,
					      .nr_frames = LENGTH(other_frames),
					      .frames = other_frames,
					      .node_base = 1,
					      .nr_nodes = LENGTH(other_nodes),
					      .nodes = other_nodes};
	struct agent_session *one = agent(1, texts, LENGTH(texts));
	const char *reason;

	(void)state;
	assert_int_equal(apply(one, &first, &reason), 0);
	struct agent_session *two = agent(2, other, LENGTH(other));
	assert_int_equal(apply(two, &second, &reason), 0);
	struct catalog_size size = catalog_size(collection->catalog);
	assert_int_equal(size.codes, 3);
	assert_int_equal(size.frames, 4); /* line 31 is the other's alone */
	assert_int_equal(size.nodes, 4);
	assert_int_equal(two->ids[SESSION_NODES].ids[2], one->ids[SESSION_NODES].ids[2]);
	const struct catalog_frame *frame = catalog_frame(collection->catalog, 2);
	assert_int_equal(frame->offset, 30);
	assert_int_equal(frame->scope, 0);
	assert_string_equal(catalog_string(collection->catalog,
					   catalog_code(collection->catalog, frame->code)->name,
					   NULL),
			    "loss");
}

static void codes_that_do_not_follow_those_before_are_refused(void **state)
{
	static const struct message_text texts[] = {TEXT("f")};
	static const struct message_code code = {0, 1};
	struct message_stacks stacks = {.code_base = 2, .nr_codes = 1, .codes = &code};
	struct agent_session *session = agent(1, texts, 1);
	const char *reason;

	(void)state;
	assert_int_equal(apply(session, &stacks, &reason), REFUSE_UNDEFINED);
	assert_non_null(strstr(reason, "do not follow"));
	stacks.code_base = 1;
	assert_int_equal(apply(session, &stacks, &reason), 0);
	assert_int_equal(apply(session, &stacks, &reason), REFUSE_UNDEFINED);
	stacks.code_base = 2;
	assert_int_equal(apply(session, &stacks, &reason), 0);
}

static void a_code_or_frame_that_names_what_is_not_defined_is_refused(void **state)
{
	static const struct message_text texts[] = {TEXT("f")};
	static const struct message_code wrong[] = {{2, 1}, {0, 2}, {1, 0}};
	static const struct message_frame frame = {.code = 1, .offset = 3};
	struct message_stacks stacks = {.code_base = 1, .nr_codes = 1};
	struct agent_session *session = agent(1, texts, 1);
	const char *reason;

	(void)state;
	for (uint32_t i = 0; i < LENGTH(wrong); i++) {
		stacks.codes = &wrong[i];
		assert_int_equal(apply(session, &stacks, &reason), REFUSE_UNDEFINED);
		assert_non_null(strstr(reason, "not defined"));
	}
	stacks = (struct message_stacks){.frame_base = 1, .nr_frames = 1, .frames = &frame};
	assert_int_equal(apply(session, &stacks, &reason), REFUSE_UNDEFINED);
	assert_int_equal(catalog_size(collection->catalog).codes, 0);
	assert_int_equal(catalog_size(collection->catalog).frames, 0);
}

/* The same number means an address in one and a line in the other. */
static void lines_are_no_addresses(void **state)
{
	static const struct message_text texts[] = {TEXT("f")};
	static const struct message_code code = {1, 1};
	static const struct message_frame frames[] = {{.offset = 12}, {.code = 1, .offset = 12}};
	const struct message_stacks stacks = {.code_base = 1,
					      .nr_codes = 1,
					      .codes = &code,
					      .frame_base = 1,
					      .nr_frames = 2,
					      .frames = frames};
	const char *reason;

	(void)state;
	assert_int_equal(apply(agent(1, texts, 1), &stacks, &reason), 0);
	assert_int_equal(apply(agent(2, texts, 1), &stacks, &reason), 0);
	/* Plain addresses are good within their epoch alone. */
	assert_int_equal(catalog_size(collection->catalog).frames, 3);
}

/* One kernel of a graph, launched at one node of the agent's and captured at the other. */
static void apply_graph(struct agent_session *session, uint32_t launched, uint32_t captured)
{
	const struct launch_record launch = {.correlation_id = 1,
					     .stack_id = launched,
					     .window = 1,
					     .flags = RECORD_LAUNCH_MANY};
	const struct gpu_record record = {.start_ns = 1,
					  .end_ns = 11,
					  .graph_node_id = 1,
					  .correlation_id = 1,
					  .window = 1,
					  .capture_stack_id = captured};
	struct message message = {
		.type = MESSAGE_PROCESS,
		.process = {.seq = 2, .process_id = 1, .instance = {session->epoch[0]}}};
	const char *reason;

	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	message = (struct message){.type = MESSAGE_EVENTS,
				   .events = {.seq = 3,
					      .process_id = 1,
					      .nr_launches = 1,
					      .launches = &launch,
					      .nr_gpu = 1,
					      .gpu = &record}};
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
}

static void capture_stacks_of_agents_that_number_them_differently_are_one(void **state)
{
	static const struct message_text texts[] = {TEXT("replay"), TEXT("capture")};
	static const struct message_code codes[] = {{0, 1}, {0, 2}};
	static const struct message_frame frames[] = {{.code = 1}, {.code = 2}};
	static const struct message_node nodes[] = {{0, 1}, {0, 2}}, reversed[] = {{0, 2}, {0, 1}};
	struct message_stacks stacks = {.code_base = 1,
					.nr_codes = 2,
					.codes = codes,
					.frame_base = 1,
					.nr_frames = 2,
					.frames = frames,
					.node_base = 1,
					.nr_nodes = 2,
					.nodes = nodes};
	struct agent_session *one = agent(1, texts, LENGTH(texts));
	uint32_t nr_rows;
	const char *reason;

	(void)state;
	assert_int_equal(apply(one, &stacks, &reason), 0);
	apply_graph(one, 1, 2);
	struct agent_session *two = agent(2, texts, LENGTH(texts));
	stacks.nodes = reversed;
	assert_int_equal(apply(two, &stacks, &reason), 0);
	apply_graph(two, 2, 1);
	const struct fold_row *rows = fold_table_rows(collection->totals, &nr_rows);
	assert_int_equal(nr_rows, 2);
	for (uint32_t i = 0; i < nr_rows; i++) {
		assert_int_equal(rows[i].key.process_id, i + 1);
		assert_int_equal(rows[i].key.stack_id, one->ids[SESSION_NODES].ids[0]);
		assert_int_equal(rows[i].key.capture_stack_id, one->ids[SESSION_NODES].ids[1]);
	}
}

static void a_capture_stack_that_is_not_defined_is_refused(void **state)
{
	static const struct message_text texts[] = {TEXT("replay")};
	const struct gpu_record record = {
		.start_ns = 1, .end_ns = 2, .window = 1, .capture_stack_id = 1};
	struct agent_session *session = agent(1, texts, 1);
	struct message message = {.type = MESSAGE_PROCESS, .process = {.seq = 2, .process_id = 1}};
	uint32_t nr_rows;
	const char *reason;

	(void)state;
	assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	message = (struct message){
		.type = MESSAGE_EVENTS,
		.events = {.seq = 3, .process_id = 1, .nr_gpu = 1, .gpu = &record}};
	assert_int_equal(session_apply(session, collection, &message, &reason), REFUSE_UNDEFINED);
	assert_non_null(strstr(reason, "not defined"));
	assert_int_equal(session->received_seq, 2);
	fold_table_rows(collection->totals, &nr_rows);
	assert_int_equal(nr_rows, 0);
}

/* Two agents, on two nodes, with programs of two users that claim to be the same build. */
static void names_of_one_users_files_are_not_given_to_anothers(void **state)
{
	static const struct message_text texts[] = {TEXT("/home/a/train"), TEXT("step"),
						    TEXT("forged")};
	static const struct message_frame frames[] = {{.module = 1, .offset = 0x1000}};
	static const struct message_symbol right[] = {{1, 2}}, wrong[] = {{1, 3}};
	struct message_module module = {
		.path = 1, .owner = 1000, .build_id_size = 2, .build_id = {1, 2}};
	struct message_stacks stacks = {.module_base = 1,
					.nr_modules = 1,
					.modules = &module,
					.frame_base = 1,
					.nr_frames = 1,
					.frames = frames,
					.nr_symbols = 1,
					.symbols = right};
	struct agent_session *one = agent(1, texts, LENGTH(texts));
	const char *reason;

	(void)state;
	assert_int_equal(apply(one, &stacks, &reason), 0);
	struct agent_session *two = agent(2, texts, LENGTH(texts));
	module.owner = 65534;
	stacks.symbols = wrong;
	assert_int_equal(apply(two, &stacks, &reason), 0);
	assert_int_equal(catalog_size(collection->catalog).modules, 2);
	assert_int_equal(catalog_size(collection->catalog).frames, 2);
	uint32_t name = catalog_frame(collection->catalog, one->ids[SESSION_FRAMES].ids[0])->name;
	assert_string_equal(catalog_string(collection->catalog, name, NULL), "step");
	name = catalog_frame(collection->catalog, two->ids[SESSION_FRAMES].ids[0])->name;
	assert_string_equal(catalog_string(collection->catalog, name, NULL), "forged");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_codes_of_agents_that_number_them_differently_are_one),
		TEST(codes_that_do_not_follow_those_before_are_refused),
		TEST(a_code_or_frame_that_names_what_is_not_defined_is_refused),
		TEST(lines_are_no_addresses),
		TEST(names_of_one_users_files_are_not_given_to_anothers),
		TEST(capture_stacks_of_agents_that_number_them_differently_are_one),
		TEST(a_capture_stack_that_is_not_defined_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

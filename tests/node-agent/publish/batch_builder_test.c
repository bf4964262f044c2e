#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/publish/batch_builder.h"
#include "proto/batch/batch_encode.h"

/* Checks what the aggregator would: every id is defined before it is used, and every message can be
 * encoded. */
struct checker {
	struct batch_encoder *encoder;
	struct string_dictionary *strings;
	struct stack_dictionary *stacks;
	struct batch_builder *builder;
	uint64_t seq;
	uint32_t nr_strings, nr_modules, nr_codes, nr_frames, nr_nodes, nr_symbols, nr_events;
	uint32_t nr_launches, nr_gpu;
	int fails;
};

static void check_stacks(struct checker *checker, const struct message_stacks *part)
{
	assert_int_equal(part->module_base, checker->nr_modules + 1);
	assert_int_equal(part->code_base, checker->nr_codes + 1);
	assert_int_equal(part->frame_base, checker->nr_frames + 1);
	assert_int_equal(part->node_base, checker->nr_nodes + 1);
	checker->nr_modules += part->nr_modules;
	for (uint32_t i = 0; i < part->nr_modules; i++)
		assert_true(part->modules[i].path <= checker->nr_strings);
	checker->nr_codes += part->nr_codes;
	for (uint32_t i = 0; i < part->nr_codes; i++) {
		assert_true(part->codes[i].file <= checker->nr_strings);
		assert_true(part->codes[i].name <= checker->nr_strings);
	}
	checker->nr_frames += part->nr_frames;
	for (uint32_t i = 0; i < part->nr_frames; i++) {
		assert_true(part->frames[i].module <= checker->nr_modules);
		assert_true(part->frames[i].code <= checker->nr_codes);
	}
	for (uint32_t i = 0; i < part->nr_nodes; i++) {
		assert_true(part->nodes[i].parent <= checker->nr_nodes);
		assert_true(part->nodes[i].frame <= checker->nr_frames);
		checker->nr_nodes++;
	}
	for (uint32_t i = 0; i < part->nr_symbols; i++) {
		assert_true(part->symbols[i].frame <= checker->nr_frames);
		assert_true(part->symbols[i].name <= checker->nr_strings);
	}
	checker->nr_symbols += part->nr_symbols;
}

static int check(void *context, struct message *message)
{
	struct checker *checker = context;
	const uint8_t *frame;
	size_t size;

	if (checker->fails)
		return checker->fails;
	switch (message->type) {
	case MESSAGE_STRINGS:
		message->strings.seq = ++checker->seq;
		assert_int_equal(message->strings.base, checker->nr_strings + 1);
		checker->nr_strings += message->strings.count;
		break;
	case MESSAGE_STACKS:
		message->stacks.seq = ++checker->seq;
		check_stacks(checker, &message->stacks);
		break;
	case MESSAGE_EVENTS:
		message->events.seq = ++checker->seq;
		checker->nr_events++;
		checker->nr_launches += message->events.nr_launches;
		checker->nr_gpu += message->events.nr_gpu;
		for (uint32_t i = 0; i < message->events.nr_launches; i++)
			assert_true(message->events.launches[i].stack_id <= checker->nr_nodes);
		for (uint32_t i = 0; i < message->events.nr_gpu; i++)
			assert_true(message->events.gpu[i].name_id <= checker->nr_strings);
		break;
	default:
		fail_msg("message of type %d", (int)message->type);
	}
	assert_int_equal(batch_encode(checker->encoder, message, &frame, &size), 0);
	assert_true(size <= WIRE_FRAME_MAX);
	return 0;
}

static int set_up(void **state)
{
	struct checker *checker = calloc(1, sizeof(*checker));

	checker->encoder = batch_encoder_create();
	checker->strings = string_dictionary_create();
	checker->stacks = stack_dictionary_create();
	checker->builder = batch_builder_create(checker->strings, checker->stacks, check, checker);
	*state = checker;
	return 0;
}

static int tear_down(void **state)
{
	struct checker *checker = *state;

	batch_builder_destroy(checker->builder);
	stack_dictionary_destroy(checker->stacks);
	string_dictionary_destroy(checker->strings);
	batch_encoder_destroy(checker->encoder);
	free(checker);
	return 0;
}

static uint32_t intern(struct checker *checker, const char *text)
{
	uint32_t id;

	assert_int_equal(string_dictionary_intern(checker->strings, text, strlen(text), &id), 0);
	return id;
}

static uint32_t add_stack(struct checker *checker, uint32_t module, uint64_t offset)
{
	struct message_frame frames[] = {{.module = module, .offset = offset},
					 {.module = module, .offset = 0x10}};
	uint32_t budget = 10, node;

	assert_int_equal(stack_dictionary_add_stack(checker->stacks, frames, 2, &budget, &node), 0);
	return node;
}

static uint32_t add_module(struct checker *checker, const char *path)
{
	struct message_module module = {.path = intern(checker, path)};
	uint32_t id;

	assert_int_equal(stack_dictionary_add_module(checker->stacks, &module, &id), 0);
	return id;
}

static void add_records(struct checker *checker, uint32_t count, uint32_t node, uint32_t name)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t room;
		struct launch_record *launch = batch_builder_launch_room(checker->builder, &room);

		assert_true(room > 0);
		*launch =
			(struct launch_record){.stack_id = node, .correlation_id = i, .window = 1};
		batch_builder_commit_launches(checker->builder, 1);
		struct gpu_record *record = batch_builder_gpu_room(checker->builder, &room);
		assert_true(room > 0);
		*record = (struct gpu_record){.start_ns = i + 1, .end_ns = i + 2, .name_id = name};
		batch_builder_commit_gpu(checker->builder, 1);
	}
}

static void dictionaries_go_before_the_records_that_use_them(void **state)
{
	struct checker *checker = *state;
	uint32_t module = add_module(checker, "/bin/app");
	uint32_t node = add_stack(checker, module, 0x20), name = intern(checker, "kernel");

	add_records(checker, 5, node, name);
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 0), 0);
	assert_int_equal(checker->nr_strings, 2);
	assert_int_equal(checker->nr_nodes, 2);
	assert_int_equal(checker->nr_events, 1);
	assert_int_equal(checker->nr_launches, 5);
	assert_int_equal(checker->nr_gpu, 5);
}

static void what_was_sent_is_not_sent_again(void **state)
{
	struct checker *checker = *state;

	add_module(checker, "/bin/app");
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 0), 0);
	uint64_t seq = checker->seq;
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 0), 0);
	assert_int_equal(checker->seq, seq);
	assert_int_equal(checker->nr_events, 0);
}

static void symbols_follow_the_frames_that_they_name(void **state)
{
	struct checker *checker = *state;

	add_stack(checker, add_module(checker, "/bin/app"), 0x20);
	assert_int_equal(batch_builder_add_symbol(checker->builder, 1, intern(checker, "main")), 0);
	assert_int_equal(batch_builder_add_symbol(checker->builder, 2, STRING_NONE), 0);
	assert_int_equal(batch_builder_flush_dictionaries(checker->builder), 0);
	assert_int_equal(checker->nr_symbols, 2);
	assert_int_equal(checker->seq, 2);
}

static void large_dictionaries_are_split_below_the_limits(void **state)
{
	struct checker *checker = *state;
	char *text = malloc(60001), number[32];

	memset(text, 'n', 60000);
	text[60000] = '\0';
	for (uint32_t i = 0; i < 100; i++) {
		text[i] = 'x';
		intern(checker, text);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(number, sizeof(number), "/lib/%u.so", i);
		uint32_t module = add_module(checker, number);

		for (uint32_t j = 0; j < 4; j++)
			add_stack(checker, module, 0x1000000000000000ull + j * 0x123456789ull);
	}
	for (uint32_t i = 1; i <= 100000; i++)
		assert_int_equal(batch_builder_add_symbol(checker->builder, i, 1 + i % 100), 0);
	assert_int_equal(batch_builder_flush_dictionaries(checker->builder), 0);
	assert_int_equal(checker->nr_strings, string_dictionary_count(checker->strings));
	assert_int_equal(checker->nr_modules, 20000);
	assert_int_equal(checker->nr_nodes, stack_dictionary_nr_nodes(checker->stacks));
	assert_int_equal(checker->nr_symbols, 100000);
	free(text);
}

static void codes_go_before_the_frames_that_name_them(void **state)
{
	struct checker *checker = *state;
	uint32_t file = intern(checker, "train.py"), budget = 200000, node;
	struct message_frame frame = {0};
	char number[32];

	for (uint32_t i = 0; i < 70000; i++) {
		snprintf(number, sizeof(number), "f%u", i);
		struct message_code code = {file, intern(checker, number)};

		assert_int_equal(stack_dictionary_add_code(checker->stacks, code, &frame.code), 0);
		frame.offset = i;
		assert_int_equal(
			stack_dictionary_add_stack(checker->stacks, &frame, 1, &budget, &node), 0);
	}
	assert_int_equal(batch_builder_flush_dictionaries(checker->builder), 0);
	assert_int_equal(checker->nr_codes, 70000);
	assert_int_equal(checker->nr_frames, 70000);
	assert_int_equal(checker->nr_nodes, 70000);
	uint64_t seq = checker->seq;
	assert_int_equal(batch_builder_flush_dictionaries(checker->builder), 0);
	assert_int_equal(checker->seq, seq);
}

static void a_batch_is_full_at_its_limit(void **state)
{
	struct checker *checker = *state;
	uint32_t room;

	add_records(checker, BATCH_RECORDS_MAX, 0, 0);
	batch_builder_launch_room(checker->builder, &room);
	assert_int_equal(room, 0);
	batch_builder_gpu_room(checker->builder, &room);
	assert_int_equal(room, 0);
	assert_int_equal(batch_builder_flush(checker->builder, 1, -5, 1), 0);
	batch_builder_gpu_room(checker->builder, &room);
	assert_int_equal(room, BATCH_RECORDS_MAX);
	assert_int_equal(checker->nr_gpu, BATCH_RECORDS_MAX);
}

static void memory_is_given_back_between_batches_alone(void **state)
{
	struct checker *checker = *state;
	uint32_t name = intern(checker, "kernel");

	add_stack(checker, add_module(checker, "/bin/app"), 0x20);
	add_records(checker, 5, 0, 0);
	batch_builder_give_back(checker->builder);
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 1), 0);
	assert_int_equal(checker->nr_launches, 5);
	assert_int_equal(batch_builder_add_symbol(checker->builder, 1, name), 0);
	batch_builder_give_back(checker->builder);
	assert_int_equal(batch_builder_flush_dictionaries(checker->builder), 0);
	assert_int_equal(checker->nr_symbols, 1);
	batch_builder_give_back(checker->builder);
	add_records(checker, BATCH_RECORDS_MAX, 0, 0);
	assert_int_equal(batch_builder_add_symbol(checker->builder, 1, name), 0);
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 1), 0);
	assert_int_equal(checker->nr_launches, 5 + BATCH_RECORDS_MAX);
	assert_int_equal(checker->nr_gpu, 5 + BATCH_RECORDS_MAX);
	assert_int_equal(checker->nr_symbols, 2);
}

static void an_error_of_the_sink_is_passed_on(void **state)
{
	struct checker *checker = *state;

	intern(checker, "x");
	checker->fails = -ENOMEM;
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 0), -ENOMEM);
	checker->fails = 0;
	assert_int_equal(batch_builder_flush(checker->builder, 1, 0, 0), 0);
	assert_int_equal(checker->nr_strings, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dictionaries_go_before_the_records_that_use_them),
		TEST(what_was_sent_is_not_sent_again),
		TEST(symbols_follow_the_frames_that_they_name),
		TEST(large_dictionaries_are_split_below_the_limits),
		TEST(codes_go_before_the_frames_that_name_them),
		TEST(a_batch_is_full_at_its_limit),
		TEST(memory_is_given_back_between_batches_alone),
		TEST(an_error_of_the_sink_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <stdlib.h>

#include "node-agent/dictionary/stack_dictionary.h"
#include "proto/definition.h"

#define AT(in_module, address)                                                                     \
	{                                                                                          \
		.module = (in_module), .offset = (address)                                         \
	}

struct fixture {
	struct stack_dictionary *stacks;
	uint32_t app, libc;
	uint32_t budget;
};

static uint32_t add_module(struct stack_dictionary *stacks, uint32_t path, uint8_t build_id,
			   uint32_t flags)
{
	struct message_module module = {.path = path, .flags = flags};
	uint32_t id;

	if (build_id) {
		module.build_id_size = 20;
		module.build_id[0] = build_id;
	}
	assert_int_equal(stack_dictionary_add_module(stacks, &module, &id), 0);
	return id;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->stacks = stack_dictionary_create();
	fixture->app = add_module(fixture->stacks, 1, 1, DEFINITION_MODULE_MAIN);
	fixture->libc = add_module(fixture->stacks, 2, 2, 0);
	fixture->budget = 1000;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stack_dictionary_destroy(fixture->stacks);
	free(fixture);
	return 0;
}

static uint32_t add(struct fixture *fixture, const struct message_frame *frames, uint32_t depth)
{
	uint32_t node;

	assert_int_equal(
		stack_dictionary_add_stack(fixture->stacks, frames, depth, &fixture->budget, &node),
		0);
	return node;
}

/* The frames of a node, leaf first. */
static uint32_t walk(struct fixture *fixture, uint32_t node, struct message_frame *frames)
{
	uint32_t depth = 0;

	while (node != STACK_NODE_NONE) {
		const struct message_node *entry = stack_dictionary_nodes(fixture->stacks, node);

		assert_true(entry->parent < node);
		frames[depth++] = *stack_dictionary_frames(fixture->stacks, entry->frame);
		node = entry->parent;
	}
	return depth;
}

static void a_stack_is_a_path_to_its_root(void **state)
{
	struct fixture *fixture = *state;
	struct message_frame frames[] = {AT(fixture->app, 0x30), AT(fixture->app, 0x20),
					 AT(fixture->libc, 0x10)};
	struct message_frame found[8];
	uint32_t node = add(fixture, frames, 3);

	assert_int_equal(walk(fixture, node, found), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(found[i].offset, frames[i].offset);
}

static void equal_stacks_are_one_node_and_prefixes_are_shared(void **state)
{
	struct fixture *fixture = *state;
	struct message_frame first[] = {AT(fixture->app, 0x30), AT(fixture->app, 0x20),
					AT(fixture->libc, 0x10)};
	struct message_frame second[] = {AT(fixture->app, 0x40), AT(fixture->app, 0x20),
					 AT(fixture->libc, 0x10)};
	uint32_t node = add(fixture, first, 3);

	assert_int_equal(add(fixture, first, 3), node);
	assert_int_equal(stack_dictionary_nr_nodes(fixture->stacks), 3);
	assert_int_not_equal(add(fixture, second, 3), node);
	assert_int_equal(stack_dictionary_nr_nodes(fixture->stacks), 4);
	assert_int_equal(stack_dictionary_nr_frames(fixture->stacks), 4);
	assert_int_equal(fixture->budget, 996);
}

static void processes_that_load_a_file_elsewhere_share_its_module(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add_module(fixture->stacks, 77, 2, 0), fixture->libc);
	assert_int_equal(stack_dictionary_nr_modules(fixture->stacks), 2);
}

static void without_a_build_id_the_path_tells_modules_apart(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first = add_module(fixture->stacks, 50, 0, 0);

	assert_int_equal(add_module(fixture->stacks, 50, 0, 0), first);
	assert_int_not_equal(add_module(fixture->stacks, 51, 0, 0), first);
}

static void frames_without_a_module_are_kept_as_they_are(void **state)
{
	struct fixture *fixture = *state;
	struct message_frame frames[] = {AT(MESSAGE_FRAME_NO_MODULE, 0x7f00), AT(fixture->app, 4)};
	struct message_frame found[8];

	assert_int_equal(walk(fixture, add(fixture, frames, 2), found), 2);
	assert_int_equal(found[0].module, MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(found[0].offset, 0x7f00);
}

static uint32_t add_code(struct fixture *fixture, uint32_t file, uint32_t name)
{
	uint32_t id;

	assert_int_equal(
		stack_dictionary_add_code(fixture->stacks, (struct message_code){file, name}, &id),
		0);
	return id;
}

static void codes_are_equal_by_file_and_name(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add_code(fixture, 7, 9), 1);
	assert_int_equal(add_code(fixture, 7, 10), 2);
	assert_int_equal(add_code(fixture, 9, 7), 3);
	assert_int_equal(add_code(fixture, 7, 9), 1);
	assert_int_equal(stack_dictionary_nr_codes(fixture->stacks), 3);
	assert_int_equal(stack_dictionary_codes(fixture->stacks, 2)->name, 10);
}

static void frames_of_a_code_are_told_apart_by_line(void **state)
{
	struct fixture *fixture = *state;
	uint32_t code = add_code(fixture, 7, 9);
	struct message_frame frames[] = {
		{.code = code, .offset = 12}, {.code = code, .offset = 13}, AT(0, 12), AT(0, 13)};
	struct message_frame found[8];

	assert_int_equal(code, 1);
	assert_int_equal(walk(fixture, add(fixture, frames, 4), found), 4);
	assert_int_equal(stack_dictionary_nr_frames(fixture->stacks), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(found[i].code, frames[i].code);
		assert_int_equal(found[i].offset, frames[i].offset);
	}
	assert_int_equal(add(fixture, frames, 4), stack_dictionary_nr_nodes(fixture->stacks));
	assert_int_equal(stack_dictionary_nr_frames(fixture->stacks), 4);
}

static void a_stack_without_frames_is_none(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(add(fixture, NULL, 0), STACK_NODE_NONE);
}

static void a_used_up_budget_refuses_new_nodes_but_finds_old_ones(void **state)
{
	struct fixture *fixture = *state;
	struct message_frame first[] = {AT(fixture->app, 1)}, second[] = {AT(fixture->app, 2)};
	uint32_t known = add(fixture, first, 1), node;

	fixture->budget = 0;
	assert_int_equal(add(fixture, first, 1), known);
	assert_int_equal(
		stack_dictionary_add_stack(fixture->stacks, second, 1, &fixture->budget, &node),
		-EDQUOT);
	assert_int_equal(node, STACK_NODE_NONE);
}

/* Whoever meets it first: the guest, or the samples of host threads. */
static void a_module_has_the_flags_that_anybody_gave_it(void **state)
{
	struct fixture *fixture = *state;
	struct message_module module = {.path = 9, .build_id_size = 2, .build_id = {1, 2}};
	uint32_t first, second;

	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &first), 0);
	module.flags = DEFINITION_MODULE_CUDA;
	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &second), 0);
	assert_int_equal(first, second);
	module.flags = 0;
	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &second), 0);
	assert_int_equal(stack_dictionary_modules(fixture->stacks, first)->flags,
			 DEFINITION_MODULE_CUDA);
}

/* A build id is the file's own word. */
static void what_two_users_map_is_two_modules_whatever_its_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct message_module module = {
		.path = 9, .owner = 1000, .build_id_size = 2, .build_id = {1, 2}};
	uint32_t mine, yours, again;

	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &mine), 0);
	module.owner = 1001;
	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &yours), 0);
	assert_int_not_equal(mine, yours);
	assert_int_equal(stack_dictionary_modules(fixture->stacks, yours)->owner, 1001);
	module.owner = 1000;
	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &again), 0);
	assert_int_equal(again, mine);
}

static void what_was_forgotten_keeps_its_ids_and_its_modules(void **state)
{
	struct fixture *fixture = *state;
	const struct message_frame frames[] = {AT(fixture->libc, 10), AT(fixture->app, 20)};
	const struct message_code code = {.file = 1, .name = 2};
	uint32_t code_id, before = add(fixture, frames, 2);

	assert_int_equal(stack_dictionary_add_code(fixture->stacks, code, &code_id), 0);
	stack_dictionary_sent(fixture->stacks);
	assert_int_equal(add(fixture, frames, 2), before);
	stack_dictionary_forget(fixture->stacks);
	assert_int_equal(stack_dictionary_nr_nodes(fixture->stacks), 2);
	assert_int_equal(stack_dictionary_nr_frames(fixture->stacks), 2);
	assert_int_equal(stack_dictionary_nr_codes(fixture->stacks), 1);
	/* An equal stack is one that is new, and then is known again. */
	uint32_t again = add(fixture, frames, 2);
	assert_int_equal(again, before + 2);
	assert_int_equal(add(fixture, frames, 2), again);
	const struct message_node *node = stack_dictionary_nodes(fixture->stacks, again);
	assert_int_equal(node->parent, 3);
	assert_int_equal(stack_dictionary_frames(fixture->stacks, node->frame)->offset, 10);
	assert_int_equal(stack_dictionary_add_code(fixture->stacks, code, &code_id), 0);
	assert_int_equal(code_id, 2);
	assert_int_equal(add_module(fixture->stacks, 1, 1, 0), fixture->app);
}

static uint32_t add_generated(struct fixture *fixture, struct message_code code, uint32_t module_id)
{
	uint32_t id;

	assert_int_equal(stack_dictionary_add_generated(fixture->stacks, code, module_id, &id), 0);
	return id;
}

static void code_of_a_generated_file_has_its_module(void **state)
{
	struct fixture *fixture = *state;
	const struct message_code code = {.file = 1, .name = 2};
	uint32_t id = add_generated(fixture, code, fixture->libc);

	assert_int_equal(stack_dictionary_generated(fixture->stacks, id), fixture->libc);
	stack_dictionary_forget(fixture->stacks);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, id), fixture->libc);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, id + 1),
			 MESSAGE_FRAME_NO_MODULE);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, 1u << 30),
			 MESSAGE_FRAME_NO_MODULE);
}

static void equal_codes_of_two_users_generated_files_are_two(void **state)
{
	struct fixture *fixture = *state;
	const struct message_code code = {.file = 1, .name = 2};
	struct message_module module = {.path = 1, .owner = 1000};
	uint32_t mine, other;

	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &mine), 0);
	module.owner = 1001;
	assert_int_equal(stack_dictionary_add_module(fixture->stacks, &module, &other), 0);

	uint32_t plain = add_code(fixture, 1, 2);
	uint32_t my_code = add_generated(fixture, code, mine);
	uint32_t other_code = add_generated(fixture, code, other);
	assert_int_not_equal(my_code, other_code);
	assert_int_not_equal(my_code, plain);
	assert_int_not_equal(other_code, plain);
	assert_int_equal(add_generated(fixture, code, mine), my_code);
	assert_int_equal(add_code(fixture, 1, 2), plain);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, my_code), mine);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, other_code), other);
	assert_int_equal(stack_dictionary_generated(fixture->stacks, plain),
			 MESSAGE_FRAME_NO_MODULE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_is_a_path_to_its_root),
		TEST(equal_stacks_are_one_node_and_prefixes_are_shared),
		TEST(processes_that_load_a_file_elsewhere_share_its_module),
		TEST(without_a_build_id_the_path_tells_modules_apart),
		TEST(a_module_has_the_flags_that_anybody_gave_it),
		TEST(what_two_users_map_is_two_modules_whatever_its_build_id),
		TEST(codes_are_equal_by_file_and_name),
		TEST(frames_of_a_code_are_told_apart_by_line),
		TEST(frames_without_a_module_are_kept_as_they_are),
		TEST(a_stack_without_frames_is_none),
		TEST(a_used_up_budget_refuses_new_nodes_but_finds_old_ones),
		TEST(what_was_forgotten_keeps_its_ids_and_its_modules),
		TEST(code_of_a_generated_file_has_its_module),
		TEST(equal_codes_of_two_users_generated_files_are_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../node-agent/cmocka_test.h"

#include <string.h>
#include <unistd.h>

#include "node-agent/address_stack.h"
#include "node-agent/stack_dictionary.h"
#include "python_fixture.h"

static void count_missed(void *context)
{
	++*(uint32_t *)context;
}

static void a_list_without_any_code_has_no_frames(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(11);
	const struct sample_python_frame root =
		python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	/* The kernel's half could not read the first as code, and read something else as the second. */
	struct sample_python_frame raw[3] = {
		{.code = 4096}, python_fixture_raw_frame(fixture, &fixture->made.leaf, 0), root};
	uint32_t missed = 0;

	(void)state;
	fixture->scope.missed = count_missed;
	fixture->scope.context = &missed;
	python_fixture_read(fixture, &root, 1);
	fake_object_put64(&fixture->made.leaf.code, PYTHON_OBJECT_TYPE, 8);
	python_fixture_read(fixture, raw, 2);
	assert_int_equal(fixture->frames.nr, 0);
	assert_true(fixture->frames.unread);
	assert_int_equal(missed, 0);
	/* Where one is a frame, marks stand for the others. */
	python_fixture_read(fixture, raw, 3);
	assert_int_equal(fixture->frames.nr, 3);
	assert_true(fixture->frames.unread);
	python_fixture_check_name(fixture, 1, "[frames missing]");
	python_fixture_check_name(fixture, 2, "root");
	/* Code that was there, and is gone, was a frame's. */
	raw[1].identity ^= 1;
	python_fixture_read(fixture, raw, 2);
	assert_int_equal(fixture->frames.nr, 2);
	assert_true(fixture->frames.unread);
	assert_int_equal(missed, 1);
	assert_int_equal(python_process_state(fixture->python), PYTHON_PROCESS_READY);
	python_fixture_destroy(fixture);
}

static void ignore_place(void *context, struct sample_python *where)
{
	(void)context;
	(void)where;
}

static void a_list_without_any_code_is_not_said_to_be_too_long(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	struct sample_python_frame raw[SAMPLE_PYTHON_DEPTH] = {
		python_fixture_raw_frame(fixture, &fixture->made.root, 0)};
	const struct address_stack_python python = {
		.process = python_process_create(&fixture->scope, &fixture->outputs, getpid()),
		.mode = STACK_MODE_LEAF,
		.publish = ignore_place,
	};
	struct address_stack *stacks =
		address_stack_create(&fixture->outputs, NULL, NULL, getpid(), true);
	uint64_t loop;
	uint32_t node_id, lacks;

	(void)state;
	memcpy(&loop, &fixture->made.loop, sizeof(loop));
	struct address_list list = {.user = &loop, .nr_user = 1, .python = raw, .nr_python = 1};
	address_stack_set_python(stacks, &python);
	assert_int_equal(address_stack_find(stacks, &list, &node_id, &lacks), 0);
	assert_int_equal(lacks, 0);
	for (uint32_t i = 0; i < SAMPLE_PYTHON_DEPTH; i++)
		raw[i] = (struct sample_python_frame){.code = 4096 + i};
	list.nr_python = SAMPLE_PYTHON_DEPTH;
	list.python_cut = true;
	assert_int_equal(address_stack_find(stacks, &list, &node_id, &lacks), 0);
	assert_int_equal(lacks, ADDRESS_STACK_NO_PYTHON);
	assert_int_not_equal(node_id, STACK_NODE_NONE);
	address_stack_destroy(stacks);
	python_fixture_destroy(fixture);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_without_any_code_has_no_frames),
		cmocka_unit_test(a_list_without_any_code_is_not_said_to_be_too_long),
	};

	if (argc != 2)
		return 2;
	python_fixture_folder(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

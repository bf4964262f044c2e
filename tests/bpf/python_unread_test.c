#include "tests/support/cmocka_test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/kernel/address_stack.h"
#include "node-agent/dictionary/stack_dictionary.h"
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

static void code_that_the_kernel_could_not_read_is_what_was_there_and_is(void **state)
{
	(void)state;
	for (unsigned minor = 8; minor <= 14; minor++) {
		struct python_fixture *fixture = python_fixture_create_ready(minor);
		const struct python_layout *layout = &fixture->made.library.layout;
		struct fake_code *code = &fixture->made.leaf;
		struct sample_python_frame raw = python_fixture_raw_frame(fixture, code, 0);
		struct sample_python_frame blind = raw;
		struct sample_python_frame never =
			python_fixture_raw_frame(fixture, &fixture->made.root, 0);

		blind.identity = never.identity = 0;
		python_fixture_read(fixture, &raw, 1);
		assert_false(fixture->frames.by_address);
		python_fixture_read(fixture, &blind, 1);
		python_fixture_check_name(fixture, 0, "leaf");
		assert_false(fixture->frames.unread);
		assert_true(fixture->frames.by_address);
		/* What was not seen before may have come since the sample. */
		python_fixture_read(fixture, &never, 1);
		assert_true(fixture->frames.unread);
		assert_int_equal(fixture->frames.nr, 0);
		/* Other code may have been there then, or not yet. */
		fake_code_fill(code, &fixture->made.library, "/made/made.py", "new", 100);
		fake_object_put64(&code->name, PYTHON_STRING_HASH, 77);
		if (layout->code_version != PYTHON_LAYOUT_NONE)
			fake_object_put32(&code->code, layout->code_version, 9);
		python_fixture_read(fixture, &blind, 1);
		assert_true(fixture->frames.unread);
		raw = python_fixture_raw_frame(fixture, code, 0);
		python_fixture_read(fixture, &raw, 1);
		python_fixture_read(fixture, &blind, 1);
		python_fixture_check_name(fixture, 0, "new");
		python_fixture_destroy(fixture);
	}
}

static void a_forked_process_knows_what_was_at_an_address_from_its_parent(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(11);
	struct sample_python_frame leaf = python_fixture_raw_frame(fixture, &fixture->made.leaf, 0);
	struct python_process *parent = fixture->python;
	int ends[2], status;
	char byte;

	(void)state;
	python_fixture_read(fixture, &leaf, 1);
	leaf.identity = 0;
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	struct module_table *modules =
		module_table_create(ring_outputs_modules(&fixture->outputs), pid, getuid(), true);
	fixture->python = python_process_create(&fixture->scope, &fixture->outputs, pid);
	python_process_inherit(fixture->python, python_process_codes(parent));
	assert_true(module_table_reread(modules));
	assert_true(python_process_find(fixture->python, modules, &fixture->where));
	python_fixture_read(fixture, &leaf, 1);
	python_fixture_check_name(fixture, 0, "leaf");
	/* Nobody knows what is at its address once it has ended. */
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	python_fixture_read(fixture, &leaf, 1);
	assert_true(fixture->frames.unread);
	python_process_destroy(parent);
	module_table_destroy(modules);
	python_fixture_destroy(fixture);
}

static void loops_without_frames_are_counted_but_for_the_innermost(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	/* The interpreter's own frame alone, as a loop that is being entered may seem to have it. */
	const struct sample_python_frame own =
		python_fixture_raw_frame(fixture, &fixture->made.root, 3u << SAMPLE_PYTHON_OWNER);
	const struct address_stack_python python = {
		.process = python_process_create(&fixture->scope, &fixture->outputs, getpid()),
		.mode = STACK_MODE_LEAF,
		.publish = ignore_place,
	};
	struct address_stack *stacks =
		address_stack_create(&fixture->outputs, NULL, NULL, getpid(), true);
	uint64_t user[2];
	uint32_t node_id, lacks;

	(void)state;
	memcpy(&user[0], &fixture->made.loop, sizeof(user[0]));
	user[1] = user[0] + 2;
	struct address_list list = {.user = user, .nr_user = 1, .python = &own, .nr_python = 1};
	address_stack_set_python(stacks, &python);
	assert_int_equal(address_stack_find(stacks, &list, &node_id, &lacks), 0);
	assert_int_equal(lacks, 0);
	list.nr_user = 2;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(address_stack_find(stacks, &list, &node_id, &lacks), 0);
		assert_int_equal(lacks, ADDRESS_STACK_NO_PYTHON);
	}
	address_stack_destroy(stacks);
	python_fixture_destroy(fixture);
}

static void a_stack_told_by_addresses_is_not_remembered(void **state)
{
	struct python_fixture *fixture = python_fixture_create_ready(12);
	struct sample_python_frame raw = python_fixture_raw_frame(fixture, &fixture->made.root, 0);
	const struct address_stack_python python = {
		.process = python_process_create(&fixture->scope, &fixture->outputs, getpid()),
		.mode = STACK_MODE_LEAF,
		.publish = ignore_place,
	};
	struct address_stack *stacks =
		address_stack_create(&fixture->outputs, NULL, NULL, getpid(), true);
	uint64_t loop;
	uint32_t first, again, lacks;

	(void)state;
	memcpy(&loop, &fixture->made.loop, sizeof(loop));
	struct address_list list = {.user = &loop, .nr_user = 1, .python = &raw, .nr_python = 1};
	address_stack_set_python(stacks, &python);
	assert_int_equal(address_stack_find(stacks, &list, &first, &lacks), 0);
	raw.identity = 0;
	assert_int_equal(address_stack_find(stacks, &list, &again, &lacks), 0);
	assert_int_equal(lacks, 0);
	assert_int_equal(again, first);
	fake_object_put64(&fixture->made.root.code, PYTHON_OBJECT_TYPE, 8);
	assert_int_equal(address_stack_find(stacks, &list, &again, &lacks), 0);
	assert_int_equal(lacks, ADDRESS_STACK_NO_PYTHON);
	assert_int_not_equal(again, first);
	address_stack_destroy(stacks);
	python_fixture_destroy(fixture);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_without_any_code_has_no_frames),
		cmocka_unit_test(a_list_without_any_code_is_not_said_to_be_too_long),
		cmocka_unit_test(code_that_the_kernel_could_not_read_is_what_was_there_and_is),
		cmocka_unit_test(a_forked_process_knows_what_was_at_an_address_from_its_parent),
		cmocka_unit_test(loops_without_frames_are_counted_but_for_the_innermost),
		cmocka_unit_test(a_stack_told_by_addresses_is_not_remembered),
	};

	if (argc != 2)
		return 2;
	python_fixture_folder(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From an address in a running process to its name: module_table and symbolizer together, on real
 * programs, without a guest that announces anything. */
#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/symbols/module_table.h"
#include "node-agent/symbols/symbolizer.h"
#include "tests/node-agent/guests/loaded_fixture.h"

#define WAIT_MS 30000

static const char *pie_path, *fixed_path, *plain_path, *rebuilt_path, *library_path;
/* ---- a process --------------------------------------------------------------------------------- */

struct victim {
	pid_t pid;
	int input;
	FILE *output;
	uint64_t function, local, libc, library, generated;
};

static void read_addresses(struct victim *victim, const char *last)
{
	char what[32] = "";
	unsigned long long address;

	while (strcmp(what, last) != 0) {
		assert_int_equal(fscanf(victim->output, "%31s %llx", what, &address), 2);
		if (strcmp(what, "function") == 0)
			victim->function = address;
		else if (strcmp(what, "local") == 0)
			victim->local = address;
		else if (strcmp(what, "libc") == 0)
			victim->libc = address;
		else if (strcmp(what, "library") == 0)
			victim->library = address;
		else
			victim->generated = address;
	}
}

static struct victim start(const char *path, bool generate)
{
	char *argv[] = {(char *)path, (char *)library_path, generate ? "generate" : NULL, NULL};
	struct victim victim = {0};
	posix_spawn_file_actions_t actions;
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&victim.pid, path, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	victim.input = in[1];
	victim.output = fdopen(out[0], "r");
	read_addresses(&victim, generate ? "generated" : "library");
	return victim;
}

static void end(struct victim *victim)
{
	close(victim->input);
	fclose(victim->output);
	assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
}

/* ---- an agent's part --------------------------------------------------------------------------- */

struct agent_part {
	struct module_table_outputs outputs;
	struct symbolizer *symbolizer;
};

static int on_module(void *context, const struct symbolizer_module *module)
{
	struct agent_part *part = context;

	return symbolizer_add_module(part->symbolizer, module);
}

static void begin(struct agent_part *part, bool inlines)
{
	const struct symbolizer_options options = {.inlines = inlines};

	memset(part, 0, sizeof(*part));
	part->outputs.strings = string_dictionary_create();
	part->outputs.stacks = stack_dictionary_create();
	part->outputs.module = on_module;
	part->outputs.context = part;
	assert_int_equal(symbolizer_start(&options, &part->symbolizer), 0);
}

static void finish(struct agent_part *part)
{
	symbolizer_stop(part->symbolizer, WAIT_MS);
	stack_dictionary_destroy(part->outputs.stacks);
	string_dictionary_destroy(part->outputs.strings);
}

static const char *name_of(struct agent_part *part, const struct message_frame *frame)
{
	struct pollfd ready = {.fd = symbolizer_fd(part->symbolizer), .events = POLLIN};
	struct symbolizer_result result;

	assert_int_equal(symbolizer_request(part->symbolizer, 1, frame->module, frame->offset), 0);
	while (symbolizer_collect(part->symbolizer, &result, 1) == 0)
		assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
	return result.name;
}

static struct message_frame frame_of(struct module_table *modules, uint64_t address)
{
	struct message_frame frame;

	assert_int_equal(module_table_find(modules, address, &frame), 0);
	return frame;
}

static const char *name_at(struct agent_part *part, struct module_table *modules, uint64_t address)
{
	struct message_frame frame = frame_of(modules, address);

	return frame.module == MESSAGE_FRAME_NO_MODULE ? NULL : name_of(part, &frame);
}

static void expect_names(const char *path)
{
	struct victim victim = start(path, false);
	struct agent_part part;

	begin(&part, false);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	assert_string_equal(name_at(&part, modules, victim.function), "victim_function");
	assert_string_equal(name_at(&part, modules, victim.function + 1), "victim_function");
	assert_string_equal(name_at(&part, modules, victim.local), "local_function");
	assert_string_equal(name_at(&part, modules, victim.library), "hidden");
	assert_string_equal(name_at(&part, modules, victim.libc), "qsort");
	end(&victim);
	module_table_destroy(modules);
	finish(&part);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void a_pie_program_its_plugin_and_a_stripped_system_library_have_names(void **state)
{
	(void)state;
	expect_names(pie_path);
}

static void a_program_at_a_fixed_address_has_names(void **state)
{
	(void)state;
	expect_names(fixed_path);
}

static void a_program_without_a_build_id_has_names(void **state)
{
	(void)state;
	expect_names(plain_path);
}

static void expect_line(const char *path)
{
	struct victim victim = start(path, false);
	struct agent_part part;

	begin(&part, true);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	const char *name = name_at(&part, modules, victim.function + 1);
	assert_int_equal(strncmp(name, "victim_function\t/", 17), 0);
	assert_non_null(strstr(name, "/names_victim.c:"));
	name = name_at(&part, modules, victim.library);
	assert_int_equal(strncmp(name, "hidden\t/", 8), 0);
	/* Its lines are known only where its debug file is installed. */
	name = name_at(&part, modules, victim.libc);
	assert_int_equal(strncmp(name, "qsort", 5), 0);
	assert_true(name[5] == '\0' || name[5] == '\t');
	end(&victim);
	module_table_destroy(modules);
	finish(&part);
}

static void programs_and_plugins_have_lines(void **state)
{
	(void)state;
	expect_line(pie_path);
	expect_line(fixed_path);
}

/* Looks an address up, so that the file is opened; then the file goes and the process ends. */
static void a_program_that_was_deleted_and_has_ended_keeps_its_names(void **state)
{
	char directory[64], path[96];
	struct agent_part part;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	for (int plain = 0; plain < 2; plain++) {
		loaded_fixture_copy(plain ? plain_path : pie_path, path);
		struct victim victim = start(path, false);
		begin(&part, true);
		struct module_table *modules =
			module_table_create(part.outputs, victim.pid, getuid(), true);
		struct message_frame frame = frame_of(modules, victim.function);
		struct message_frame library = frame_of(modules, victim.library);

		/* The worker opens in order, so that it has the program's file, too. */
		assert_int_equal(strncmp(name_of(&part, &library), "hidden\t/", 8), 0);
		assert_int_equal(unlink(path), 0);
		end(&victim);
		const char *name = name_of(&part, &frame);
		assert_non_null(name);
		assert_int_equal(strncmp(name, "victim_function\t/", 17), 0);
		module_table_destroy(modules);
		finish(&part);
	}
	loaded_fixture_remove(directory);
}

/* Without the privilege to open /proc/PID/map_files there is no name then, but never a wrong one. */
static void expect_no_wrong_name(const char *from, const char *with)
{
	char directory[64], path[96], other[96];
	struct agent_part part;

	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	snprintf(other, sizeof(other), "%s/new", directory);
	loaded_fixture_copy(from, path);
	loaded_fixture_copy(with, other);
	struct victim victim = start(path, false);
	assert_int_equal(rename(other, path), 0);
	begin(&part, false);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	const char *name = name_at(&part, modules, victim.local);
	if (name)
		assert_string_equal(name, "local_function");
	name = name_at(&part, modules, victim.function);
	if (name)
		assert_string_equal(name, "victim_function");
	assert_string_equal(name_at(&part, modules, victim.library), "hidden");
	end(&victim);
	module_table_destroy(modules);
	finish(&part);
	loaded_fixture_remove(directory);
}

static void a_program_replaced_while_it_runs_never_gets_the_new_ones_names(void **state)
{
	(void)state;
	expect_no_wrong_name(pie_path, rebuilt_path);
	expect_no_wrong_name(plain_path, rebuilt_path);
}

/* The same path, two builds without a build id, one after the other: what they share must not be
 * their frames. */
static void two_builds_at_one_path_are_two_modules(void **state)
{
	char directory[64], path[96], other[96];
	struct agent_part part;

	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	snprintf(other, sizeof(other), "%s/new", directory);
	begin(&part, false);
	loaded_fixture_copy(plain_path, path);
	struct victim first = start(path, false);
	struct module_table *first_modules =
		module_table_create(part.outputs, first.pid, getuid(), true);
	struct message_frame old = frame_of(first_modules, first.local);
	loaded_fixture_copy(rebuilt_path, other);
	assert_int_equal(rename(other, path), 0);
	struct victim second = start(path, false);
	struct module_table *second_modules =
		module_table_create(part.outputs, second.pid, getuid(), true);
	struct message_frame new = frame_of(second_modules, second.local);

	assert_int_not_equal(old.module, new.module);
	assert_string_equal(name_of(&part, &new), "local_function");
	const char *name = name_of(&part, &old);
	if (name)
		assert_string_equal(name, "local_function");
	end(&first);
	end(&second);
	module_table_destroy(first_modules);
	module_table_destroy(second_modules);
	finish(&part);
	loaded_fixture_remove(directory);
}

/* Announces the victim's function as the guest does, under its file's build id. */
static struct message_frame announced(struct module_table *modules, const struct victim *victim,
				      const char *path, uint64_t identity)
{
	struct definition_module definition = {
		.start = victim->function,
		.end = victim->function + 1,
		.bias = victim->function - loaded_fixture_function(path, "victim_function"),
		.identity = identity,
	};
	struct elf_file *file = loaded_fixture_open(path);

	definition.build_id_size =
		elf_file_build_id(file, definition.build_id, sizeof(definition.build_id));
	assert_true(definition.build_id_size > 0);
	elf_file_close(file);
	assert_int_equal(module_table_add(modules, &definition, path, strlen(path)), 0);
	return frame_of(modules, victim->function);
}

/* As with --build-id=0x1234. */
static void a_build_with_an_earlier_ones_build_id_and_path_is_another_module(void **state)
{
	struct victim victim = start(pie_path, false);
	struct agent_part part;

	(void)state;
	begin(&part, false);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	struct message_frame first = announced(modules, &victim, pie_path, 1);
	struct message_frame second = announced(modules, &victim, pie_path, 2);
	assert_int_not_equal(second.module, first.module);
	assert_string_equal(name_of(&part, &second), "victim_function");
	assert_int_equal(announced(modules, &victim, pie_path, 1).module, first.module);
	assert_int_equal(announced(modules, &victim, pie_path, 2).module, second.module);
	module_table_destroy(modules);

	/* Where files cannot be looked at, only the first one has names. */
	modules = module_table_create(part.outputs, victim.pid, getuid(), false);
	assert_int_equal(announced(modules, &victim, pie_path, 1).module, first.module);
	struct message_frame other = announced(modules, &victim, pie_path, 2);
	assert_int_not_equal(other.module, first.module);
	assert_int_not_equal(other.module, second.module);
	assert_null(name_of(&part, &other));
	end(&victim);
	module_table_destroy(modules);
	finish(&part);
}

/* Announces the victim's program, as a guest would, once its process is gone. */
static bool is_named_late(const char *path, bool touched)
{
	struct victim victim = start(path, false);
	struct agent_part part;

	begin(&part, false);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	struct definition_module definition = {
		.start = victim.function, .end = victim.function + 1, .bias = 0};
	end(&victim);
	if (touched)
		assert_int_equal(chmod(path, 0755), 0);
	uint64_t vaddr = loaded_fixture_function(path, "victim_function");
	definition.bias = victim.function - vaddr;
	assert_int_equal(module_table_add(modules, &definition, path, strlen(path)), 0);
	const char *name = name_at(&part, modules, victim.function);
	bool found = name != NULL;
	if (found)
		assert_string_equal(name, "victim_function");
	module_table_destroy(modules);
	finish(&part);
	return found;
}

static void a_file_announced_after_the_end_is_believed_if_it_is_older_than_the_process(void **state)
{
	char directory[64], path[96];

	(void)state;
	assert_true(is_named_late(plain_path, false));
	assert_true(is_named_late(pie_path, false));
	loaded_fixture_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/program", directory);
	loaded_fixture_copy(plain_path, path);
	assert_false(is_named_late(path, true));
	loaded_fixture_remove(directory);
}

static void generated_code_is_named_by_each_process_for_itself(void **state)
{
	struct victim victims[2] = {start(pie_path, true), start(pie_path, true)};
	struct module_table *modules[2];
	struct message_frame frames[2];
	struct agent_part part;
	char name[64];

	(void)state;
	begin(&part, false);
	for (int i = 0; i < 2; i++) {
		modules[i] = module_table_create(part.outputs, victims[i].pid, getuid(), true);
		frames[i] = frame_of(modules[i], victims[i].generated);
		assert_int_not_equal(frames[i].module, MESSAGE_FRAME_NO_MODULE);
		assert_int_equal(frames[i].offset, victims[i].generated);
		struct message_frame next = frame_of(modules[i], victims[i].generated + 1);
		assert_int_equal(next.module, frames[i].module);
		assert_int_equal(next.offset, victims[i].generated + 1);
	}
	assert_int_not_equal(frames[0].module, frames[1].module);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "generated by %d", (int)victims[i].pid);
		assert_string_equal(name_of(&part, &frames[i]), name);
		frames[i].offset += 4096;
		assert_null(name_of(&part, &frames[i]));
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)victims[i].pid);
		unlink(name);
		end(&victims[i]);
		module_table_destroy(modules[i]);
	}
	finish(&part);
}

static void an_address_in_nothing_stays_a_plain_address(void **state)
{
	struct victim victim = start(pie_path, false);
	struct agent_part part;

	(void)state;
	begin(&part, false);
	struct module_table *modules =
		module_table_create(part.outputs, victim.pid, getuid(), true);
	for (uint64_t address = 0x1000; address < 0x1100; address++) {
		struct message_frame frame = frame_of(modules, address);

		assert_int_equal(frame.module, MESSAGE_FRAME_NO_MODULE);
		assert_int_equal(frame.offset, address);
	}
	end(&victim);
	module_table_destroy(modules);
	finish(&part);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pie_program_its_plugin_and_a_stripped_system_library_have_names),
		cmocka_unit_test(a_program_at_a_fixed_address_has_names),
		cmocka_unit_test(a_program_without_a_build_id_has_names),
		cmocka_unit_test(programs_and_plugins_have_lines),
		cmocka_unit_test(a_program_that_was_deleted_and_has_ended_keeps_its_names),
		cmocka_unit_test(a_program_replaced_while_it_runs_never_gets_the_new_ones_names),
		cmocka_unit_test(two_builds_at_one_path_are_two_modules),
		cmocka_unit_test(a_build_with_an_earlier_ones_build_id_and_path_is_another_module),
		cmocka_unit_test(
			a_file_announced_after_the_end_is_believed_if_it_is_older_than_the_process),
		cmocka_unit_test(generated_code_is_named_by_each_process_for_itself),
		cmocka_unit_test(an_address_in_nothing_stays_a_plain_address),
	};

	if (argc != 6)
		return 2;
	pie_path = argv[1];
	fixed_path = argv[2];
	plain_path = argv[3];
	rebuilt_path = argv[4];
	library_path = argv[5];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

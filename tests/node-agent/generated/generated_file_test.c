#include "node-agent/generated/generated_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/generated/kernel_lines.h"
#include "tests/support/cmocka_test.h"

#define KEY   "cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs"
#define CALL  3u
#define OTHER 12345u /* a user */

static const char code[] = "# Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]\n"
			   "# [Provenance debug handles] extern_kernels.mm:1\n"
			   "extern_kernels.mm(a, b, out=buf0)\n";

static const char graph[] = "# File: /home/u/model.py:57 in forward, code: x\n"
			    "mm: \"f32\" = torch.ops.aten.mm.default(a, b)\n";

static const char traces[] =
	"{\"extern_kernels.mm:1\": [\"File \\\"/home/u/model.py\\\", line 58, in forward\"]}";

static char root[PATH_MAX], file[PATH_MAX + 80], entry[PATH_MAX + 80];

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static size_t put(char *at, const char *name, const char *text)
{
	uint32_t size = (uint32_t)strlen(text);
	int begin = sprintf(at, "\x8c%c%s\x94X", (int)strlen(name), name);

	memcpy(at + begin, &size, sizeof(size)); /* both are little-endian here */
	memcpy(at + begin + sizeof(size), text, size);
	return (size_t)begin + sizeof(size) + size;
}

static void write_entry(const char *key, const char *trace_text)
{
	char data[4096];
	size_t size = put(data, "cache_key", key);

	size += put(data + size, "inductor_post_grad_graph_str", graph);
	if (trace_text)
		size += put(data + size, "inductor_provenance_stack_traces_str", trace_text);
	write_file(entry, data, size);
}

static void make(const char *name)
{
	char path[PATH_MAX + 80];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/torchinductor_XXXXXX");
	assert_non_null(mkdtemp(root));
	make("ab");
	make("fxgraph");
	make("fxgraph/xy");
	make("fxgraph/xy/fxyz");
	snprintf(file, sizeof(file), "%s/ab/" KEY ".py", root);
	snprintf(entry, sizeof(entry), "%s/fxgraph/xy/fxyz/abc", root);
	write_file(file, code, sizeof(code) - 1);
	write_entry(KEY, NULL);
	return 0;
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* symbol NULL: there are no lines. */
static void assert_symbol(pid_t pid, uid_t owner, const char *symbol)
{
	const struct generated_file_place place = {.pid = pid, .owner = owner, .path = file};
	struct kernel_lines *lines = generated_file_read(&place);

	if (symbol) {
		assert_non_null(lines);
		assert_string_equal(kernel_lines_find(lines, CALL), symbol);
	} else {
		assert_null(lines);
	}
	kernel_lines_destroy(lines);
}

static void entry_with_the_key_has_the_lines(void **state)
{
	(void)state;
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:57");
}

static void traces_of_the_entry_go_first(void **state)
{
	(void)state;
	write_entry(KEY, traces);
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:58");
}

static void ended_process_has_the_files_of_our_root(void **state)
{
	(void)state;
	assert_symbol(0, getuid(), "forward\t/home/u/model.py:57");
	const struct generated_file_place place = {
		.owner = getuid(), .in_other_root = true, .path = file};
	assert_null(generated_file_read(&place));
}

static void missing_files_have_no_lines(void **state)
{
	(void)state;
	unlink(entry);
	assert_symbol(getpid(), getuid(), NULL);
	write_entry(KEY, NULL);
	unlink(file);
	assert_symbol(getpid(), getuid(), NULL);
}

static void entry_of_another_file_is_left_alone(void **state)
{
	(void)state;
	write_entry("cbbcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs", NULL);
	assert_symbol(getpid(), getuid(), NULL);
}

static void our_files_are_not_believed_for_other_users(void **state)
{
	(void)state;
	assert_symbol(0, OTHER, NULL);
}

static void code_of_other_users_is_not_believed(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip(); /* only root gives files away */
	assert_int_equal(chown(file, OTHER, OTHER), 0);
	assert_symbol(getpid(), getuid(), NULL);
}

static void entry_of_other_users_is_not_believed(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip(); /* as above */
	assert_int_equal(chown(entry, OTHER, OTHER), 0);
	assert_symbol(getpid(), getuid(), NULL);
}

static void huge_file_is_not_read(void **state)
{
	(void)state;
	assert_int_equal(truncate(file, GENERATED_FILE_SIZE_MAX + 1l), 0);
	assert_symbol(getpid(), getuid(), NULL);
}

/* The texts are at the begin of an entry, and kernels behind them. */
static void huge_entry_is_read_at_its_begin(void **state)
{
	(void)state;
	assert_int_equal(truncate(entry, 1l << 32), 0);
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:57");
}

static void links_and_fifos_are_not_opened(void **state)
{
	char other[PATH_MAX + 90];

	(void)state;
	snprintf(other, sizeof(other), "%s.other", entry);
	assert_int_equal(rename(entry, other), 0);
	assert_int_equal(symlink(other, entry), 0);
	unlink(other);
	assert_int_equal(mkfifo(other, 0600), 0);
	assert_symbol(getpid(), getuid(), NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entry_with_the_key_has_the_lines, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(traces_of_the_entry_go_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_process_has_the_files_of_our_root, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missing_files_have_no_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(entry_of_another_file_is_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(our_files_are_not_believed_for_other_users, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(code_of_other_users_is_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(entry_of_other_users_is_not_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(huge_file_is_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(huge_entry_is_read_at_its_begin, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_and_fifos_are_not_opened, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "node-agent/generated/generated_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/files/permitted_file.h"
#include "node-agent/generated/kernel_lines.h"
#include "node-agent/generated/source_age.h"
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

static unsigned int nr_searches;

int __real_permitted_file_open_directory_in(pid_t pid, const char *path, uid_t user);
int __wrap_permitted_file_open_directory_in(pid_t pid, const char *path, uid_t user);

int __wrap_permitted_file_open_directory_in(pid_t pid, const char *path, uid_t user)
{
	nr_searches++;
	return __real_permitted_file_open_directory_in(pid, path, user);
}

/* Sets when a file was last changed. */
static void set_time(const char *path, time_t seconds)
{
	const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
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

/* Writes a further entry of the key, whose graph has another line if it differs. */
static void write_further(const char *name, time_t seconds, bool differs)
{
	char path[PATH_MAX + 100], data[4096], other[sizeof(graph)];
	size_t size = put(data, "cache_key", KEY);

	strcpy(other, graph);
	if (differs)
		memcpy(strstr(other, "57"), "97", 2);
	size += put(data + size, "inductor_post_grad_graph_str", other);
	snprintf(path, sizeof(path), "%s.%s", entry, name);
	write_file(path, data, size);
	set_time(path, seconds);
}

static void entries_that_differ_give_the_newest_with_a_mark(void **state)
{
	(void)state;
	set_time(entry, 1000);
	write_further("other", 2000, true);
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:97\n≈");
	write_further("other", 500, true);
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:57\n≈");
}

static void entries_that_are_equal_need_no_mark(void **state)
{
	(void)state;
	write_further("other", 1000, false);
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:57");
}

static void lines_have_the_mark_if_not_all_entries_were_read(void **state)
{
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < GENERATED_FILE_ENTRIES_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		write_further(name, 1000, false);
	}
	assert_symbol(getpid(), getuid(), "forward\t/home/u/model.py:57\n≈");
}

#define SOURCE_PATH (PATH_MAX + 80)

/* Writes the files anew. Their calls are of so many sources in the cache's directory. */
static void write_sources(char names[][SOURCE_PATH], uint32_t count)
{
	static char text[65536], data[70000], calls[65536];
	size_t size, text_size = 0, calls_size = 0;

	for (uint32_t i = 0; i < count; i++) {
		snprintf(names[i], SOURCE_PATH, "%s/model%u.py", root, i);
		text_size += (size_t)sprintf(text + text_size,
					     "# File: %s:57 in forward, code: x\n"
					     "mm_%u: \"f32\" = torch.ops.aten.mm.default(a, b)\n",
					     names[i], i);
		calls_size += (size_t)sprintf(
			calls + calls_size,
			"# Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]\n"
			"extern_kernels.mm(a, b, out=buf%u)\n",
			i);
	}
	size = put(data, "cache_key", KEY);
	size += put(data + size, "inductor_post_grad_graph_str", text);
	write_file(entry, data, size);
	write_file(file, calls, calls_size);
}

static bool has_mark(void)
{
	const struct generated_file_place place = {.owner = getuid(), .path = file};
	struct kernel_lines *lines = generated_file_read(&place);

	assert_non_null(lines);
	bool has = strstr(kernel_lines_find(lines, 2), "\n≈");
	kernel_lines_destroy(lines);
	return has;
}

static void lines_have_the_mark_if_a_source_is_newer(void **state)
{
	static char names[2][SOURCE_PATH];

	(void)state;
	write_sources(names, 2);
	set_time(entry, 1000);
	assert_false(has_mark()); /* no source is there */
	write_file(names[0], "", 0);
	write_file(names[1], "", 0);
	set_time(names[0], 1000);
	set_time(names[1], 1000);
	assert_false(has_mark());
	set_time(names[1], 1001);
	assert_true(has_mark());
}

static void lines_of_too_many_sources_have_the_mark(void **state)
{
	static char names[SOURCE_AGE_FILES_MAX + 1][SOURCE_PATH];

	(void)state;
	write_sources(names, SOURCE_AGE_FILES_MAX);
	assert_false(has_mark());
	write_sources(names, SOURCE_AGE_FILES_MAX + 1);
	assert_true(has_mark());
}

static void nothing_is_told_of_other_users_sources(void **state)
{
	static char names[1][SOURCE_PATH];

	(void)state;
	if (getuid() != 0)
		skip(); /* only root gives files away */
	write_sources(names, 1);
	set_time(entry, 1000);
	write_file(names[0], "", 0);
	assert_true(has_mark());
	assert_int_equal(chown(names[0], OTHER, OTHER), 0);
	assert_false(has_mark());
}

/* All may read the files, but the directory above them is root's alone. */
static void files_of_root_are_not_believed_for_other_users(void **state)
{
	static const char *const names[] = {"/ab",
					    "/fxgraph",
					    "/fxgraph/xy",
					    "/fxgraph/xy/fxyz",
					    "/fxgraph/xy/fxyz/abc",
					    "/ab/" KEY ".py"};
	char path[PATH_MAX + 80];

	(void)state;
	if (getuid() != 0)
		skip(); /* the files are not root's */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		assert_int_equal(chmod(path, 0755), 0);
	}
	assert_symbol(0, OTHER, NULL);
	assert_symbol(0, 0, "forward\t/home/u/model.py:57");
}

static void cache_of_a_file_that_is_there_is_searched_once(void **state)
{
	(void)state;
	unlink(entry);
	nr_searches = 0;
	assert_symbol(getpid(), getuid(), NULL);
	assert_int_equal(nr_searches, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(entry_with_the_key_has_the_lines),
		TEST(traces_of_the_entry_go_first),
		TEST(ended_process_has_the_files_of_our_root),
		TEST(missing_files_have_no_lines),
		TEST(entry_of_another_file_is_left_alone),
		TEST(our_files_are_not_believed_for_other_users),
		TEST(code_of_other_users_is_not_believed),
		TEST(entry_of_other_users_is_not_believed),
		TEST(huge_file_is_not_read),
		TEST(huge_entry_is_read_at_its_begin),
		TEST(links_and_fifos_are_not_opened),
		TEST(entries_that_differ_give_the_newest_with_a_mark),
		TEST(entries_that_are_equal_need_no_mark),
		TEST(lines_have_the_mark_if_not_all_entries_were_read),
		TEST(lines_have_the_mark_if_a_source_is_newer),
		TEST(lines_of_too_many_sources_have_the_mark),
		TEST(nothing_is_told_of_other_users_sources),
		TEST(files_of_root_are_not_believed_for_other_users),
		TEST(cache_of_a_file_that_is_there_is_searched_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

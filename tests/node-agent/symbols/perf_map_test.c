#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/symbols/perf_map.h"

/* The test is itself the process with generated code. */
static char map_path[64];

static void append(const char *text)
{
	FILE *stream = fopen(map_path, "ae");

	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	unlink(map_path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(map_path);
	return 0;
}

static struct perf_map *open_map(void)
{
	struct perf_map *map;

	assert_int_equal(perf_map_open(getpid(), &map), 0);
	return map;
}

static void generated_functions_are_found_by_address(void **state)
{
	(void)state;
	append("7f0000001000 40 py::first:/a b.py\n0x7f0000002000 0x10 second\n");
	assert_true(perf_map_exists(getpid()));
	struct perf_map *map = open_map();
	assert_string_equal(perf_map_find(map, 0x7f0000001000), "py::first:/a b.py");
	assert_string_equal(perf_map_find(map, 0x7f000000103f), "py::first:/a b.py");
	assert_string_equal(perf_map_find(map, 0x7f000000200f), "second");
	assert_null(perf_map_find(map, 0x7f0000001040));
	assert_null(perf_map_find(map, 0x7f0000000fff));
	assert_null(perf_map_find(map, 0x7f0000002010));
	assert_null(perf_map_find(map, UINT64_MAX));
	perf_map_close(map);
}

static void what_is_appended_is_found_after_a_refresh(void **state)
{
	(void)state;
	append("1000 10 first\n2000 10 half of a li");
	struct perf_map *map = open_map();
	assert_null(perf_map_find(map, 0x2000));
	append("ne\n3000 10 third\n");
	assert_null(perf_map_find(map, 0x3000));
	perf_map_refresh(map);
	assert_string_equal(perf_map_find(map, 0x1000), "first");
	assert_string_equal(perf_map_find(map, 0x2000), "half of a line");
	assert_string_equal(perf_map_find(map, 0x3000), "third");
	perf_map_close(map);
}

static void the_later_of_two_that_overlap_counts(void **state)
{
	(void)state;
	append("1000 100 old\n1040 20 new\n2000 10 inner\n1f00 1000 around\n2800 10 last\n");
	struct perf_map *map = open_map();
	assert_string_equal(perf_map_find(map, 0x1000), "old");
	assert_string_equal(perf_map_find(map, 0x1040), "new");
	assert_string_equal(perf_map_find(map, 0x105f), "new");
	assert_string_equal(perf_map_find(map, 0x1060), "old");
	assert_string_equal(perf_map_find(map, 0x10ff), "old");
	assert_string_equal(perf_map_find(map, 0x2000), "around");
	assert_string_equal(perf_map_find(map, 0x2808), "last");
	assert_string_equal(perf_map_find(map, 0x2810), "around");
	append("1000 100 newest\n");
	perf_map_refresh(map);
	assert_string_equal(perf_map_find(map, 0x1050), "newest");
	perf_map_close(map);
}

/* The sweep's answer for random overlapping entries is that of going through all of them. */
static void overlaps_are_resolved_as_by_going_through_all(void **state)
{
	enum { ENTRIES = 400, SPACE = 2000 };
	static uint32_t starts[ENTRIES], ends[ENTRIES];
	uint32_t random = 7;
	char line[64];

	(void)state;
	for (uint32_t i = 0; i < ENTRIES; i++) {
		random = random * 1664525u + 1013904223u;
		starts[i] = 16 + (random >> 8) % SPACE;
		ends[i] = starts[i] + 1 + (random >> 20) % 60;
		snprintf(line, sizeof(line), "%x %x %u\n", starts[i], ends[i] - starts[i], i);
		append(line);
	}
	struct perf_map *map = open_map();
	for (uint32_t at = 0; at < SPACE + 100; at++) {
		const char *name = perf_map_find(map, at);
		int wanted = -1;

		for (int i = 0; i < ENTRIES; i++)
			if (starts[i] <= at && at < ends[i])
				wanted = i;
		assert_int_equal(name ? atoi(name) : -1, wanted);
	}
	perf_map_close(map);
}

static void lines_that_are_none_are_passed_over(void **state)
{
	(void)state;
	append("\n \nzz 10 a\n1000\n1000 \n1000 10\n1000 10 \n1000 0 empty\n"
	       "ffffffffffffffff ffff wraps\n11112222333344445 10 too long\n"
	       "4000 10 tab\there\r\n5000 10 right\n");
	struct perf_map *map = open_map();
	assert_null(perf_map_find(map, 0x1000));
	assert_null(perf_map_find(map, UINT64_MAX));
	assert_string_equal(perf_map_find(map, 0x4000), "tab?here?");
	assert_string_equal(perf_map_find(map, 0x5000), "right");
	perf_map_close(map);
}

static void only_a_regular_file_that_is_there_is_taken(void **state)
{
	struct perf_map *map;

	(void)state;
	assert_false(perf_map_exists(getpid()));
	assert_int_equal(perf_map_open(getpid(), &map), -ENOENT);
	assert_null(map);
	assert_int_equal(mkfifo(map_path, 0600), 0);
	assert_false(perf_map_exists(getpid()));
	unlink(map_path);
	assert_int_equal(symlink("/etc/passwd", map_path), 0);
	assert_int_equal(perf_map_open(getpid(), &map), -ENOENT);
	assert_int_equal(perf_map_open(0, &map), -ENOENT);
	perf_map_close(map);
}

/* Another user's process with a map of this owner; whether the map is believed. */
static bool is_believed_of(uid_t user, uid_t owner, bool with_link)
{
	char path[64], other[80];
	int out[2];

	assert_int_equal(pipe(out), 0);
	pid_t child = fork();
	if (child == 0) {
		if (setresuid(user, user, user) || write(out[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(out[0], path, 1), 1);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)child);
	snprintf(other, sizeof(other), "%s.link", path);
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0 && fchown(fd, owner, owner) == 0);
	if (with_link)
		assert_int_equal(link(path, other), 0);
	bool believed = perf_map_exists(child);
	unlink(path);
	unlink(other);
	close(fd);
	close(out[0]);
	close(out[1]);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return believed;
}

/* By a mount of its own a process has any file of root's there, which its user may not read. */
static void the_file_of_another_user_is_not_read_not_even_roots(void **state)
{
	(void)state;
	assert_true(is_believed_of(65534, 65534, false));
	assert_false(is_believed_of(65534, 0, false));
	assert_false(is_believed_of(65534, 65533, false));
	assert_true(is_believed_of(0, 0, false));
	assert_false(is_believed_of(0, 65534, false));
	assert_false(is_believed_of(65534, 65534, true));
}

#ifndef __SANITIZE_THREAD__ /* it has a thread of its own, and a user namespace takes a process of one thread */

/* A user's process that has a file of root's, which it may not read, where its map would be. */
static void what_a_process_has_mounted_there_is_not_believed(void **state)
{
	char secret[] = "/tmp/perf_map_test.XXXXXX";
	int out[2], file = mkstemp(secret);
	char mounted = 0;

	(void)state;
	assert_true(file >= 0 && write(file, "1000 10 secret\n", 15) == 15);
	assert_int_equal(pipe(out), 0);
	pid_t child = fork();
	if (child == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		int own = setresuid(65534, 65534, 65534) ? -1 : creat(path, 0600);
		if (own >= 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
		    mount(secret, path, NULL, MS_BIND, NULL) == 0)
			mounted = 1;
		if (write(out[1], &mounted, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(out[0], &mounted, 1), 1);
	bool is_believed = perf_map_exists(child);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(mounted);
	assert_false(is_believed);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)child);
	unlink(map_path);
	unlink(secret);
	close(file);
	close(out[0]);
	close(out[1]);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(generated_functions_are_found_by_address, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_appended_is_found_after_a_refresh, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_later_of_two_that_overlap_counts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(overlaps_are_resolved_as_by_going_through_all,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines_that_are_none_are_passed_over, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(only_a_regular_file_that_is_there_is_taken, set_up,
						tear_down),
		cmocka_unit_test(the_file_of_another_user_is_not_read_not_even_roots),
#ifndef __SANITIZE_THREAD__
		cmocka_unit_test(what_a_process_has_mounted_there_is_not_believed),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/files/permitted_file.h"
#include "tests/node-agent/guests/loaded_fixture.h"

#define NOBODY 65534u

static char directory[64];

static int set_up(void **state)
{
	(void)state;
	loaded_fixture_directory(directory, sizeof(directory));
	return chmod(directory, 0755);
}

static int tear_down(void **state)
{
	(void)state;
	loaded_fixture_remove(directory);
	return 0;
}

static const char *at(const char *name)
{
	static char paths[4][160];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, 160, "%s/%s", directory, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(at(name), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Whether the file that the descriptor reads says this. Closes it. */
static bool says(int fd, const char *text)
{
	char buffer[64] = "";

	if (fd < 0)
		return false;
	ssize_t got = read(fd, buffer, sizeof(buffer) - 1);
	close(fd);
	return got >= 0 && strcmp(buffer, text) == 0;
}

static void a_regular_file_is_opened_also_through_a_link(void **state)
{
	(void)state;
	put("file", "text", 0644);
	assert_int_equal(symlink(at("file"), at("link")), 0);
	assert_true(says(permitted_file_open(at("file")), "text"));
	assert_true(says(permitted_file_open(at("link")), "text"));
	assert_true(says(permitted_file_open_in(0, at("link"), 0, 0), "text"));
	assert_true(says(permitted_file_open_in(getpid(), at("link"), 0, 0), "text"));
	assert_int_equal(permitted_file_open_in(getpid(), at("link"), 0, O_NOFOLLOW), -ENOEXEC);
	assert_int_equal(permitted_file_open(at("none")), -ENOENT);
	assert_int_equal(permitted_file_open_in(0, "file", 0, 0), -ENOENT);
	assert_int_equal(permitted_file_open_in(0, directory, 0, 0), -ENOEXEC);
}

/* Opening a device can rewind a tape or start a watchdog, opening a FIFO wakes its writer. */
static void what_is_no_file_does_not_notice(void **state)
{
	static const char *const names[] = {"fifo", "null"};
	char events[4096];

	(void)state;
	assert_int_equal(mkfifo(at("fifo"), 0666), 0);
	assert_int_equal(mknod(at("null"), S_IFCHR | 0666, makedev(1, 3)), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

		assert_true(inotify_add_watch(watch, at(names[i]), IN_OPEN | IN_CLOSE) >= 0);
		assert_int_equal(permitted_file_open(at(names[i])), -ENOEXEC);
		assert_int_equal(permitted_file_open_in(getpid(), at(names[i]), 0, 0), -ENOEXEC);
		assert_int_equal(read(watch, events, sizeof(events)), -1);
		assert_int_equal(errno, EAGAIN);
		/* The watch works: a file that is opened is seen. */
		int fd = open(at(names[i]), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		assert_true(fd >= 0 && read(watch, events, sizeof(events)) > 0);
		close(fd);
		close(watch);
	}
}

static void what_the_user_may_not_read_is_not_read_for_the_user(void **state)
{
	(void)state;
	put("file", "secret", 0640);
	assert_int_equal(permitted_file_open_in(0, at("file"), NOBODY, 0), -EACCES);
	assert_true(says(permitted_file_open_in(0, at("file"), 0, 0), "secret"));
	assert_int_equal(chown(at("file"), NOBODY, NOBODY), 0);
	assert_true(says(permitted_file_open_in(0, at("file"), NOBODY, 0), "secret"));
}

static void a_mapping_gives_its_file_wherever_that_has_gone(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	(void)state;
	put("file", "mapped", 0644);
	fd = open(at("file"), O_RDONLY | O_CLOEXEC);
	char *map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	assert_int_equal(unlink(at("file")), 0);
	uint64_t start = (uint64_t)(uintptr_t)map;
	assert_true(says(permitted_file_open_mapped(getpid(), start, start + page), "mapped"));
	/* A segment, as the loader has it, ends anywhere in its last page. */
	assert_true(says(permitted_file_open_mapped(getpid(), start + 8, start + 9), "mapped"));
	munmap(map, page);
	assert_int_equal(permitted_file_open_mapped(getpid(), start, start + page), -ENOENT);
}

/* ---- another root ------------------------------------------------------------------------------ */

/* A process whose root is the directory. */
static pid_t start_inside(void)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		if (chroot(directory) || chdir("/") || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void end_inside(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void make_root(void)
{
	assert_int_equal(mkdir(at("lib"), 0755), 0);
	put("lib/file", "inside", 0644);
	put("outside", "inside", 0644);
	assert_int_equal(symlink("/lib", at("lib64")), 0);
	assert_int_equal(symlink("../../../../etc/passwd", at("lib/up")), 0);
	assert_int_equal(symlink("/etc/passwd", at("lib/absolute")), 0);
	assert_int_equal(symlink("/proc/self/root/etc/passwd", at("lib/magic")), 0);
}

static void no_link_leads_out_of_the_processes_root(void **state)
{
	(void)state;
	make_root();
	pid_t child = start_inside();
	assert_true(says(permitted_file_open_in(child, "/lib/file", 0, 0), "inside"));
	assert_true(says(permitted_file_open_in(child, "/lib64/file", 0, 0), "inside"));
	assert_true(says(permitted_file_open_in(child, "/../outside", 0, 0), "inside"));
	assert_int_equal(permitted_file_open_in(child, "/lib/up", 0, 0), -ENOENT);
	assert_int_equal(permitted_file_open_in(child, "/lib/absolute", 0, 0), -ENOENT);
	assert_int_equal(permitted_file_open_in(child, "/lib/magic", 0, 0), -ENOENT);
	assert_int_equal(permitted_file_open_in(child, "/etc/passwd", 0, 0), -ENOENT);
	end_inside(child);
	assert_true(permitted_file_open_in(child, "/lib/file", 0, 0) < 0);
}

/* As old kernels and containers' filters have it. */
static bool refuse_openat2(int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void without_openat2_no_link_is_followed_in_another_root(void **state)
{
	static const int errors[] = {ENOSYS, EPERM};

	(void)state;
	make_root();
	pid_t inside = start_inside();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			bool right =
				refuse_openat2(errors[i]) &&
				says(permitted_file_open_in(inside, "/lib/file", 0, 0), "inside") &&
				says(permitted_file_open_in(inside, "//lib//file", 0, 0),
				     "inside") &&
				permitted_file_open_in(inside, "/lib64/file", 0, 0) == -ELOOP &&
				permitted_file_open_in(inside, "/lib/absolute", 0, 0) == -ELOOP &&
				permitted_file_open_in(inside, "/lib/absolute", 0, O_NOFOLLOW) ==
					-ENOEXEC &&
				permitted_file_open_in(inside, "/lib/../outside", 0, 0) == -ENOENT;

			_exit(right ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	end_inside(inside);
}

/* ---- whom to believe --------------------------------------------------------------------------- */

static bool is_of_root(uid_t owner, mode_t mode)
{
	put("file", "text", 0600);
	assert_int_equal(chown(at("file"), owner, owner), 0);
	assert_int_equal(chmod(at("file"), mode), 0);
	int fd = permitted_file_open(at("file"));
	assert_true(fd >= 0);
	bool of_root = permitted_file_is_of_root(fd);
	close(fd);
	return of_root;
}

static void a_file_is_roots_if_only_root_can_write_it(void **state)
{
	(void)state;
	assert_true(is_of_root(0, 0755));
	assert_false(is_of_root(0, 0775));
	assert_false(is_of_root(0, 0757));
	assert_false(is_of_root(NOBODY, 0755));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_regular_file_is_opened_also_through_a_link),
		TEST(what_is_no_file_does_not_notice),
		TEST(what_the_user_may_not_read_is_not_read_for_the_user),
		TEST(a_mapping_gives_its_file_wherever_that_has_gone),
		TEST(no_link_leads_out_of_the_processes_root),
		TEST(without_openat2_no_link_is_followed_in_another_root),
		TEST(a_file_is_roots_if_only_root_can_write_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

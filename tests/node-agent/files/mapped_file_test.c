#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/files/mapped_file.h"
#include "node-agent/files/proc_file.h"

#define OTHER_USER 65534u
#define OTHER_ROOT "/proc"
#define OLD_FILE   "/bin/sh" /* an ELF file that is older than any process of this test */

/* Starts a process that waits for its end, in this root. Returns its pid. */
static pid_t start_in(const char *root)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		if (chroot(root) || chdir("/") || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

/* Ends the process. It stays a zombie until its parent waits for it. */
static void end(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static struct mapped_file_view view_of(pid_t pid, uid_t user, uint64_t start_ticks)
{
	struct mapped_file_view view;

	mapped_file_view_init(&view, pid, user, start_ticks);
	return view;
}

static bool is_known_by_path(const struct mapped_file_view *view)
{
	struct elf_file *file;
	int r = mapped_file_open_old(view, OLD_FILE, &file);

	assert_true(r == 0 || r == -ENOENT);
	elf_file_close(file);
	return r == 0;
}

static void a_living_process_in_our_root_is_ours(void **state)
{
	(void)state;
	const pid_t pid = start_in("/");
	const struct mapped_file_view view = view_of(pid, OTHER_USER, proc_file_start_ticks(pid));

	assert_true(view.is_ours);
	assert_true(view.started_ns > 0);
	assert_true(is_known_by_path(&view));
	end(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_living_process_in_another_root_is_not_ours(void **state)
{
	(void)state;
	const pid_t pid = start_in(OTHER_ROOT);
	const struct mapped_file_view view = view_of(pid, geteuid(), proc_file_start_ticks(pid));

	assert_false(view.is_ours);
	assert_true(view.started_ns > 0);
	assert_false(is_known_by_path(&view));
	end(pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Its agent came to it too late. Which root it had cannot be seen any more. */
static void a_process_of_our_user_that_has_ended_is_ours(void **state)
{
	(void)state;
	const pid_t pid = start_in("/");
	const uint64_t start_ticks = proc_file_start_ticks(pid);

	end(pid);
	const struct mapped_file_view zombie = view_of(pid, geteuid(), start_ticks);
	assert_true(zombie.is_ours);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	const struct mapped_file_view gone = view_of(pid, geteuid(), 0);
	assert_true(gone.is_ours);
	assert_true(view_of(0, geteuid(), 0).is_ours);
}

/* Its path may be of another root, where another file has that path. */
static void no_file_of_an_ended_process_is_known_by_its_path_alone(void **state)
{
	(void)state;
	const pid_t pid = start_in(OTHER_ROOT);
	const uint64_t start_ticks = proc_file_start_ticks(pid);

	end(pid);
	const struct mapped_file_view zombie = view_of(pid, geteuid(), start_ticks);
	assert_false(is_known_by_path(&zombie));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	const struct mapped_file_view gone = view_of(pid, geteuid(), start_ticks);
	assert_false(is_known_by_path(&gone));
}

static void a_process_of_another_user_that_has_ended_is_not_ours(void **state)
{
	(void)state;
	const pid_t pid = start_in("/");
	const uint64_t start_ticks = proc_file_start_ticks(pid);

	end(pid);
	assert_false(view_of(pid, OTHER_USER, start_ticks).is_ours);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(view_of(pid, OTHER_USER, start_ticks).is_ours);
	assert_false(view_of(0, OTHER_USER, 0).is_ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_living_process_in_our_root_is_ours),
		cmocka_unit_test(a_living_process_in_another_root_is_not_ours),
		cmocka_unit_test(a_process_of_our_user_that_has_ended_is_ours),
		cmocka_unit_test(no_file_of_an_ended_process_is_known_by_its_path_alone),
		cmocka_unit_test(a_process_of_another_user_that_has_ended_is_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

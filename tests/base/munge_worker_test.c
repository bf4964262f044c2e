#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/munge/munge_library.h"
#include "base/munge/munge_worker.h"
#include "tests/support/fake_munge/fake_munge.h"

#define WAIT_MS 20000

static _Atomic int name_error; /* of getpwuid_r(); 0: it works */

int __real_getpwuid_r(uid_t uid, struct passwd *entry, char *texts, size_t size,
		      struct passwd **found);
int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *texts, size_t size,
		      struct passwd **found);

int __wrap_getpwuid_r(uid_t uid, struct passwd *entry, char *texts, size_t size,
		      struct passwd **found)
{
	*found = NULL;
	return name_error ? name_error : __real_getpwuid_r(uid, entry, texts, size, found);
}

struct fixture {
	int wake_fd;
	struct munge_worker *worker;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_munge_reset();
	fixture->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*state = fixture;
	return munge_worker_start(fixture->wake_fd, &fixture->worker);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munge_worker_stop(fixture->worker);
	fake_munge_hang(false);
	close(fixture->wake_fd);
	free(fixture);
	return 0;
}

static struct munge_task *make_task(bool decodes, const char *input)
{
	struct munge_task *task = calloc(1, sizeof(*task));

	task->decodes = decodes;
	task->input = strdup(input);
	return task;
}

/* Returns the next task that is done, which the caller owns. */
static struct munge_task *await(const struct fixture *fixture)
{
	struct pollfd news = {.fd = fixture->wake_fd, .events = POLLIN};
	struct munge_task *task;
	uint64_t count;

	while ((task = munge_worker_take(fixture->worker)) == NULL) {
		assert_int_equal(poll(&news, 1, WAIT_MS), 1);
		assert_int_equal(read(fixture->wake_fd, &count, sizeof(count)), sizeof(count));
	}
	return task;
}

static struct munge_task *do_task(const struct fixture *fixture, bool decodes, const char *input)
{
	struct munge_task *task = make_task(decodes, input);

	assert_int_equal(munge_worker_give(fixture->worker, task), 0);
	assert_ptr_equal(await(fixture), task);
	return task;
}

static void fails(const struct fixture *fixture, bool decodes, const char *input, int status,
		  const char *words)
{
	struct munge_task *task = do_task(fixture, decodes, input);

	assert_int_equal(task->status, status);
	assert_null(task->output);
	if (!task->error || !strstr(task->error, words))
		fail_msg("%s: without \"%s\"", task->error, words);
	munge_task_destroy(task);
}

static void a_credential_names_its_user_and_its_text(void **state)
{
	const uid_t users[] = {0, 3999999998};
	const char *const names[] = {"root", "3999999998"};

	for (int i = 0; i < 2; i++) {
		fake_munge_user(users[i]);
		struct munge_task *made = do_task(*state, false, "words of ours");
		assert_int_equal(made->status, 0);
		struct munge_task *read = do_task(*state, true, made->output);
		assert_int_equal(read->status, 0);
		assert_string_equal(read->output, "words of ours");
		assert_string_equal(read->user, names[i]);
		munge_task_destroy(made);
		munge_task_destroy(read);
	}
}

static void a_credential_that_is_not_believed_gives_nothing(void **state)
{
	struct munge_task *made = do_task(*state, false, "once");
	struct munge_task *read = do_task(*state, true, made->output);

	munge_task_destroy(read);
	fails(*state, true, made->output, -EACCES, "Replayed credential");
	munge_task_destroy(made);
	fails(*state, true, "MUNGE:none", -EACCES, "Invalid credential format");
	fake_munge_expired(true);
	made = do_task(*state, false, "old");
	fails(*state, true, made->output, -EACCES, "Expired credential");
	munge_task_destroy(made);
	fake_munge_reset();
	fake_munge_realm(2);
	made = do_task(*state, false, "other");
	fails(*state, true, made->output, -EACCES, "the same munge.key");
	munge_task_destroy(made);
}

static void a_user_is_not_renamed_while_names_cannot_be_asked_for(void **state)
{
	struct munge_task *made = do_task(*state, false, "words"), *read;

	name_error = EIO;
	read = do_task(*state, true, made->output);
	assert_int_equal(read->status, -EAGAIN);
	assert_string_equal(read->error, "users' names cannot be asked for now");
	name_error = ENOENT; /* there is no such user */
	munge_task_destroy(made);
	munge_task_destroy(read);
	made = do_task(*state, false, "words");
	read = do_task(*state, true, made->output);
	assert_int_equal(read->status, 0);
	assert_string_equal(read->user, "0");
	name_error = 0;
	munge_task_destroy(made);
	munge_task_destroy(read);
}

static void a_munged_that_does_not_answer_is_told(void **state)
{
	fake_munge_gone(true);
	fails(*state, false, "words", -EAGAIN, "systemctl start munge");
	fails(*state, true, "FAKE:1:0:1:0:words", -EAGAIN, "Failed to access");
}

static void a_munged_that_hangs_holds_nobody_up(void **state)
{
	const struct fixture *fixture = *state;
	struct munge_task *more = make_task(false, "one too many");

	fake_munge_hang(true);
	for (uint32_t i = 0; i < MUNGE_WORKER_MAX; i++)
		assert_int_equal(munge_worker_give(fixture->worker, make_task(false, "words")), 0);
	assert_int_equal(munge_worker_give(fixture->worker, more), -EAGAIN);
	assert_null(munge_worker_take(fixture->worker));
	fake_munge_hang(false);
	for (uint32_t i = 0; i < MUNGE_WORKER_MAX; i++)
		munge_task_destroy(await(fixture));
	assert_int_equal(munge_worker_give(fixture->worker, more), 0);
	munge_task_destroy(await(fixture));
	fake_munge_hang(true);
	for (int i = 0; i < 3; i++)
		assert_int_equal(munge_worker_give(fixture->worker, make_task(false, "words")), 0);
	fake_munge_await_call(); /* tear_down() stops the worker now */
}

static void the_library_is_there(void **state)
{
	char *error;

	(void)state;
	assert_int_equal(munge_library_open(&error), 0);
	assert_null(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_library_is_there),
		TEST(a_credential_names_its_user_and_its_text),
		TEST(a_credential_that_is_not_believed_gives_nothing),
		TEST(a_user_is_not_renamed_while_names_cannot_be_asked_for),
		TEST(a_munged_that_does_not_answer_is_told),
		TEST(a_munged_that_hangs_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

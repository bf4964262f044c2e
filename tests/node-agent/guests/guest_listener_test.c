#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "guest_fixture.h"
#include "node-agent/base/event_loop.h"
#include "node-agent/guests/guest_listener.h"
#include "proto/control.h"

struct fixture {
	char directory[64], path[96];
	struct event_loop *loop;
	struct guest_listener *listener;
	struct record_ring *ring; /* the guest's side */
	int ring_fd;
	uint32_t nr_arrivals, nr_lacks; /* the latter: without a ring */
	pid_t pid;
	uid_t uid;
	uint8_t instance;
	enum handshake_status answer;
	struct guest_absence absence; /* the last */
};

static enum handshake_status on_arrival(void *context, const struct guest_arrival *arrival,
					uint32_t *window)
{
	struct fixture *fixture = context;

	fixture->nr_arrivals++;
	fixture->pid = arrival->pid;
	fixture->uid = arrival->uid;
	fixture->instance = arrival->hello->instance[0];
	*window = 1;
	if (!arrival->ring) {
		fixture->nr_lacks++;
		return HANDSHAKE_REFUSED_FULL;
	}
	record_ring_unmap(arrival->ring);
	return fixture->answer;
}

static void on_absence(void *context, pid_t pid, uid_t uid, const struct guest_absence *absence)
{
	struct fixture *fixture = context;

	fixture->pid = pid;
	fixture->uid = uid;
	fixture->absence = *absence;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *error = NULL;

	strcpy(fixture->directory, "/tmp/guest_listener_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/agent", fixture->directory);
	assert_int_equal(event_loop_create(&fixture->loop), 0);
	assert_int_equal(guest_listener_create(fixture->loop, fixture->path, false, on_arrival,
					       fixture, &fixture->listener, &error),
			 0);
	assert_int_equal(
		record_ring_create(&guest_fixture_sizes, &fixture->ring, &fixture->ring_fd), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	guest_listener_destroy(fixture->listener);
	event_loop_destroy(fixture->loop);
	record_ring_destroy(fixture->ring);
	close(fixture->ring_fd);
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

/* Runs the loop until the peer has its answer or was shown out; the answer's status, or -1. */
static int answer(struct fixture *fixture, int fd)
{
	struct guest_welcome welcome;

	for (;;) {
		ssize_t size = recv(fd, &welcome, sizeof(welcome), MSG_DONTWAIT);

		if (size >= 0 || (errno != EAGAIN && errno != EINTR)) {
			close(fd);
			return size == sizeof(welcome) ? (int)welcome.status : -1;
		}
		assert_int_equal(event_loop_wait(fixture->loop, clock_now_ns() + 10000000000ull),
				 0);
	}
}

static int say(struct fixture *fixture, const void *data, size_t size, const int *fds,
	       uint32_t nr_fds)
{
	int fd = guest_fixture_connect(fixture->path);

	assert_true(fd >= 0);
	assert_int_equal(guest_fixture_send(fd, data, size, fds, nr_fds), size);
	return answer(fixture, fd);
}

static void a_guest_is_taken_in_with_the_kernels_word_for_who_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(42);

	hello.pid = 1;
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	assert_int_equal(fixture->nr_arrivals, 1);
	assert_int_equal(fixture->pid, getpid());
	assert_int_equal(fixture->uid, getuid());
	assert_int_equal(fixture->instance, 42);
	assert_int_equal(guest_listener_refused(fixture->listener), 0);
}

static void the_socket_is_for_its_owner_only_and_goes_with_the_listener(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(lstat(fixture->path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0600);
	guest_listener_destroy(fixture->listener);
	fixture->listener = NULL;
	assert_int_equal(lstat(fixture->path, &status), -1);
}

static void another_version_or_nonsense_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);

	hello.version++;
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1),
			 HANDSHAKE_REFUSED_VERSION);
	hello.version--;
	hello.magic++;
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1),
			 HANDSHAKE_REFUSED_VERSION);
	assert_int_equal(say(fixture, "x", 1, NULL, 0), HANDSHAKE_REFUSED_VERSION);
	assert_int_equal(fixture->nr_arrivals, 0);
	assert_int_equal(guest_listener_refused(fixture->listener), 3);
}

static void a_missing_or_foreign_descriptor_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	int pipes[2], two[2] = {fixture->ring_fd, fixture->ring_fd};
	FILE *file = tmpfile();
	int file_fd = fileno(file);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(say(fixture, &hello, sizeof(hello), NULL, 0), HANDSHAKE_REFUSED_RING);
	assert_int_equal(say(fixture, &hello, sizeof(hello), &pipes[0], 1), HANDSHAKE_REFUSED_RING);
	assert_int_equal(say(fixture, &hello, sizeof(hello), &file_fd, 1), HANDSHAKE_REFUSED_RING);
	assert_int_equal(say(fixture, &hello, sizeof(hello), two, 2), HANDSHAKE_REFUSED_RING);
	assert_int_equal(fixture->nr_arrivals, 0);
	close(pipes[0]);
	close(pipes[1]);
	fclose(file);
}

static void a_descriptor_that_takes_an_hour_to_close_holds_up_nobody(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);

	for (int i = 0; i < 20; i++) {
		int other_end, socket_fd = guest_fixture_lingering(&other_end);
		int peer = guest_fixture_connect(fixture->path);

		guest_fixture_send(peer, &hello, sizeof(hello), &socket_fd, 1);
		close(socket_fd); /* not the last: it is on its way */
		assert_int_equal(answer(fixture, peer), HANDSHAKE_REFUSED_RING);
		assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1),
				 HANDSHAKE_OK);
		close(other_end);
	}
	assert_int_equal(fixture->nr_arrivals, 20);
}

/* Whoever closes a connection closes what was sent and not read, too. */
static void descriptors_that_nobody_reads_hold_up_nobody(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	int other_ends[3], peers[3];

	for (int i = 0; i < 3; i++) {
		int socket_fd = guest_fixture_lingering(&other_ends[i]);

		peers[i] = guest_fixture_connect(fixture->path);
		for (int k = 0; k < 3; k++)
			guest_fixture_send(peers[i], &hello, sizeof(hello), &socket_fd, 1);
		close(socket_fd);
	}
	for (int i = 0; i < 3; i++) {
		(void)answer(fixture, peers[i]); /* or a reset, since messages were not read */
		close(other_ends[i]);
	}
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	/* One that was never accepted goes with the listener. */
	int other_end, socket_fd = guest_fixture_lingering(&other_end);
	int peer = guest_fixture_connect(fixture->path);
	guest_fixture_send(peer, &hello, sizeof(hello), &socket_fd, 1);
	close(socket_fd);
	guest_listener_destroy(fixture->listener);
	fixture->listener = NULL;
	close(other_end);
	close(peer);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void refusals_leave_no_descriptor_behind(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	int fds[4] = {fixture->ring_fd, 0, 1, 2};
	int before = lowest_free_descriptor();

	for (int i = 0; i < 20; i++) {
		say(fixture, &hello, sizeof(hello), fds, 4);
		say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1);
		say(fixture, "x", 1, fds, 4);
	}
	while (lowest_free_descriptor() != before)
		sched_yield(); /* others close them */
}

static void a_guest_without_memory_is_heard_and_not_answered(void **state)
{
	struct fixture *fixture = *state;
	struct guest_absence absence = {
		.magic = HANDSHAKE_ABSENCE_MAGIC, .version = HANDSHAKE_VERSION, .error = ENOMEM};

	assert_int_equal(say(fixture, &absence, sizeof(absence), NULL, 0), -1);
	assert_int_equal(guest_listener_refused(fixture->listener), 1); /* nobody listens yet */
	guest_listener_on_absence(fixture->listener, on_absence);
	assert_int_equal(say(fixture, &absence, sizeof(absence), NULL, 0), -1);
	assert_int_equal(fixture->absence.error, ENOMEM);
	assert_int_equal(fixture->pid, getpid());
	assert_int_equal(say(fixture, &absence, sizeof(absence) - 1, NULL, 0), -1);
	absence.version++;
	assert_int_equal(say(fixture, &absence, sizeof(absence), NULL, 0), -1);
	assert_int_equal(guest_listener_refused(fixture->listener), 3);
	assert_int_equal(fixture->nr_arrivals, 0);
}

static void a_request_of_another_version_is_answered(void **state)
{
	struct fixture *fixture = *state;
	const struct control_request request = {.magic = CONTROL_MAGIC};
	struct control_reply reply = {0};
	int fd = guest_fixture_connect(fixture->path);

	assert_int_equal(guest_fixture_send(fd, &request, sizeof(request) - 1, NULL, 0),
			 sizeof(request) - 1);
	while (recv(fd, &reply, sizeof(reply), MSG_DONTWAIT) != sizeof(reply))
		event_loop_wait(fixture->loop, clock_now_ns() + 10000000);
	close(fd);
	assert_int_equal(reply.magic, CONTROL_MAGIC);
	assert_int_equal(reply.status, CONTROL_REFUSED_VERSION);
	assert_int_equal(guest_listener_refused(fixture->listener), 1);
}

static void the_arrivals_answer_is_passed_on(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);

	fixture->answer = HANDSHAKE_REFUSED_FULL;
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1),
			 HANDSHAKE_REFUSED_FULL);
	assert_int_equal(guest_listener_refused(fixture->listener), 1);
}

/* Only root can become another user; whoever isn't root checks that its own word counts. */
static void another_user_is_refused(void **state)
{
	struct fixture *fixture = *state;
	int status, pipes[2];
	char byte;

	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		struct guest_hello hello = guest_fixture_hello(1);
		struct guest_welcome welcome = {.status = 1000};

		if (geteuid() == 0 && setuid(65534))
			_exit(100);
		int fd = guest_fixture_connect(fixture->path);
		guest_fixture_send(fd, &hello, sizeof(hello), &fixture->ring_fd, 1);
		if (write(pipes[1], "x", 1) != 1 || recv(fd, &welcome, sizeof(welcome), 0) < 0)
			_exit(101);
		_exit((int)welcome.status);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	while (waitpid(child, &status, WNOHANG) == 0)
		event_loop_wait(fixture->loop, clock_now_ns() + 10000000);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status),
			 geteuid() == 0 ? HANDSHAKE_REFUSED_USER : HANDSHAKE_OK);
	assert_int_equal(fixture->nr_arrivals, geteuid() == 0 ? 0 : 1);
}

static void a_silent_peer_holds_up_nobody_and_is_shown_out(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	int silent = guest_fixture_connect(fixture->path);
	uint64_t due_ns;

	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	due_ns = guest_listener_step(fixture->listener, clock_now_ns());
	assert_true(due_ns != UINT64_MAX);
	assert_int_equal(guest_listener_step(fixture->listener, due_ns), UINT64_MAX);
	assert_int_equal(answer(fixture, silent), -1);
	assert_int_equal(guest_listener_refused(fixture->listener), 1);
}

static void what_a_peer_has_said_counts_when_its_time_is_up(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1), early_hello = guest_fixture_hello(2);
	int early = guest_fixture_connect(fixture->path);
	uint64_t due_ns;

	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	due_ns = guest_listener_step(fixture->listener, clock_now_ns());
	/* The loop is away from now on. */
	assert_int_equal(
		guest_fixture_send(early, &early_hello, sizeof(early_hello), &fixture->ring_fd, 1),
		sizeof(early_hello));
	assert_int_equal(guest_listener_step(fixture->listener, due_ns), UINT64_MAX);
	assert_int_equal(answer(fixture, early), HANDSHAKE_OK);
	assert_int_equal(fixture->nr_arrivals, 2);
	assert_int_equal(fixture->instance, 2);
	assert_int_equal(guest_listener_refused(fixture->listener), 0);
}

static void more_silent_peers_than_places_do_not_shut_out_a_guest(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	int silent[GUEST_LISTENER_PEERS_MAX + 10];

	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX + 10; i++)
		silent[i] = guest_fixture_connect(fixture->path);
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	for (uint32_t i = 0; i < GUEST_LISTENER_PEERS_MAX + 10; i++)
		close(silent[i]);
	assert_true(guest_listener_refused(fixture->listener) >= 10);
}

static void a_peer_that_goes_away_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);

	close(guest_fixture_connect(fixture->path));
	assert_int_equal(say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1), HANDSHAKE_OK);
	assert_int_equal(guest_listener_step(fixture->listener, clock_now_ns()), UINT64_MAX);
}

static int second_listener(struct fixture *fixture, const char *path, char **error)
{
	struct guest_listener *listener;
	int r = guest_listener_create(fixture->loop, path, false, on_arrival, fixture, &listener,
				      error);

	guest_listener_destroy(listener);
	return r;
}

static void a_path_in_use_or_unsafe_is_refused_with_its_name(void **state)
{
	struct fixture *fixture = *state;
	char path[128], *error = NULL, long_path[256];

	assert_int_equal(second_listener(fixture, fixture->path, &error), -EADDRINUSE);
	assert_non_null(strstr(error, fixture->path));
	free(error);

	snprintf(path, sizeof(path), "%s/file", fixture->directory);
	FILE *file = fopen(path, "we");
	fclose(file);
	assert_int_equal(second_listener(fixture, path, NULL), -EEXIST);
	unlink(path);

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[255] = '\0';
	assert_int_equal(second_listener(fixture, long_path, NULL), -ENAMETOOLONG);
	assert_int_equal(second_listener(fixture, "/proc/nonexistent/agent", NULL), -ENOENT);

	snprintf(path, sizeof(path), "%s/other", fixture->directory);
	assert_int_equal(chmod(fixture->directory, 0777), 0);
	assert_int_equal(second_listener(fixture, path, NULL), -EPERM);
	assert_int_equal(chmod(fixture->directory, 01777), 0);
	assert_int_equal(second_listener(fixture, path, NULL), 0);
	assert_int_equal(chmod(fixture->directory, 0700), 0);
}

static void a_socket_that_nobody_listens_to_is_replaced(void **state)
{
	struct fixture *fixture = *state;
	char path[128];
	pid_t child;

	snprintf(path, sizeof(path), "%s/stale", fixture->directory);
	child = fork();
	if (child == 0) {
		struct guest_listener *listener;

		/* Leaves without removing its socket. */
		_exit(guest_listener_create(fixture->loop, path, false, on_arrival, fixture,
					    &listener, NULL)
			      ? 1
			      : 0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(second_listener(fixture, path, NULL), 0);
}

/* Returns the limits as they were. */
static struct rlimit limit_descriptors(rlim_t limit)
{
	struct rlimit old, low;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	return old;
}

static void a_guest_of_our_own_gets_in_under_a_low_limit_of_descriptors(void **state)
{
	struct fixture *fixture = *state;
	struct guest_hello hello = guest_fixture_hello(1);
	struct rlimit old = limit_descriptors(100);
	int status = say(fixture, &hello, sizeof(hello), &fixture->ring_fd, 1);

	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(status, HANDSHAKE_OK);
}

/* Connects a guest and sends its hello. From then on the process may have so many descriptors more. */
static int offer(struct fixture *fixture, rlim_t more, struct rlimit *old)
{
	struct guest_hello hello = guest_fixture_hello(1);
	int fd = guest_fixture_connect(fixture->path);

	assert_true(fd >= 0);
	assert_int_equal(guest_fixture_send(fd, &hello, sizeof(hello), &fixture->ring_fd, 1),
			 sizeof(hello));
	int next = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	close(next);
	*old = limit_descriptors((rlim_t)next + more);
	return fd;
}

static void without_a_descriptor_to_spare_a_guest_waits_in_the_queue(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit old;
	int fd = offer(fixture, 4, &old);

	assert_int_equal(event_loop_wait(fixture->loop, clock_now_ns()), 0);
	assert_true(guest_listener_step(fixture->listener, clock_now_ns()) < UINT64_MAX);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(fixture->nr_arrivals, 0);
	guest_listener_step(fixture->listener, clock_now_ns());
	assert_int_equal(answer(fixture, fd), HANDSHAKE_OK);
	assert_int_equal(fixture->nr_arrivals, 1);
	assert_int_equal(guest_listener_refused(fixture->listener), 0);
}

/* Its process may have ended, and nobody else would tell of it. */
static void at_the_end_a_guest_is_heard_without_a_descriptor_for_its_ring(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit old;
	int fd = offer(fixture, 4, &old);

	guest_listener_take_all(fixture->listener);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(fixture->nr_arrivals, 1);
	assert_int_equal(fixture->nr_lacks, 1);
	assert_int_equal(answer(fixture, fd), HANDSHAKE_REFUSED_FULL);
}

/* The kernel drops the descriptor, or the ring cannot have one of its own. */
static void a_ring_that_finds_no_descriptor_may_come_again(void **state)
{
	struct fixture *fixture = *state;

	for (rlim_t more = 1; more <= 2; more++) {
		struct rlimit old;
		int fd = offer(fixture, more, &old);

		guest_listener_take_all(fixture->listener);
		setrlimit(RLIMIT_NOFILE, &old);
		assert_int_equal(answer(fixture, fd), HANDSHAKE_REFUSED_FULL);
		assert_int_equal(fixture->nr_lacks, more);
	}
}

static void a_limit_too_low_for_guests_of_all_users_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct guest_listener *listener;
	struct rlimit old = limit_descriptors(GUEST_LISTENER_FDS_MIN - 1);
	char path[128], *error = NULL;

	snprintf(path, sizeof(path), "%s/second", fixture->directory);
	int r = guest_listener_create(fixture->loop, path, true, on_arrival, fixture, &listener,
				      &error);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(r, -EMFILE);
	assert_null(listener);
	assert_non_null(strstr(error, "ulimit -n"));
	free(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_guest_is_taken_in_with_the_kernels_word_for_who_it_is),
		TEST(the_socket_is_for_its_owner_only_and_goes_with_the_listener),
		TEST(another_version_or_nonsense_is_refused),
		TEST(a_missing_or_foreign_descriptor_is_refused),
		TEST(a_descriptor_that_takes_an_hour_to_close_holds_up_nobody),
		TEST(descriptors_that_nobody_reads_hold_up_nobody),
		TEST(refusals_leave_no_descriptor_behind),
		TEST(a_guest_without_memory_is_heard_and_not_answered),
		TEST(a_request_of_another_version_is_answered),
		TEST(the_arrivals_answer_is_passed_on),
		TEST(another_user_is_refused),
		TEST(a_silent_peer_holds_up_nobody_and_is_shown_out),
		TEST(what_a_peer_has_said_counts_when_its_time_is_up),
		TEST(more_silent_peers_than_places_do_not_shut_out_a_guest),
		TEST(a_peer_that_goes_away_is_forgotten),
		TEST(a_path_in_use_or_unsafe_is_refused_with_its_name),
		TEST(a_socket_that_nobody_listens_to_is_replaced),
		TEST(a_guest_of_our_own_gets_in_under_a_low_limit_of_descriptors),
		TEST(without_a_descriptor_to_spare_a_guest_waits_in_the_queue),
		TEST(at_the_end_a_guest_is_heard_without_a_descriptor_for_its_ring),
		TEST(a_ring_that_finds_no_descriptor_may_come_again),
		TEST(a_limit_too_low_for_guests_of_all_users_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

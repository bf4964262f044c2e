#include "node-agent/base/descriptor_closer.h"

#include "tests/support/cmocka_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/node-agent/guests/guest_fixture.h"

#define MAX 1024u

/* close() of files below is held up until the test lets it go on. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int slow_fd_min = -1;
static _Atomic unsigned nr_waiting;

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	int min = slow_fd_min;

	if (min >= 0 && fd >= min) {
		nr_waiting++;
		pthread_mutex_lock(&gate);
		pthread_mutex_unlock(&gate);
		nr_waiting--;
	}
	return __real_close(fd);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void await_closed(int fd)
{
	while (is_open(fd))
		sched_yield();
}

static void what_is_added_is_closed(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int fd = dup(0);

	(void)state;
	descriptor_closer_add(closer, fd, geteuid());
	await_closed(fd);
	assert_int_equal(descriptor_closer_room(closer, geteuid()), MAX);
	descriptor_closer_destroy(closer, 60000);
}

static void destroy_closes_what_waits(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int fds[100];

	(void)state;
	for (int i = 0; i < 100; i++) {
		fds[i] = dup(0);
		descriptor_closer_add(closer, fds[i], geteuid());
	}
	descriptor_closer_destroy(closer, 60000);
	for (int i = 0; i < 100; i++)
		assert_false(is_open(fds[i]));
}

/* The end of a socket pair; the other one is closed, and its messages are not read. One of them is empty. */
static int socket_with(int fd)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(send(pair[0], "", 0, 0), 0);
	assert_int_equal(guest_fixture_send(pair[0], "x", 1, &fd, 1), 1);
	close(pair[0]);
	close(fd);
	return pair[1];
}

/* One that listens; a connection that nobody accepted has the descriptor in a message. */
static int listener_with(int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(address);
	int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int peer = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	/* A name that the system chooses. */
	assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(peer, (struct sockaddr *)&address, size), 0);
	assert_int_equal(guest_fixture_send(peer, "x", 1, &fd, 1), 1);
	close(peer);
	close(fd);
	return listening;
}

static void descriptors_that_linger_in_unread_messages_hold_up_nobody(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int other_ends[DESCRIPTOR_CLOSER_WORKERS], last = fcntl(0, F_DUPFD, 100);

	(void)state;
	for (uint32_t i = 0; i < DESCRIPTOR_CLOSER_WORKERS; i++) {
		int fd = guest_fixture_lingering(&other_ends[i]);

		fd = i % 2 ? socket_with(socket_with(fd)) : listener_with(fd);
		descriptor_closer_add(closer, fd, geteuid());
	}
	descriptor_closer_add(closer, last, geteuid());
	while (is_open(last)) {
		descriptor_closer_room(closer, geteuid());
		sched_yield();
	}
	descriptor_closer_destroy(closer, 60000);
	for (uint32_t i = 0; i < DESCRIPTOR_CLOSER_WORKERS; i++)
		close(other_ends[i]);
}

static void the_end_does_not_wait_for_what_lingers(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int other_end, fd = guest_fixture_lingering(&other_end);

	(void)state;
	descriptor_closer_add(closer, fd, geteuid());
	descriptor_closer_destroy(closer, UINT32_MAX);
	assert_false(is_open(fd));
	close(other_end);
}

static void descriptors_that_do_not_close_are_bounded_and_hold_up_nobody(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int first = fcntl(0, F_DUPFD, 100);
	uint32_t added = 0;

	(void)state;
	pthread_mutex_lock(&gate);
	slow_fd_min = first;
	for (int fd = first; added < DESCRIPTOR_CLOSER_WORKERS; added++) {
		descriptor_closer_add(closer, fd, geteuid());
		fd = fcntl(0, F_DUPFD, first);
	}
	while (nr_waiting < DESCRIPTOR_CLOSER_WORKERS)
		sched_yield();
	/* Each has its worker; more of them wait, and no more than there is room for. */
	assert_int_equal(descriptor_closer_room(closer, geteuid()), MAX);
	for (uint32_t i = 0; i < 10; i++)
		descriptor_closer_add(closer, fcntl(0, F_DUPFD, first), geteuid());
	assert_int_equal(descriptor_closer_room(closer, geteuid()), MAX - 10);
	assert_int_equal(nr_waiting, DESCRIPTOR_CLOSER_WORKERS);
	/* Whoever goes need not wait for them. */
	descriptor_closer_destroy(closer, 0);
	pthread_mutex_unlock(&gate);
	while (nr_waiting > 0 || is_open(first + (int)DESCRIPTOR_CLOSER_WORKERS + 5))
		sched_yield();
	slow_fd_min = -1;
}

static void a_user_holds_one_worker_and_sends_no_more_while_descriptors_wait(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int first = fcntl(0, F_DUPFD, 100);
	uid_t one = geteuid() + 1, other = geteuid() + 2;

	(void)state;
	pthread_mutex_lock(&gate);
	slow_fd_min = first;
	descriptor_closer_add(closer, first, one);
	while (nr_waiting < 1)
		sched_yield();
	assert_int_equal(descriptor_closer_room(closer, one), MAX);
	for (uint32_t i = 0; i < 10; i++)
		descriptor_closer_add(closer, fcntl(0, F_DUPFD, first), one);
	assert_int_equal(descriptor_closer_room(closer, one), 0);
	assert_int_equal(descriptor_closer_room(closer, other), MAX - 10);
	assert_int_equal(descriptor_closer_room(closer, geteuid()), MAX - 10);
	/* Theirs are closed although those of the first wait for a longer time. */
	int fd = fcntl(0, F_DUPFD, 50);
	assert_true(fd < first);
	descriptor_closer_add(closer, fd, other);
	await_closed(fd);
	assert_int_equal(nr_waiting, 1);
	slow_fd_min = -1;
	pthread_mutex_unlock(&gate);
	descriptor_closer_destroy(closer, 60000);
	assert_false(is_open(first));
}

static void users_who_collude_leave_a_worker_to_others(void **state)
{
	const uint32_t nr_users = DESCRIPTOR_CLOSER_WORKERS - 1;
	struct descriptor_closer *closer = descriptor_closer_create(MAX);
	int first = fcntl(0, F_DUPFD, 100);

	(void)state;
	pthread_mutex_lock(&gate);
	slow_fd_min = first;
	for (uint32_t i = 0; i < 10 * nr_users; i++)
		descriptor_closer_add(closer, i ? fcntl(0, F_DUPFD, first) : first,
				      geteuid() + 1 + i % nr_users);
	while (nr_waiting < nr_users)
		sched_yield();
	int fd = fcntl(0, F_DUPFD, 50);
	assert_true(fd < first);
	descriptor_closer_add(closer, fd, geteuid() + 1 + nr_users);
	await_closed(fd);
	assert_int_equal(nr_waiting, nr_users);
	slow_fd_min = -1;
	pthread_mutex_unlock(&gate);
	descriptor_closer_destroy(closer, 60000);
	assert_false(is_open(first));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_closed),
		cmocka_unit_test(destroy_closes_what_waits),
		cmocka_unit_test(descriptors_that_linger_in_unread_messages_hold_up_nobody),
		cmocka_unit_test(the_end_does_not_wait_for_what_lingers),
		cmocka_unit_test(a_user_holds_one_worker_and_sends_no_more_while_descriptors_wait),
		cmocka_unit_test(users_who_collude_leave_a_worker_to_others),
		cmocka_unit_test(descriptors_that_do_not_close_are_bounded_and_hold_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

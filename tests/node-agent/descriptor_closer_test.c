#include "node-agent/descriptor_closer.h"

#include "cmocka_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest_fixture.h"

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
	struct descriptor_closer *closer = descriptor_closer_create();
	int fd = dup(0);

	(void)state;
	descriptor_closer_add(closer, fd);
	await_closed(fd);
	assert_int_equal(descriptor_closer_room(closer), DESCRIPTOR_CLOSER_MAX);
	descriptor_closer_destroy(closer, 60000);
}

static void destroy_closes_what_waits(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create();
	int fds[100];

	(void)state;
	for (int i = 0; i < 100; i++) {
		fds[i] = dup(0);
		descriptor_closer_add(closer, fds[i]);
	}
	descriptor_closer_destroy(closer, 60000);
	for (int i = 0; i < 100; i++)
		assert_false(is_open(fds[i]));
}

static void descriptors_in_unread_messages_are_closed_one_by_one(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create();
	int pair[2], inner[2], pipes[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, inner), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(guest_fixture_send(inner[0], "x", 1, &pipes[1], 1), 1);
	assert_int_equal(guest_fixture_send(pair[0], "x", 1, &inner[1], 1), 1);
	close(inner[1]);
	close(pipes[1]);
	descriptor_closer_add(closer, pair[1]);
	/* Its last writer is gone. */
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	descriptor_closer_destroy(closer, 60000);
	close(inner[0]);
	close(pair[0]);
	close(pipes[0]);
}

static void descriptors_that_do_not_close_are_bounded_and_hold_up_nobody(void **state)
{
	struct descriptor_closer *closer = descriptor_closer_create();
	int first = fcntl(0, F_DUPFD, 100);
	uint32_t added = 0;

	(void)state;
	pthread_mutex_lock(&gate);
	slow_fd_min = first;
	for (int fd = first; added < DESCRIPTOR_CLOSER_WORKERS; added++) {
		descriptor_closer_add(closer, fd);
		fd = fcntl(0, F_DUPFD, first);
	}
	while (nr_waiting < DESCRIPTOR_CLOSER_WORKERS)
		sched_yield();
	/* Each has its worker; more of them wait, and no more than there is room for. */
	assert_int_equal(descriptor_closer_room(closer), DESCRIPTOR_CLOSER_MAX);
	for (uint32_t i = 0; i < 10; i++)
		descriptor_closer_add(closer, fcntl(0, F_DUPFD, first));
	assert_int_equal(descriptor_closer_room(closer), DESCRIPTOR_CLOSER_MAX - 10);
	assert_int_equal(nr_waiting, DESCRIPTOR_CLOSER_WORKERS);
	/* Whoever goes need not wait for them. */
	descriptor_closer_destroy(closer, 0);
	pthread_mutex_unlock(&gate);
	while (nr_waiting > 0 || is_open(first + (int)DESCRIPTOR_CLOSER_WORKERS + 5))
		sched_yield();
	slow_fd_min = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_is_closed),
		cmocka_unit_test(destroy_closes_what_waits),
		cmocka_unit_test(descriptors_in_unread_messages_are_closed_one_by_one),
		cmocka_unit_test(descriptors_that_do_not_close_are_bounded_and_hold_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

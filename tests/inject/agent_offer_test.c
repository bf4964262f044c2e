#include "inject/agent_handshake.h"

#include "tests/support/cmocka_test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/offer_name.h"
#include "tests/inject/handshake_server.h"

static void offer_waits_for_nobody_and_lies_in_the_queue(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	uint16_t window;
	int error;

	(void)state;
	handshake_server_start(&server, &handshake_keeping, sizeof(handshake_keeping));
	assert_int_equal(handshake_server_shake(&server, &ring, &window), 0);
	pthread_join(server.thread, NULL);
	/* Nobody accepts any more: the system takes offers until the queue is full, and refuses the next at once. */
	assert_int_equal(agent_handshake_offer(&handshake_made), 0);
	do
		error = agent_handshake_offer(&handshake_made);
	while (error == 0);
	assert_int_equal(error, -EAGAIN);
	record_ring_destroy(ring);
	close(handshake_made.ring_fd);
	server.mapped = -1;
	handshake_server_serve(&server);
	handshake_server_stop(&server);
	assert_int_equal(server.mapped, 0);
}

/* A program may clear its environment, or lose sight of /proc, between two offers. The agent finds the file that tells
 * of the first by the hello. */
static void every_offer_says_what_the_first_said(void **state)
{
	struct handshake_server first, again, queued;
	struct record_ring *ring;
	uint16_t window;

	(void)state;
	setenv(HANDSHAKE_RUN_ENV, "17", 1);
	handshake_server_start(&first, &handshake_keeping, sizeof(handshake_keeping));
	assert_int_equal(handshake_server_shake(&first, &ring, &window), 0);
	handshake_server_stop(&first);
	assert_int_equal(first.hello.run, 17);
	assert_true(first.hello.start_ticks > 0 && first.hello.pid_namespace > 0);

	unsetenv(HANDSHAKE_RUN_ENV);
	handshake_faults.proc_is_gone = true;
	handshake_server_start(&again, &handshake_keeping, sizeof(handshake_keeping));
	strcpy(handshake_made.path, again.path);
	assert_int_equal(agent_handshake_again(&handshake_made), 0);
	handshake_server_stop(&again);
	handshake_server_start(&queued, &handshake_keeping, sizeof(handshake_keeping));
	strcpy(handshake_made.path, queued.path);
	assert_int_equal(agent_handshake_offer(&handshake_made), 0);
	handshake_server_stop(&queued);
	handshake_faults.proc_is_gone = false;
	close(handshake_made.ring_fd);
	record_ring_destroy(ring);
	assert_memory_equal(&again.hello, &first.hello, sizeof(first.hello));
	assert_memory_equal(&queued.hello, &first.hello, sizeof(first.hello));
}

static void a_file_tells_of_an_offer_before_it_is_made(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	char path[128], file[256];
	uint16_t window;

	(void)state;
	int before = handshake_server_lowest_free();
	handshake_server_start(&server, &handshake_keeping, sizeof(handshake_keeping));
	handshake_server_offers(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(handshake_server_shake(&server, &ring, &window), 0);
	pthread_join(server.thread, NULL);
	assert_true(S_ISREG(server.file.st_mode));
	assert_int_equal(server.file.st_mode & 0777, 0600);
	assert_int_equal(server.file.st_size, 0);
	assert_int_equal(server.file.st_nlink, 1);

	/* Once: the agent has removed it, and later offers are of a ring that is told of. */
	handshake_server_file(&server, file);
	assert_int_equal(unlink(file), 0);
	handshake_server_serve(&server);
	assert_int_equal(agent_handshake_again(&handshake_made), 0);
	close(handshake_made.ring_fd);
	record_ring_destroy(ring);
	handshake_server_stop(&server);
	assert_int_equal(server.file.st_nlink, 0);
	assert_int_equal(access(server.folder, F_OK), -1);
	assert_int_equal(handshake_server_lowest_free(), before);
}

static void an_offer_that_no_file_can_tell_of_is_made_all_the_same(void **state)
{
	const int errors[] = {ENOSPC, EROFS, EACCES, EMFILE, ENOENT};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct handshake_server server;
		struct record_ring *ring;
		char path[128];
		uint16_t window;
		int before = handshake_server_lowest_free();

		handshake_server_start(&server, &handshake_keeping, sizeof(handshake_keeping));
		handshake_server_offers(&server, path);
		assert_int_equal(mkdir(path, 0700), 0);
		handshake_faults.create_error = errors[i];
		int result = handshake_server_shake(&server, &ring, &window);
		handshake_faults.create_error = 0;
		handshake_server_stop(&server);
		assert_int_equal(result, 0);
		assert_int_equal(server.mapped, 0);
		assert_int_equal(server.file.st_nlink, 0);
		close(handshake_made.ring_fd);
		record_ring_destroy(ring);
		assert_int_equal(handshake_server_lowest_free(), before);
	}
}

static void no_file_tells_of_an_offer_that_reaches_no_agent(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	char path[128];
	uint16_t window;

	(void)state;
	memset(&server, 0, sizeof(server));
	strcpy(server.folder, "/tmp/handshake_test_XXXXXX");
	assert_non_null(mkdtemp(server.folder));
	snprintf(server.path, sizeof(server.path), "%s/socket", server.folder);
	handshake_server_offers(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(handshake_server_shake(&server, &ring, &window), -ENOENT);
	assert_int_equal(rmdir(path), 0); /* it is empty */
	rmdir(server.folder);
}

static void a_process_without_a_ring_is_told_of_too(void **state)
{
	struct handshake_server server;
	struct record_ring *ring;
	char path[128];
	uint16_t window;

	(void)state;
	handshake_server_start(&server, NULL, 0);
	handshake_server_offers(&server, path);
	assert_int_equal(mkdir(path, 0700), 0);
	handshake_faults.mmap_error = ENOMEM;
	int result = handshake_server_shake(&server, &ring, &window);
	handshake_faults.mmap_error = 0;
	pthread_join(server.thread, NULL);
	assert_int_equal(result, -ENOMEM);

	DIR *offers = opendir(path);
	struct guest_hello hello;
	const struct dirent *entry;
	uint32_t nr = 0;
	while ((entry = readdir(offers)) != NULL) {
		if (!offer_name_read(entry->d_name, &hello))
			continue;
		nr++;
		assert_int_equal(hello.pid, getpid());
		/* What the agent hears of an absence makes the same name. */
		assert_memory_equal(hello.instance, handshake_made.hello.instance,
				    sizeof(hello.instance));
		server.hello = hello;
	}
	closedir(offers);
	assert_int_equal(nr, 1);
	char file[256];
	handshake_server_file(&server, file);
	assert_int_equal(unlink(file), 0);
	close(server.listener);
	unlink(server.path);
	rmdir(path);
	assert_int_equal(rmdir(server.folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offer_waits_for_nobody_and_lies_in_the_queue),
		cmocka_unit_test(every_offer_says_what_the_first_said),
		cmocka_unit_test(a_file_tells_of_an_offer_before_it_is_made),
		cmocka_unit_test(an_offer_that_no_file_can_tell_of_is_made_all_the_same),
		cmocka_unit_test(no_file_tells_of_an_offer_that_reaches_no_agent),
		cmocka_unit_test(a_process_without_a_ring_is_told_of_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "cli/job/rendezvous_search.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator/service/admission.h"
#include "aggregator/service/receiver.h"

#include "tests/support/cmocka_test.h"

#define LONG_MS  60000u
#define SHORT_MS 200u /* nothing comes in that time, however long it is */

struct fixture {
	char folder[64], path[96];
	struct rendezvous rendezvous;
	struct rendezvous_file *file;
	struct receiver *receiver;
	char *endpoint;
	pthread_t thread;
	int stop_fd;
};

static void *serve(void *argument)
{
	struct fixture *fixture = argument;
	const struct message *message;
	struct peer *peer;
	uint64_t count;

	while (read(fixture->stop_fd, &count, sizeof(count)) < 0) {
		receiver_wait(fixture->receiver, fixture->stop_fd, -1);
		while (receiver_next(fixture->receiver, &peer, &message) > 0)
			;
	}
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	strcpy(fixture->folder, "/tmp/rendezvous_search_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	assert_int_equal(admission_make_keys(&fixture->rendezvous.keys), 0);
	strcpy(fixture->rendezvous.first, fixture->rendezvous.keys.server_public);
	fixture->rendezvous.nr_endpoints = 1;
	fixture->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t one = 1;

	if (fixture->receiver) {
		assert_int_equal(write(fixture->stop_fd, &one, sizeof(one)), sizeof(one));
		pthread_join(fixture->thread, NULL);
		receiver_destroy(fixture->receiver);
	}
	free(fixture->endpoint);
	close(fixture->stop_fd);
	rendezvous_close(fixture->file);
	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

/* An aggregator that has these keys. */
static void listen_with(struct fixture *fixture, const struct key_set *keys)
{
	assert_int_equal(receiver_create(NULL, &fixture->receiver), 0);
	assert_int_equal(receiver_protect(fixture->receiver, keys, NULL, false), 0);
	assert_int_equal(receiver_bind(fixture->receiver, "tcp://127.0.0.1:*", &fixture->endpoint),
			 0);
	strcpy(fixture->rendezvous.endpoints[0], fixture->endpoint);
	assert_int_equal(pthread_create(&fixture->thread, NULL, serve, fixture), 0);
}

/* A program that takes connections, and says nothing. Returns its socket. */
static int listen_silently(struct fixture *fixture)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(fixture->rendezvous.endpoints[0], RENDEZVOUS_ENDPOINT_SIZE, "tcp://127.0.0.1:%u",
		 ntohs(address.sin_port));
	return fd;
}

static void publish(struct fixture *fixture)
{
	assert_int_equal(rendezvous_create(fixture->path, &fixture->file), 0);
	assert_int_equal(rendezvous_publish(fixture->file, &fixture->rendezvous), 0);
}

/* As when its process has ended. */
static void let_go(struct fixture *fixture)
{
	rendezvous_close(fixture->file);
	fixture->file = NULL;
}

static bool is_lost(const struct fixture *fixture, uint32_t within_ms)
{
	return rendezvous_search_is_lost(fixture->path, &fixture->rendezvous, within_ms);
}

static void an_aggregator_that_proves_its_key_is_not_lost(void **state)
{
	struct fixture *fixture = *state;

	listen_with(fixture, &fixture->rendezvous.keys);
	publish(fixture);
	assert_false(is_lost(fixture, LONG_MS));
	/* A file system without locks, and a file that is gone. */
	let_go(fixture);
	assert_false(is_lost(fixture, LONG_MS));
	unlink(fixture->path);
	assert_false(is_lost(fixture, LONG_MS));
}

static void another_program_at_its_port_does_not_hide_that_it_is_lost(void **state)
{
	struct fixture *fixture = *state;
	int fd = listen_silently(fixture);

	publish(fixture);
	/* It may be the aggregator, which somebody has stopped. */
	assert_false(is_lost(fixture, SHORT_MS));
	let_go(fixture);
	assert_true(is_lost(fixture, SHORT_MS));
	close(fd);
	publish(fixture);
	assert_true(is_lost(fixture, LONG_MS));
}

static void an_aggregator_of_others_does_not_hide_it_either(void **state)
{
	struct fixture *fixture = *state;
	struct key_set other;

	assert_int_equal(admission_make_keys(&other), 0);
	listen_with(fixture, &other);
	publish(fixture);
	let_go(fixture);
	assert_true(is_lost(fixture, SHORT_MS));
}

static void the_same_aggregator_in_another_place_is_found_there(void **state)
{
	struct fixture *fixture = *state;
	const struct job_step step = {.key = ""};
	const struct key_set *keys = NULL;
	struct rendezvous_search search;
	const char *endpoint = NULL;

	snprintf(fixture->path, sizeof(fixture->path), "%s/p" RENDEZVOUS_SUFFIX, fixture->folder);
	char output[96];
	snprintf(output, sizeof(output), "%s/p", fixture->folder);
	assert_int_equal(rendezvous_search_init(&search, output, &step), 0);
	int fd = listen_silently(fixture);
	publish(fixture);
	search.rendezvous = fixture->rendezvous;
	assert_int_equal(rendezvous_search_again(&search, LONG_MS, &endpoint, &keys), 0);
	let_go(fixture);
	int moved = listen_silently(fixture);
	publish(fixture);
	assert_int_equal(rendezvous_search_again(&search, LONG_MS, &endpoint, &keys), 1);
	assert_string_equal(endpoint, fixture->rendezvous.endpoints[0]);
	assert_string_equal(keys->server_public, fixture->rendezvous.keys.server_public);
	close(fd);
	close(moved);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_aggregator_that_proves_its_key_is_not_lost),
		TEST(another_program_at_its_port_does_not_hide_that_it_is_lost),
		TEST(an_aggregator_of_others_does_not_hide_it_either),
		TEST(the_same_aggregator_in_another_place_is_found_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "aggregator/service/job_fetch.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "job_folder.h"

#include "aggregator/service/fetch_service.h"

static struct job_fetch *fetch;
static int wake_fd;

static int set_up(void **state)
{
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return wake_fd < 0 || job_folder_set_up(state) ||
			       job_fetch_start(job_folder, wake_fd, &fetch)
		       ? -1
		       : 0;
}

static int tear_down(void **state)
{
	job_fetch_stop(fetch);
	close(wake_fd);
	return job_folder_tear_down(state);
}

static struct message_text text(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

static struct peer peer_of(const char *user, uint8_t number)
{
	struct peer peer = {.id = {number}, .id_size = 1};

	strcpy(peer.user, user);
	return peer;
}

static void ask(const struct peer *peer, uint64_t offset)
{
	job_fetch_ask(fetch, peer,
		      &(struct message_fetch){.kind = FETCH_READ,
					      .token = 1,
					      .user = text("alice"),
					      .name = text("alice-1"),
					      .file = FETCH_STORE,
					      .offset = offset});
}

/* Waits for the next answer. */
static const struct message *await(const struct peer **peer)
{
	const struct message *answer;
	uint64_t count;

	while ((answer = job_fetch_next(fetch, peer)) == NULL) {
		struct pollfd ready = {.fd = wake_fd, .events = POLLIN};

		assert_int_equal(poll(&ready, 1, 60000), 1);
		assert_int_equal(read(wake_fd, &count, sizeof(count)), sizeof(count));
	}
	return answer;
}

/* Takes the answers to all questions before the last one, which this function asks. Returns their number. */
static uint32_t count_answers(void)
{
	const struct peer last = peer_of("nobody", 255), *peer;
	uint32_t count = 0;

	ask(&last, 0);
	for (await(&peer); peer->id[0] != 255; await(&peer))
		count++;
	return count;
}

static void answers_come_in_order_with_their_peers(void **state)
{
	const struct peer first = peer_of("alice", 1), second = peer_of("alice", 2), *peer;
	const struct message *answer;
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "12345", 5, path);
	ask(&first, 0);
	ask(&second, 4);
	answer = await(&peer);
	assert_int_equal(peer->id[0], 1);
	assert_int_equal(answer->type, MESSAGE_FETCH);
	assert_int_equal(answer->fetch.kind, FETCH_BYTES);
	assert_int_equal(answer->fetch.nr_bytes, 5);
	answer = await(&peer);
	assert_int_equal(peer->id[0], 2);
	assert_string_equal(peer->user, "alice");
	assert_int_equal(answer->fetch.offset, 4);
	assert_memory_equal(answer->fetch.bytes, "5", 1);
	assert_null(job_fetch_next(fetch, &peer));
	assert_null(peer);
}

static void the_same_question_waits_once(void **state)
{
	const struct peer peer = peer_of("alice", 1), other = peer_of("alice", 2);

	(void)state;
	for (int i = 0; i < 3; i++)
		ask(&peer, 7);
	ask(&other, 7);
	assert_int_equal(count_answers(), 2);
	ask(&peer, 7);
	assert_int_equal(count_answers(), 1);
}

/* What nobody takes counts, so no test has to stop the thread. */
static void a_connection_has_few_places(void **state)
{
	const struct peer peer = peer_of("alice", 1);

	(void)state;
	for (uint32_t i = 0; i < JOB_FETCH_OF_PEER + 3; i++)
		ask(&peer, i);
	assert_int_equal(count_answers(), JOB_FETCH_OF_PEER);
}

static void a_user_has_a_share_of_all_places(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < JOB_FETCH_OF_USER + 9; i++) {
		const struct peer peer = peer_of("alice", (uint8_t)i);

		ask(&peer, 0);
	}
	const struct peer other = peer_of("bob", 200);
	ask(&other, 0);
	assert_int_equal(count_answers(), JOB_FETCH_OF_USER + 1);
}

static struct peer *peer_in(struct peer_table *peers, uint32_t id, const char *user)
{
	struct peer *peer = peer_table_get(peers, &id, sizeof(id));

	assert_non_null(peer);
	peer_set_user(peer, user);
	return peer;
}

static void a_user_has_few_connections_that_ask(void **state)
{
	struct peer_table *peers = peer_table_create();
	const uint64_t now_ns = 5000000000u;

	(void)state;
	assert_non_null(peers);
	for (uint32_t i = 0; i < FETCH_SERVICE_OF_USER; i++)
		assert_true(fetch_service_may_ask(peers, peer_in(peers, i, "alice"), now_ns));
	const uint32_t first = 0;
	assert_true(fetch_service_may_ask(peers, peer_table_get(peers, &first, sizeof(first)),
					  now_ns + 1));
	assert_false(fetch_service_may_ask(peers, peer_in(peers, 1000, "alice"), now_ns + 1));
	assert_true(fetch_service_may_ask(peers, peer_in(peers, 1001, "bob"), now_ns));
	assert_true(fetch_service_may_ask(peers, peer_in(peers, 1000, "alice"),
					  now_ns + FETCH_SERVICE_ASKING_NS));
	peer_table_destroy(peers);
}

static void all_places_are_bounded(void **state)
{
	const struct peer last = peer_of("last", 200), *peer;
	uint32_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 2 * JOB_FETCH_MAX; i++) {
		char user[16];

		snprintf(user, sizeof(user), "user%u", i / 4);
		const struct peer some = peer_of(user, (uint8_t)(i / 4));
		ask(&some, i);
	}
	ask(&last, 0);
	for (; count < JOB_FETCH_MAX; count++) {
		await(&peer);
		assert_int_not_equal(peer->id[0], 200);
	}
	assert_null(job_fetch_next(fetch, &peer));
}

static void it_stops_with_questions_and_answers(void **state)
{
	const struct peer peer = peer_of("alice", 1), *to;
	char path[PATH_MAX];

	(void)state;
	job_folder_make("alice", "1", JOB_DIR_IS_COMPLETE, "12345", 5, path);
	ask(&peer, 0);
	ask(&peer, 1);
	await(&to);
	ask(&peer, 2);
	ask(&peer, 3);
}

static void a_missing_directory_is_an_error(void **state)
{
	struct job_fetch *none;

	(void)state;
	assert_int_equal(job_fetch_start("/proc/nowhere", wake_fd, &none), -ENOENT);
	assert_null(none);
	job_fetch_stop(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_come_in_order_with_their_peers),
		TEST(the_same_question_waits_once),
		TEST(a_connection_has_few_places),
		TEST(a_user_has_a_share_of_all_places),
		TEST(a_user_has_few_connections_that_ask),
		TEST(all_places_are_bounded),
		TEST(it_stops_with_questions_and_answers),
		TEST(a_missing_directory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "cli/job/job_download.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/service/receiver.h"

#define BLOCK         WIRE_FETCH_BYTES_MAX
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* An aggregator that answers as the test says. */
static struct {
	struct receiver *receiver;
	char *endpoint;
	pthread_t thread;
	int stop_fd;
	/* Makes the answer to the question. Type 0: there is none. */
	void (*answer)(const struct message_fetch *question, struct message *answer);
} server;

static struct aggregator_client client;
static struct job_download download;
static volatile sig_atomic_t stopped;

static void *serve(void *argument)
{
	const struct message *message;
	struct peer *peer;
	uint64_t count;

	(void)argument;
	while (read(server.stop_fd, &count, sizeof(count)) < 0) {
		receiver_wait(server.receiver, server.stop_fd, 1000);
		while (receiver_next(server.receiver, &peer, &message) > 0) {
			struct message answer = {.type = MESSAGE_FETCH, .fetch = message->fetch};

			server.answer(&message->fetch, &answer);
			if (answer.type)
				receiver_send(server.receiver, peer, &answer);
		}
	}
	return NULL;
}

static int set_up(void **state)
{
	char endpoint[64];

	(void)state;
	memset(&server, 0, sizeof(server));
	stopped = 0;
	snprintf(endpoint, sizeof(endpoint), "ipc:///tmp/job_download_test.%d", (int)getpid());
	server.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (receiver_create(NULL, &server.receiver) ||
	    receiver_bind(server.receiver, endpoint, &server.endpoint) ||
	    aggregator_client_open(&client, server.endpoint, NULL))
		return -1;
	download = (struct job_download){.client = &client,
					 .endpoint = server.endpoint,
					 .user = "alice",
					 .stopped = &stopped};
	return 0;
}

static void start(void (*answer)(const struct message_fetch *question, struct message *answer))
{
	server.answer = answer;
	assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static int tear_down(void **state)
{
	const uint64_t one = 1;

	(void)state;
	if (write(server.stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(server.thread, NULL);
	aggregator_client_close(&client);
	receiver_destroy(server.receiver);
	free(server.endpoint);
	close(server.stop_fd);
	return 0;
}

static struct message_text text(const char *text)
{
	return (struct message_text){text, (uint32_t)strlen(text)};
}

static void assert_list_fails(int status)
{
	struct job_list list = {0};
	char *error;

	assert_int_equal(job_download_list(&download, &list, &error), status);
	assert_non_null(error);
	free(error);
	free(list.jobs);
}

static void assert_file_fails(int status, const char *part)
{
	FILE *file = tmpfile();
	uint64_t bytes;
	char *error;

	assert_non_null(file);
	assert_int_equal(
		job_download_file(&download, "alice-1", FETCH_STORE, fileno(file), &bytes, &error),
		status);
	assert_non_null(strstr(error, part));
	free(error);
	fclose(file);
}

/* ---- lists */

/* The first 256 names, and then two more. */
static void answer_pieces(const struct message_fetch *question, struct message *answer)
{
	static struct message_fetch_job jobs[WIRE_FETCH_JOBS_MAX];
	static char names[WIRE_FETCH_JOBS_MAX][8];
	const uint32_t first = question->name.size ? WIRE_FETCH_JOBS_MAX : 0;

	answer->fetch.kind = FETCH_JOBS;
	answer->fetch.nr_jobs = first ? 2 : WIRE_FETCH_JOBS_MAX;
	answer->fetch.jobs = jobs;
	for (uint32_t i = 0; i < answer->fetch.nr_jobs; i++) {
		snprintf(names[i], sizeof(names[i]), "j%04u", first + i);
		jobs[i] = (struct message_fetch_job){.name = text(names[i]), .key = text("k")};
	}
}

static void all_pieces_of_a_list_come(void **state)
{
	struct job_list list = {0};
	char *error;

	(void)state;
	start(answer_pieces);
	assert_int_equal(job_download_list(&download, &list, &error), 0);
	assert_null(error);
	assert_int_equal(list.nr_jobs, WIRE_FETCH_JOBS_MAX + 2);
	assert_string_equal(list.jobs[0].name, "j0000");
	assert_string_equal(list.jobs[WIRE_FETCH_JOBS_MAX + 1].name, "j0257");
	free(list.jobs);
}

static const char *const bad_names[] = {"", ".", "..", "../x", "a/b", "/etc"};

/* The next name with each question. */
static void answer_bad_name(const struct message_fetch *question, struct message *answer)
{
	static struct message_fetch_job job;
	static uint32_t next;

	(void)question;
	job = (struct message_fetch_job){.name = text(bad_names[next++ % LENGTH(bad_names)]),
					 .key = text("k")};
	answer->fetch.kind = FETCH_JOBS;
	answer->fetch.nr_jobs = 1;
	answer->fetch.jobs = &job;
}

static void names_that_lead_elsewhere_are_not_taken(void **state)
{
	(void)state;
	start(answer_bad_name);
	for (size_t i = 0; i < LENGTH(bad_names); i++)
		assert_list_fails(-EPROTO);
}

static void answer_same_names(const struct message_fetch *question, struct message *answer)
{
	static struct message_fetch_job jobs[2];

	(void)question;
	jobs[0] = jobs[1] = (struct message_fetch_job){.name = text("a"), .key = text("k")};
	answer->fetch.kind = FETCH_JOBS;
	answer->fetch.nr_jobs = 2;
	answer->fetch.jobs = jobs;
}

/* Else a list could be without an end. */
static void names_that_do_not_rise_are_not_taken(void **state)
{
	(void)state;
	start(answer_same_names);
	assert_list_fails(-EPROTO);
}

static void a_job_is_found_by_name_key_or_begin(void **state)
{
	struct job_entry jobs[] = {
		{.name = "alice-1", .key = "1"},
		{.name = "alice-1.2", .key = "1"},
		{.name = "alice-4711.0", .key = "4711.0"},
		{.name = "alice-4712.0", .key = "4712.0"},
		{.name = "alice-4712.1", .key = "4712.1"},
		{.name = "alice-5", .key = "5"},
		{.name = "alice-5.1", .key = "5.1"},
	};
	const struct job_list list = {.jobs = jobs, .nr_jobs = sizeof(jobs) / sizeof(*jobs)};
	bool several;

	(void)state;
	assert_ptr_equal(job_list_find(&list, "alice-1", &several), &jobs[0]);
	assert_false(several);
	assert_null(job_list_find(&list, "1", &several));
	assert_true(several);
	assert_ptr_equal(job_list_find(&list, "4711.0", &several), &jobs[2]);
	assert_ptr_equal(job_list_find(&list, "4711", &several), &jobs[2]);
	assert_null(job_list_find(&list, "471", &several));
	assert_false(several);
	assert_null(job_list_find(&list, "4712", &several));
	assert_true(several);
	assert_ptr_equal(job_list_find(&list, "5", &several), &jobs[5]);
	assert_false(several);
	assert_null(job_list_find(&list, "alice", &several));
	assert_false(several);
}

/* ---- files */

static uint8_t bytes_of_file[6 * BLOCK + 7];

static void answer_block(const struct message_fetch *question, struct message *answer)
{
	const uint64_t left = sizeof(bytes_of_file) - question->offset;

	answer->fetch.kind = FETCH_BYTES;
	answer->fetch.total_bytes = sizeof(bytes_of_file);
	answer->fetch.nr_bytes = left < BLOCK ? (uint32_t)left : BLOCK;
	answer->fetch.bytes = bytes_of_file + question->offset;
	/* Each block is lost once. */
	static uint32_t asked[8];
	if (asked[question->offset / BLOCK]++ == 0)
		answer->type = 0;
}

static void lost_answers_are_asked_for_again(void **state)
{
	static uint8_t copy[sizeof(bytes_of_file) + 1];
	FILE *file = tmpfile();
	uint64_t bytes;
	char *error;

	(void)state;
	assert_non_null(file);
	for (size_t i = 0; i < sizeof(bytes_of_file); i++)
		bytes_of_file[i] = (uint8_t)(i % 251);
	start(answer_block);
	assert_int_equal(
		job_download_file(&download, "alice-1", FETCH_STORE, fileno(file), &bytes, &error),
		0);
	assert_int_equal(bytes, sizeof(bytes_of_file));
	assert_int_equal(fread(copy, 1, sizeof(copy), file), sizeof(bytes_of_file));
	assert_memory_equal(copy, bytes_of_file, sizeof(bytes_of_file));
	fclose(file);
}

static void answer_changing(const struct message_fetch *question, struct message *answer)
{
	answer->fetch.kind = FETCH_BYTES;
	answer->fetch.total_bytes = 2 * BLOCK;
	answer->fetch.nr_bytes = BLOCK;
	answer->fetch.bytes = bytes_of_file;
	answer->fetch.identity[0] = question->offset != 0;
}

static void a_file_that_changes_is_an_error(void **state)
{
	(void)state;
	start(answer_changing);
	assert_file_fails(-ESTALE, "alice-1: the profile changed");
}

static void answer_short(const struct message_fetch *question, struct message *answer)
{
	(void)question;
	answer->fetch.kind = FETCH_BYTES;
	answer->fetch.total_bytes = 2;
	answer->fetch.nr_bytes = 1;
	answer->fetch.bytes = bytes_of_file;
}

static void a_block_that_lacks_bytes_is_an_error(void **state)
{
	(void)state;
	start(answer_short);
	assert_file_fails(-EPROTO, "");
}

static void answer_refusal(const struct message_fetch *question, struct message *answer)
{
	(void)question;
	*answer = (struct message){.type = MESSAGE_REFUSE,
				   .refuse = {REFUSE_UNDEFINED, text("not now")}};
}

static void a_refusal_gives_its_reason(void **state)
{
	(void)state;
	start(answer_refusal);
	assert_file_fails(-EPERM, "alice-1: not now");
	assert_list_fails(-EPERM);
}

static void answer_then_refuse(const struct message_fetch *question, struct message *answer)
{
	if (question->offset)
		answer_refusal(question, answer);
	else
		answer_changing(question, answer);
}

static void a_job_that_goes_was_deleted(void **state)
{
	(void)state;
	start(answer_then_refuse);
	assert_file_fails(-EPERM, "alice-1: the profile was deleted there while it was fetched");
}

static void answer_nothing(const struct message_fetch *question, struct message *answer)
{
	(void)question;
	answer->type = 0;
}

static void a_signal_ends_it(void **state)
{
	(void)state;
	start(answer_nothing);
	stopped = 1;
	assert_file_fails(-EINTR, "ended by a signal");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_pieces_of_a_list_come),
		TEST(names_that_lead_elsewhere_are_not_taken),
		TEST(names_that_do_not_rise_are_not_taken),
		cmocka_unit_test(a_job_is_found_by_name_key_or_begin),
		TEST(lost_answers_are_asked_for_again),
		TEST(a_file_that_changes_is_an_error),
		TEST(a_block_that_lacks_bytes_is_an_error),
		TEST(a_refusal_gives_its_reason),
		TEST(a_job_that_goes_was_deleted),
		TEST(a_signal_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a link sends is the profile, whichever aggregators come and go. */
#include "node-agent/link/profile_link.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/aggregator/merge/merge_fixture.h"
#include "tests/node-agent/publish/router_fixture.h"

#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/service/aggregator.h"
#include "aggregator/store/database.h"
#include "node-agent/link/page_sender.h"

struct fixture {
	char *profile, *store,
		*pages; /* owns; paths: of the node's profile, and of the aggregator */
	struct aggregator *aggregator;
	struct profile_link *link;
	pthread_t aggregator_thread, link_thread;
};

static void *run_aggregator(void *aggregator)
{
	assert_int_equal(aggregator_run(aggregator), 0);
	return NULL;
}

static void *run_link(void *link)
{
	return (void *)(intptr_t)profile_link_run(link);
}

static void start_aggregator(struct fixture *fixture)
{
	static const char *const endpoint = "tcp://127.0.0.1:*";
	const struct aggregator_options options = {
		.endpoints = &endpoint,
		.nr_endpoints = 1,
		.store_path = fixture->store,
		.pages_path = fixture->pages,
	};

	assert_int_equal(aggregator_create(&options, &fixture->aggregator, NULL), 0);
	assert_int_equal(pthread_create(&fixture->aggregator_thread, NULL, run_aggregator,
					fixture->aggregator),
			 0);
	assert_int_equal(profile_link_connect(fixture->link,
					      aggregator_endpoint(fixture->aggregator, 0), NULL),
			 0);
}

static void await_link(const struct fixture *fixture)
{
	struct aggregator_status status;

	do
		aggregator_status(fixture->aggregator, &status);
	while (status.agents == 0);
}

static void stop_aggregator(struct fixture *fixture)
{
	aggregator_stop(fixture->aggregator);
	pthread_join(fixture->aggregator_thread, NULL);
	aggregator_destroy(fixture->aggregator);
}

static void start_link(struct fixture *fixture)
{
	const struct profile_link_options options = {
		.store_path = fixture->profile,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .software = {"test", 4},
			  .node = {"node", 4},
			  .boot_id = {"boot", 4}},
	};

	assert_int_equal(profile_link_create(&options, &fixture->link), 0);
	assert_int_equal(pthread_create(&fixture->link_thread, NULL, run_link, fixture->link), 0);
}

static int end_link(struct fixture *fixture, bool is_complete, uint32_t give_up_ms)
{
	void *result;

	profile_link_finish(fixture->link, is_complete, give_up_ms);
	pthread_join(fixture->link_thread, &result);
	profile_link_destroy(fixture->link);
	return (int)(intptr_t)result;
}

static int finish_link(struct fixture *fixture, uint32_t give_up_ms)
{
	return end_link(fixture, true, give_up_ms);
}

static int write_page(void *out, const struct profile_page *page)
{
	fprintf(out, "%u.%u ", page->table, page->number);
	for (uint32_t i = 0; i < page->size; i++)
		fprintf(out, "%02x", page->bytes[i]);
	fputc('\n', out);
	return 0;
}

/* Returns whether the file has the pages of the node's profile. */
static bool has_same_pages(const struct fixture *fixture, bool ended)
{
	struct database *database;
	struct page_set *set;
	char *texts[2];
	size_t size;

	FILE *out = open_memstream(&texts[0], &size);
	assert_int_equal(database_open(fixture->profile, true, &database, NULL), 0);
	assert_int_equal(page_reader_read(database, write_page, out), 0);
	database_close(database);
	fclose(out);
	out = open_memstream(&texts[1], &size);
	assert_int_equal(page_set_load(fixture->pages, &set), 0);
	assert_int_equal(page_set_writers(set), 1);
	assert_int_equal(page_set_ended(set, 0), ended);
	assert_int_equal(page_set_read(set, 0, write_page, out), 0);
	page_set_destroy(set);
	fclose(out);
	assert_true(size > 1000);
	bool same = strcmp(texts[1], texts[0]) == 0;
	free(texts[0]);
	free(texts[1]);
	return same;
}

static void the_aggregator_has_the_profile_at_the_end(void **state)
{
	struct fixture *fixture = *state;

	merge_fixture_write(fixture->profile, 0x7, 1);
	start_link(fixture);
	start_aggregator(fixture);
	assert_int_equal(finish_link(fixture, 60000), 0);
	stop_aggregator(fixture);
	assert_true(has_same_pages(fixture, true));
}

/* As when the node's disk is full: what is stored comes, and nobody takes it for all. */
static void a_profile_that_is_not_complete_comes_without_a_goodbye(void **state)
{
	struct fixture *fixture = *state;

	merge_fixture_write(fixture->profile, 0x7, 1);
	start_link(fixture);
	start_aggregator(fixture);
	assert_int_equal(end_link(fixture, false, 60000), 0);
	stop_aggregator(fixture);
	assert_true(has_same_pages(fixture, false));
}

static void a_later_aggregator_gets_all_of_a_profile_that_has_grown(void **state)
{
	struct fixture *fixture = *state;

	merge_fixture_write(fixture->profile, 0x1, 1);
	start_link(fixture);
	start_aggregator(fixture);
	await_link(fixture);
	while (profile_link_lost_ns(fixture->link))
		sched_yield();
	stop_aggregator(fixture);
	unlink(fixture->pages);
	merge_fixture_continue(fixture->profile, 0x7);
	start_aggregator(fixture);
	assert_int_equal(finish_link(fixture, 60000), 0);
	stop_aggregator(fixture);
	assert_true(has_same_pages(fixture, true));
}

/* A reader asks, and waits for the answer. */
static void ask(const char *wanted)
{
	fclose(fopen(wanted, "w"));
	while (access(wanted, F_OK) == 0)
		sched_yield();
}

/* Unwatched, the link sends a second after its first round, then two, then four. Readers are answered each half second.
 */
static void readers_see_what_is_new(void **state)
{
	struct fixture *fixture = *state;
	char wanted[PATH_MAX];

	snprintf(wanted, sizeof(wanted), "%s" PAGE_SET_WANTED, fixture->pages);
	merge_fixture_write(fixture->profile, 0x1, 1);
	start_link(fixture);
	start_aggregator(fixture);
	while (access(fixture->pages, F_OK))
		sched_yield();
	for (uint32_t i = 1; i < 4; i++) {
		merge_fixture_continue(fixture->profile, (2u << i) - 1);
		for (int tries = 0; tries < 4 && !has_same_pages(fixture, false); tries++)
			ask(wanted);
		assert_true(has_same_pages(fixture, false));
	}
	assert_int_equal(finish_link(fixture, 60000), 0);
	stop_aggregator(fixture);
	assert_true(has_same_pages(fixture, true));
}

static char *text_of(const struct page_set *set)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(page_set_read(set, 0, write_page, out), 0);
	fclose(out);
	return text;
}

static int add_message(void *set, struct message *message)
{
	const char *reason;

	return page_set_take(set, &message->pages, &reason);
}

/* What a first round of so many bytes has. Owns: free(). */
static char *round_of(const struct fixture *fixture, uint64_t max_bytes)
{
	struct page_sender *sender = page_sender_create();
	struct page_set *set = page_set_create();

	assert_int_equal(page_sender_send(sender, fixture->profile, max_bytes, add_message, set),
			 0);
	char *text = text_of(set);
	page_set_destroy(set);
	page_sender_destroy(sender);
	return text;
}

/* Takes messages until a round is complete, and acknowledges each. */
static void take_round(struct router_fixture *router, struct page_set *set)
{
	const struct message *message;
	const char *reason;

	for (;;) {
		message = router_fixture_receive(router, 60000);
		assert_non_null(message);
		if (message->type != MESSAGE_PAGES)
			continue;
		assert_int_equal(page_set_take(set, &message->pages, &reason), 0);
		const bool is_last = message->pages.nr_tables != 0;
		router_fixture_ack(router, message->pages.seq);
		if (is_last)
			return;
	}
}

static void expect_round(const struct fixture *fixture, const struct page_set *set,
			 uint64_t max_bytes)
{
	char *sent = text_of(set), *expected = round_of(fixture, max_bytes);

	assert_string_equal(sent, expected);
	free(expected);
	free(sent);
}

/* That is the first round, before any acknowledgement, and the next one. */
static void a_round_keeps_to_the_credit_that_the_aggregator_gives(void **state)
{
	struct fixture *fixture = *state;
	struct router_fixture *router = router_fixture_create("tcp://127.0.0.1:*");
	struct page_set *set = page_set_create();

	merge_fixture_write(fixture->profile, MERGE_FIXTURE_ALL, 1);
	start_link(fixture);
	assert_int_equal(profile_link_connect(fixture->link, router_fixture_endpoint(router), NULL),
			 0);
	while (router_fixture_receive(router, 60000)->type != MESSAGE_HELLO)
		;
	router_fixture_send(router,
			    &(struct message){.type = MESSAGE_WELCOME,
					      .welcome = {.version = WIRE_VERSION_FOLDS,
							  .window_frames = 64,
							  .window_bytes = 1}});
	take_round(router, set);
	expect_round(fixture, set, 1);
	take_round(router, set);
	expect_round(fixture, set, UINT64_MAX);
	finish_link(fixture, 0);
	page_set_destroy(set);
	router_fixture_destroy(router);
}

static void without_an_aggregator_the_link_says_so(void **state)
{
	struct fixture *fixture = *state;

	merge_fixture_write(fixture->profile, 0x1, 1);
	start_link(fixture);
	assert_int_equal(finish_link(fixture, 60000), -ENOTCONN);
	start_link(fixture);
	assert_int_equal(profile_link_lost_ns(fixture->link), 0);
	assert_int_equal(profile_link_connect(fixture->link, "tcp://127.0.0.1:1", NULL), 0);
	while (!profile_link_lost_ns(fixture->link))
		sched_yield();
	assert_int_equal(finish_link(fixture, 1), -ETIMEDOUT);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->profile = merge_fixture_path("profile");
	fixture->store = merge_fixture_path("store");
	fixture->pages = merge_fixture_path("pages");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char *paths[] = {fixture->profile, fixture->store, fixture->pages};

	for (int i = 0; i < 3; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
	free(fixture);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_aggregator_has_the_profile_at_the_end),
		TEST(a_profile_that_is_not_complete_comes_without_a_goodbye),
		TEST(a_later_aggregator_gets_all_of_a_profile_that_has_grown),
		TEST(readers_see_what_is_new),
		TEST(a_round_keeps_to_the_credit_that_the_aggregator_gives),
		TEST(without_an_aggregator_the_link_says_so),
	};

	return cmocka_run_group_tests(tests, merge_fixture_set_up, merge_fixture_tear_down);
}

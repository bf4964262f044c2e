#include "aggregator/service/node_profiles.h"

#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/pages/page_file.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/service/profile_agents.h"
#include "base/log.h"
#include "tests/aggregator/pages/pages_text.h"

#define SECOND_NS NODE_PROFILES_SAVE_NS

int __real_page_file_write(const struct page_snapshot *snapshot, const char *path);
int __wrap_page_file_write(const struct page_snapshot *snapshot, const char *path);
void __wrap_log_write(enum log_level level, const char *format, ...);

static atomic_uint nr_writes;
static uint32_t nr_lines;
static int write_error;
static bool waits;
static sem_t has_begun, may_end;

/* A disk: it fails, or waits, as a test says. */
int __wrap_page_file_write(const struct page_snapshot *snapshot, const char *path)
{
	nr_writes++;
	if (waits) {
		sem_post(&has_begun);
		sem_wait(&may_end);
	}
	return write_error ? write_error : __real_page_file_write(snapshot, path);
}

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
	nr_lines++;
}

struct fixture {
	char folder[64], path[96];
	struct node_profiles *profiles;
};

static struct agent_session *come(struct fixture *fixture, uint8_t epoch)
{
	bool is_full;
	struct agent_session *session = node_profiles_session(
		fixture->profiles, (const uint8_t[WIRE_EPOCH_SIZE]){epoch}, &is_full);

	assert_non_null(session);
	assert_true(session->folds);
	return session;
}

static const struct agent_session *superseded;

static int apply(struct fixture *fixture, struct agent_session *session, uint8_t writer,
		 uint64_t round, const char *text, uint64_t now_ns)
{
	struct pages_text pages;
	struct message message = {.type = MESSAGE_PAGES};
	const char *reason;

	pages_text_make(&pages, writer, round, text);
	message.pages = pages.pages;
	message.pages.seq = session->received_seq + 1;
	return node_profiles_apply(fixture->profiles, session, &message, now_ns, &reason,
				   &superseded);
}

static void say_bye(struct fixture *fixture, struct agent_session *session)
{
	const struct message bye = {.type = MESSAGE_BYE, .bye.seq = session->received_seq + 1};
	const char *reason;

	assert_int_equal(
		node_profiles_apply(fixture->profiles, session, &bye, 1, &reason, &superseded), 0);
}

static void assert_saved(const struct fixture *fixture, const char *expected)
{
	char text[PAGES_TEXT_SIZE];
	struct page_set *set;

	assert_int_equal(page_set_load(fixture->path, &set), 0);
	pages_text_of(set, 0, text);
	assert_string_equal(text, expected);
	page_set_destroy(set);
}

/* Steps, and waits for a file that this begins. Returns how many were written. */
static uint32_t step(struct fixture *fixture, uint64_t now_ns)
{
	uint32_t before = nr_writes;

	node_profiles_step(fixture->profiles, now_ns);
	if (node_profiles_until(fixture->profiles, UINT64_MAX) == now_ns + NODE_PROFILES_END_NS)
		assert_int_equal(node_profiles_save(fixture->profiles), 0);
	return nr_writes - before;
}

static void the_file_is_written_at_once_and_after_1_2_4_and_8_seconds(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *link = come(fixture, 1);
	const uint64_t begin_ns = 100 * SECOND_NS + 5;
	uint32_t expected = 0, found = 0;

	assert_int_equal(step(fixture, begin_ns), 0); /* there is no page yet */
	for (uint32_t i = 0; i < 17 * 50; i++) {
		uint64_t now_ns = begin_ns + i * (SECOND_NS / 50);
		char text[64];

		snprintf(text, sizeof(text), "0.0=%u |0:1", i);
		assert_int_equal(apply(fixture, link, 7, i + 1, text, now_ns), 0);
		if (step(fixture, now_ns)) {
			assert_int_equal(i, expected * 50);
			expected = expected ? 2 * expected : 1;
			found++;
		}
	}
	assert_int_equal(found, 6);
	assert_saved(fixture, "0.0=800");
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_saved(fixture, "0.0=849");
	/* Nothing has changed since. */
	assert_int_equal(step(fixture, begin_ns + 32 * SECOND_NS), 0);
}

static void the_file_is_written_soon_after_a_reader_asks(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *link = come(fixture, 1);
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "%s" PAGE_SET_WANTED, fixture->path);
	assert_int_equal(apply(fixture, link, 7, 1, "0.0=a |0:1", 1), 0);
	assert_int_equal(step(fixture, 1), 1);
	const uint64_t begin_ns = 1 + 17 * SECOND_NS; /* then a file is due at 33 s */
	assert_int_equal(apply(fixture, link, 7, 2, "0.0=b |0:1", begin_ns), 0);
	assert_int_equal(step(fixture, begin_ns), 1);
	fclose(fopen(wanted, "w"));
	uint64_t look_ns = node_profiles_until(fixture->profiles, UINT64_MAX);
	assert_true(look_ns <= begin_ns + NODE_PROFILES_LOOK_NS);
	assert_int_equal(node_profiles_round_ms(fixture->profiles), 0);
	/* Links are told, and have a while to send what is newer. */
	assert_int_equal(step(fixture, look_ns), 0);
	assert_int_equal(node_profiles_round_ms(fixture->profiles), NODE_PROFILES_ROUND_MS);
	assert_int_equal(apply(fixture, link, 7, 3, "0.0=c |0:1", look_ns), 0);
	look_ns += NODE_PROFILES_FRESH_NS;
	assert_int_equal(node_profiles_until(fixture->profiles, UINT64_MAX), look_ns);
	assert_int_equal(step(fixture, look_ns), 1);
	node_profiles_step(fixture->profiles, look_ns);
	assert_int_equal(access(wanted, F_OK), -1);
	assert_saved(fixture, "0.0=c");
	/* Nothing is newer than the file. */
	fclose(fopen(wanted, "w"));
	look_ns += NODE_PROFILES_LOOK_NS;
	assert_int_equal(step(fixture, look_ns), 0);
	assert_int_equal(access(wanted, F_OK), -1);
	/* The next reader does not wait for rounds. */
	assert_int_equal(apply(fixture, link, 7, 4, "0.0=d |0:1", look_ns), 0);
	fclose(fopen(wanted, "w"));
	look_ns += NODE_PROFILES_LOOK_NS;
	assert_int_equal(step(fixture, look_ns), 1);
	assert_saved(fixture, "0.0=d");
	node_profiles_step(fixture->profiles, look_ns + NODE_PROFILES_WATCHED_NS);
	assert_int_equal(node_profiles_round_ms(fixture->profiles), 0);
}

static void links_share_the_bytes_of_ten_seconds(void **state)
{
	(void)state;
	assert_int_equal(node_profiles_round_bytes(0), 500000000);
	assert_int_equal(node_profiles_round_bytes(1), 500000000);
	assert_int_equal(node_profiles_round_bytes(128), 3906250);
	assert_int_equal(node_profiles_round_bytes(NODE_PROFILES_LINKS_MAX), NODE_PROFILES_LINK_MIN);
}

static void pages_come_while_the_file_is_written(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *link = come(fixture, 1);

	assert_int_equal(apply(fixture, link, 7, 1, "0.0=a 0.1=b |0:2", 1), 0);
	waits = true;
	node_profiles_step(fixture->profiles, 1 + SECOND_NS);
	sem_wait(&has_begun);
	waits = false;
	assert_int_equal(apply(fixture, link, 7, 2, "0.0=A |0:1", 1 + SECOND_NS), 0);
	/* One file at a time, and the loop is not kept awake for the next one. */
	node_profiles_step(fixture->profiles, 1 + 2 * SECOND_NS);
	assert_int_equal(nr_writes, 1);
	assert_true(node_profiles_until(fixture->profiles, 1 + 9 * SECOND_NS) > 1 + 2 * SECOND_NS);
	sem_post(&may_end);
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_int_equal(nr_writes, 2);
	assert_saved(fixture, "0.0=A");
}

static void a_new_node_waits_where_files_take_long(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *link = come(fixture, 1), *other = come(fixture, 2);
	const uint64_t end_ns = 1 + 17 * SECOND_NS;

	assert_int_equal(apply(fixture, link, 7, 1, "0.0=a |0:1", 1), 0);
	waits = true;
	node_profiles_step(fixture->profiles, 1);
	sem_wait(&has_begun);
	waits = false;
	sem_post(&may_end);
	do
		node_profiles_step(fixture->profiles, end_ns);
	while (node_profiles_until(fixture->profiles, UINT64_MAX) == end_ns + NODE_PROFILES_END_NS);
	assert_int_equal(apply(fixture, other, 8, 1, "0.0=b |0:1", end_ns), 0);
	assert_int_equal(step(fixture, end_ns + 3 * SECOND_NS), 0);
	say_bye(fixture, other); /* does not wait */
	assert_int_equal(step(fixture, end_ns + 3 * SECOND_NS), 1);
	assert_int_equal(other->durable_seq, 2);
}

static void a_failure_is_said_once_and_tried_again(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *link = come(fixture, 1);

	assert_int_equal(apply(fixture, link, 7, 1, "0.0=a |0:1", 1), 0);
	write_error = -ENOSPC;
	assert_int_equal(node_profiles_save(fixture->profiles), -ENOSPC);
	assert_int_equal(node_profiles_save(fixture->profiles), -ENOSPC);
	assert_int_equal(nr_lines, 1);
	write_error = 0;
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_int_equal(nr_lines, 2);
	assert_saved(fixture, "0.0=a");
}

static void assert_links(const struct fixture *fixture, uint64_t links, uint64_t open,
			 uint64_t heard, uint64_t since_ns)
{
	uint64_t found;

	assert_int_equal(node_profiles_links(fixture->profiles), links);
	assert_int_equal(node_profiles_heard(fixture->profiles, since_ns, &found), heard);
	assert_int_equal(found, open);
}

static void a_later_link_of_a_profile_takes_the_place_of_an_earlier_one(void **state)
{
	struct fixture *fixture = *state;
	struct agent_session *first = come(fixture, 1), *other = come(fixture, 2);

	first->heard_ns = 10;
	other->heard_ns = 20;
	assert_ptr_equal(come(fixture, 1), first);
	assert_int_equal(apply(fixture, first, 7, 3, "0.0=a 0.1=b |0:2", 1), 0);
	assert_int_equal(apply(fixture, first, 7, 4, "0.0=half", 1), 0);
	assert_int_equal(first->durable_seq, 2);
	assert_int_equal(apply(fixture, other, 8, 1, "0.0=c |0:1", 1), 0);
	assert_null(superseded);
	assert_links(fixture, 2, 2, 1, 15);
	struct agent_session *second = come(fixture, 3);
	second->heard_ns = 30;
	assert_links(fixture, 3, 3, 2, 15);
	assert_int_equal(apply(fixture, second, 7, 4, "0.0=A |0:1", 1), 0);
	assert_ptr_equal(superseded, first);
	assert_true(first->superseded);
	assert_links(fixture, 2, 2, 2, 15);
	assert_int_equal(node_profiles_count(fixture->profiles), 3);
	assert_null(node_profiles_at(fixture->profiles, 0));
	assert_ptr_equal(node_profiles_at(fixture->profiles, 1), other);
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_saved(fixture, "0.0=A");
	/* One profile has one link at a time, and one link has one profile. */
	assert_int_equal(apply(fixture, second, 8, 5, "0.0=c |0:1", 1), REFUSE_MALFORMED);
	assert_int_equal(second->received_seq, 1);
	say_bye(fixture, second);
	/* The node keeps its profile until the file has the goodbye. */
	assert_int_equal(second->received_seq, 2);
	assert_int_equal(second->durable_seq, 1);
	/* That it still speaks then does not count. */
	assert_links(fixture, 2, 2, 2, 1);
	assert_links(fixture, 2, 2, 1, 15);
	write_error = -ENOSPC;
	assert_int_equal(node_profiles_save(fixture->profiles), -ENOSPC);
	assert_int_equal(second->durable_seq, 1);
	write_error = 0;
	assert_int_equal(step(fixture, 2), 1);
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_int_equal(second->durable_seq, 2);
	assert_links(fixture, 2, 1, 1, 15);
	assert_int_equal(apply(fixture, second, 7, 5, "0.0=c |0:1", 1), REFUSE_MALFORMED);
}

static void a_later_aggregator_awaits_the_links_that_said_no_goodbye(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(apply(fixture, come(fixture, 1), 7, 1, "0.0=a |0:1", 1), 0);
	struct agent_session *gone = come(fixture, 2);
	assert_int_equal(apply(fixture, gone, 8, 1, "0.0=b |0:1", 1), 0);
	say_bye(fixture, gone);
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	node_profiles_close(fixture->profiles);
	assert_int_equal(node_profiles_open(fixture->path, &fixture->profiles), 0);
	assert_links(fixture, 2, 1, 1, 0);
	assert_links(fixture, 2, 1, 0, 1);
	assert_null(node_profiles_at(fixture->profiles, 0));
	struct agent_session *again = come(fixture, 3);
	again->heard_ns = 10;
	/* It may be the node that is awaited, until it has named its profile. A second one can't be. */
	assert_int_equal(node_profiles_links(fixture->profiles), 2);
	struct agent_session *second = come(fixture, 4);
	assert_int_equal(node_profiles_links(fixture->profiles), 3);
	assert_int_equal(apply(fixture, again, 7, 1, "0.0=A |0:1", 1), 0);
	assert_null(superseded);
	assert_int_equal(node_profiles_links(fixture->profiles), 3);
	say_bye(fixture, second);
	assert_links(fixture, 3, 1, 1, 5);
	assert_int_equal(node_profiles_save(fixture->profiles), 0);
	assert_saved(fixture, "0.0=A");
}

/* A node without a place for a profile sends its events, and loses what does not come. */
static void agents_are_given_more_time_than_links(void **state)
{
	struct fixture *fixture = *state;
	struct collection *collection = collection_create();
	uint64_t open;

	assert_non_null(collection);
	const struct profile_agents agents = {collection, fixture->profiles};
	come(fixture, 1)->heard_ns = 20;
	struct agent_session *agent =
		collection_session(collection, (const uint8_t[WIRE_EPOCH_SIZE]){2});
	assert_non_null(agent);
	agent->heard_ns = 10;
	assert_int_equal(profile_agents_heard(agents, 10, 20, &open), 2);
	assert_int_equal(profile_agents_heard(agents, 10, 21, &open), 1);
	assert_int_equal(profile_agents_heard(agents, 11, 21, &open), 0);
	assert_int_equal(open, 2);
	collection_destroy(collection);
}

static void a_file_that_is_none_is_not_replaced(void **state)
{
	struct fixture *fixture = *state;
	struct node_profiles *profiles;
	FILE *file = fopen(fixture->path, "w");

	assert_non_null(file);
	fputs("another program's", file);
	fclose(file);
	assert_int_equal(node_profiles_open(fixture->path, &profiles), -EPROTO);
	assert_null(profiles);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	nr_writes = 0;
	nr_lines = 0;
	write_error = 0;
	waits = false;
	sem_init(&has_begun, 0, 0);
	sem_init(&may_end, 0, 0);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/flamegrid_nodes_XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/nodes", fixture->folder);
	return node_profiles_open(fixture->path, &fixture->profiles);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	node_profiles_close(fixture->profiles);
	unlink(fixture->path);
	int error = rmdir(fixture->folder);
	free(fixture);
	return error;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_file_is_written_at_once_and_after_1_2_4_and_8_seconds),
		TEST(the_file_is_written_soon_after_a_reader_asks),
		TEST(pages_come_while_the_file_is_written),
		TEST(a_new_node_waits_where_files_take_long),
		TEST(a_failure_is_said_once_and_tried_again),
		TEST(a_later_link_of_a_profile_takes_the_place_of_an_earlier_one),
		TEST(a_later_aggregator_awaits_the_links_that_said_no_goodbye),
		TEST(agents_are_given_more_time_than_links),
		TEST(a_file_that_is_none_is_not_replaced),
		TEST(links_share_the_bytes_of_ten_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

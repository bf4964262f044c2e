#include "tests/support/cmocka_test.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/publish/publisher_lag.h"
#include "proto/ledger.h"
#include "router_fixture.h"

#define WAIT_NS      20000000000ull
#define WINDOW_BYTES 4096u
#define S            1000000000ull
#define BEGIN_NS     (1000 * S)

struct fixture {
	struct router_fixture *router;
	struct publisher *publisher;
	struct publisher_lag lag;
	uint64_t now_ns; /* of the publisher; it stands still but for step() */
};

static char line[512];
static uint32_t nr_lines;

void __wrap_log_write(enum log_level level, const char *format, ...);

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	va_list arguments;

	(void)level;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	nr_lines++;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->router = router_fixture_create("tcp://127.0.0.1:*");
	const struct publisher_options options = {
		.endpoint = router_fixture_endpoint(fixture->router),
		.window_bytes = WINDOW_BYTES,
		.silence_ms = 3600000,
		.ping_ms = 3600000,
		.hello = {.version_min = WIRE_VERSION, .version_max = WIRE_VERSION},
	};
	assert_int_equal(publisher_create(&options, &fixture->publisher, NULL), 0);
	fixture->now_ns = BEGIN_NS;
	nr_lines = 0;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	publisher_destroy(fixture->publisher);
	router_fixture_destroy(fixture->router);
	free(fixture);
	return 0;
}

static void turn(struct fixture *fixture)
{
	struct pollfd ready = {.fd = publisher_fd(fixture->publisher), .events = POLLIN};

	assert_int_equal(publisher_step(fixture->publisher, fixture->now_ns), 0);
	poll(&ready, 1, 1);
}

static const struct message *await(struct fixture *fixture, enum message_type type)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (clock_now_ns() < until_ns) {
		turn(fixture);
		const struct message *message = router_fixture_receive(fixture->router, 0);
		if (message && message->type == type)
			return message;
	}
	fail_msg("no message of type %d came", (int)type);
	return NULL;
}

static void be_welcome(struct fixture *fixture)
{
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	await(fixture, MESSAGE_HELLO);
	router_fixture_welcome(fixture->router, 0, 64, 1u << 24);
	while (!publisher_connected(fixture->publisher) && clock_now_ns() < until_ns)
		turn(fixture);
	assert_true(publisher_connected(fixture->publisher));
}

static void acknowledge(struct fixture *fixture)
{
	uint64_t seq = publisher_last_seq(fixture->publisher);
	uint64_t until_ns = clock_now_ns() + WAIT_NS;

	router_fixture_ack(fixture->router, seq);
	while (publisher_acked_seq(fixture->publisher) < seq && clock_now_ns() < until_ns)
		turn(fixture);
	assert_int_equal(publisher_acked_seq(fixture->publisher), seq);
}

static void publish(struct fixture *fixture, const char *text)
{
	const struct message_text notice = {text, (uint32_t)strlen(text)};
	struct message message = {.type = MESSAGE_STRINGS,
				  .strings = {.base = 1, .count = 1, .strings = &notice}};

	assert_int_equal(publisher_send(fixture->publisher, &message), 0);
}

/* As the agent's loop does it; the clock goes on by this much. */
static enum slow_spell_news step(struct fixture *fixture, uint64_t ns, uint64_t nr_lost)
{
	fixture->now_ns += ns;
	turn(fixture);
	enum slow_spell_news news =
		publisher_lag_look(&fixture->lag, fixture->publisher, fixture->now_ns);

	publisher_lag_say(&fixture->lag, fixture->publisher, news, "tcp://n1:7", nr_lost);
	assert_int_equal(publisher_lag_tell(&fixture->lag, fixture->publisher, NULL, false), 0);
	return news;
}

static void assert_line(const char *first, const char *second)
{
	if (strncmp(line, first, strlen(first)) != 0 || !strstr(line, second))
		fail_msg("not \"%s…%s\", but \"%s\"", first, second, line);
}

/* The address of an aggregator in this process says nothing to people. */
static void this_nodes_own_aggregator_has_no_address(void **state)
{
	struct fixture *fixture = *state;
	const struct publisher_lag lag = {.spell = {.since_ns = BEGIN_NS, .longest_ns = 4 * S}};

	publisher_lag_say(&lag, fixture->publisher, SLOW_SPELL_BEGAN, "inproc://any", 0);
	assert_line("this node's own aggregator is 4.0 s behind since ",
		    ": it does not answer (a full or slow disk, or --max-size); nothing is lost");
}

static void an_aggregator_that_does_not_acknowledge_gets_a_line_its_end_and_a_ledger(void **state)
{
	struct fixture *fixture = *state;

	be_welcome(fixture);
	step(fixture, 0, 0);
	publish(fixture, "text");
	await(fixture, MESSAGE_STRINGS);
	assert_int_equal(publisher_lag_deadline_ns(&fixture->lag, fixture->publisher),
			 BEGIN_NS + PUBLISHER_LAG_LIMIT_NS);
	step(fixture, PUBLISHER_LAG_LIMIT_NS - 1, 0);
	step(fixture, 1, 0);
	assert_int_equal(nr_lines, 0);
	assert_int_equal(step(fixture, S, 0), SLOW_SPELL_BEGAN);
	step(fixture, S, 0);
	assert_int_equal(nr_lines, 1);
	assert_line("the aggregator at tcp://n1:7 is 4.0 s behind since ",
		    ": it or the link is slower than this node; nothing is lost so far");

	uint64_t before = publisher_last_seq(fixture->publisher);
	acknowledge(fixture);
	assert_int_equal(step(fixture, 0, 0), SLOW_SPELL_SAME);
	assert_int_equal(publisher_last_seq(fixture->publisher), before + 1);
	const struct message *ledger = await(fixture, MESSAGE_LEDGER);
	assert_int_equal(ledger->ledger.process_id, 0);
	assert_int_equal(ledger->ledger.nr_entries, 1);
	assert_int_equal(ledger->ledger.entries[0].reason, LEDGER_BEHIND);
	assert_int_equal(ledger->ledger.entries[0].count, 1);
	assert_int_equal(ledger->ledger.entries[0].ns, 5 * S);
	acknowledge(fixture);
	assert_int_equal(step(fixture, SLOW_SPELL_CALM_NS, 0), SLOW_SPELL_ENDED);
	assert_int_equal(nr_lines, 2);
	assert_string_equal(line, "the aggregator at tcp://n1:7 has caught up: it was behind for "
				  "5.0 s, and at most by 5.0 s; nothing was lost");
	assert_int_equal(publisher_last_seq(fixture->publisher), before + 1);
}

static void a_full_window_and_losses_are_named(void **state)
{
	static char text[WINDOW_BYTES + 1];
	struct fixture *fixture = *state;

	memset(text, 'x', WINDOW_BYTES);
	be_welcome(fixture);
	step(fixture, 0, 0);
	publish(fixture, text);
	assert_false(publisher_has_room(fixture->publisher));
	step(fixture, 4 * S, 7);
	step(fixture, S, 7);
	assert_line("the aggregator at tcp://n1:7 is 5.0 s behind since ",
		    "and the agent's buffer is full, so the rings of processes fill; "
		    "lost so far: 7");
}

static void an_agent_that_stood_still_blames_no_aggregator(void **state)
{
	struct fixture *fixture = *state;

	be_welcome(fixture);
	step(fixture, 0, 0);
	publish(fixture, "text");
	await(fixture, MESSAGE_STRINGS);
	step(fixture, 60 * S, 0);
	acknowledge(fixture);
	step(fixture, S, 0);
	assert_int_equal(nr_lines, 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 1);
}

static void the_time_before_the_first_welcome_does_not_count(void **state)
{
	struct fixture *fixture = *state;

	publish(fixture, "text");
	for (int i = 0; i < 3; i++)
		step(fixture, 100 * S, 0);
	be_welcome(fixture);
	step(fixture, 0, 0);
	step(fixture, PUBLISHER_LAG_LIMIT_NS - 1, 0);
	assert_int_equal(nr_lines, 0);
	assert_int_equal(fixture->lag.spell.first_ns, 0);
}

static void the_last_ledger_waits_for_nothing_and_none_follows_it(void **state)
{
	struct fixture *fixture = *state;

	be_welcome(fixture);
	step(fixture, 0, 0);
	publish(fixture, "text");
	step(fixture, 4 * S, 0);
	step(fixture, S, 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(publisher_lag_tell(&fixture->lag, fixture->publisher, NULL, true),
				 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 2);
	assert_int_equal(await(fixture, MESSAGE_LEDGER)->ledger.entries[0].ns, 5 * S);
	step(fixture, S, 0);
	acknowledge(fixture);
	step(fixture, S, 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 2);
}

static void the_cost_is_told_every_ten_seconds_and_at_the_end(void **state)
{
	struct publisher_cost cost = {.cpu_ns = 3, .peak_bytes = 4096, .run_ns = S};
	struct fixture *fixture = *state;

	be_welcome(fixture);
	step(fixture, 0, 0);
	assert_int_equal(publisher_lag_tell(&fixture->lag, fixture->publisher, &cost, false), 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 0);
	cost.run_ns = PUBLISHER_COST_NS;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			publisher_lag_tell(&fixture->lag, fixture->publisher, &cost, false), 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 1);
	cost.run_ns++;
	for (int i = 0; i < 2; i++)
		assert_int_equal(publisher_lag_tell(&fixture->lag, fixture->publisher, &cost, true),
				 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 2);

	const struct message_ledger *ledger = &await(fixture, MESSAGE_LEDGER)->ledger;
	assert_int_equal(ledger->nr_entries, 2);
	assert_int_equal(ledger->entries[0].reason, LEDGER_METER_AGENT);
	assert_int_equal(ledger->entries[0].count, 4096);
	assert_int_equal(ledger->entries[0].ns, 3);
	assert_int_equal(ledger->entries[1].reason, LEDGER_METER_AGENT_RUN);
	assert_int_equal(ledger->entries[1].count, 1);
	assert_int_equal(ledger->entries[1].ns, PUBLISHER_COST_NS);
}

/* A node that folds its events itself has two aggregators: its own, and the job's. */
static void what_the_nodes_link_waited_is_in_the_same_ledger(void **state)
{
	struct fixture *fixture = *state;

	be_welcome(fixture);
	fixture->lag.link_count = 2;
	fixture->lag.link_ns = 60 * S;
	step(fixture, 0, 0);
	step(fixture, 0, 0);
	assert_int_equal(publisher_last_seq(fixture->publisher), 1);
	const struct message_ledger *ledger = &await(fixture, MESSAGE_LEDGER)->ledger;
	assert_int_equal(ledger->nr_entries, 1);
	assert_int_equal(ledger->entries[0].reason, LEDGER_BEHIND);
	assert_int_equal(ledger->entries[0].count, 2);
	assert_int_equal(ledger->entries[0].ns, 60 * S);
	step(fixture, 4 * S, 0);
	step(fixture, S, 0);
	acknowledge(fixture);
	step(fixture, 0, 0);
	ledger = &await(fixture, MESSAGE_LEDGER)->ledger;
	assert_int_equal(ledger->entries[0].count, 3);
	assert_int_equal(ledger->entries[0].ns, 60 * S);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(this_nodes_own_aggregator_has_no_address),
		TEST(an_aggregator_that_does_not_acknowledge_gets_a_line_its_end_and_a_ledger),
		TEST(a_full_window_and_losses_are_named),
		TEST(an_agent_that_stood_still_blames_no_aggregator),
		TEST(the_time_before_the_first_welcome_does_not_count),
		TEST(the_cost_is_told_every_ten_seconds_and_at_the_end),
		TEST(what_the_nodes_link_waited_is_in_the_same_ledger),
		TEST(the_last_ledger_waits_for_nothing_and_none_follows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

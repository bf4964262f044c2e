#include "node-agent/publish/ranks_end.h"

#include <poll.h>

#include "base/clock.h"
#include "node-agent/publish/publisher.h"
#include "router_fixture.h"

#include "tests/support/cmocka_test.h"

#define WAIT_NS 20000000000ull
#define MS      1000000ull

static struct publisher *open_publisher(const struct router_fixture *router)
{
	const struct publisher_options options = {
		.endpoint = router_fixture_endpoint(router),
		.window_bytes = 1u << 20,
		/* no PING and no end of the connection comes by itself */
		.ping_ms = 3600000,
		.silence_ms = 3600000,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .epoch = {7},
			  .software = {"test", 4},
			  .node = {"node", 4},
			  .boot_id = {"boot", 4}},
	};
	struct publisher *publisher;

	assert_int_equal(publisher_create(&options, &publisher, NULL), 0);
	return publisher;
}

static const struct message *await(struct router_fixture *router, struct publisher *publisher,
				   enum message_type type)
{
	struct pollfd ready = {.fd = publisher_fd(publisher), .events = POLLIN};
	const uint64_t until_ns = clock_now_ns() + WAIT_NS;

	while (clock_now_ns() < until_ns) {
		assert_int_equal(publisher_step(publisher, clock_now_ns()), 0);
		poll(&ready, 1, 1);
		const struct message *message = router_fixture_receive(router, 0);
		if (message && message->type == type)
			return message;
	}
	fail_msg("no message of type %d came", (int)type);
	return NULL;
}

/* An aggregator with a full disk leaves HELLO without an answer, and rank 0 waits for the job's end. */
static void the_end_is_told_before_a_welcome_and_when_it_changes(void **state)
{
	struct router_fixture *router = router_fixture_create("tcp://127.0.0.1:*");
	struct publisher *publisher = open_publisher(router);

	(void)state;
	await(router, publisher, MESSAGE_HELLO);
	publisher_ranks_ended(publisher, clock_now_ns() - 5 * MS);
	assert_true(await(router, publisher, MESSAGE_PING)->ping.ended_ms >= 5);
	publisher_ranks_ended(publisher, 0); /* another rank has come */
	assert_int_equal(await(router, publisher, MESSAGE_PING)->ping.ended_ms, 0);
	publisher_destroy(publisher);
	router_fixture_destroy(router);
}

static void an_end_is_at_least_one_millisecond_ago(void **state)
{
	struct ranks_end end = {0};

	(void)state;
	assert_int_equal(ranks_end_age_ms(&end, 10 * MS), 0);
	ranks_end_set(&end, 10 * MS);
	assert_int_equal(ranks_end_age_ms(&end, 9 * MS), 1);
	assert_int_equal(ranks_end_age_ms(&end, 10 * MS), 1);
	assert_int_equal(ranks_end_age_ms(&end, 12 * MS), 3);
}

static void each_connection_is_told_once(void **state)
{
	struct ranks_end end = {0};

	(void)state;
	ranks_end_forget_told(&end);
	assert_false(end.untold);
	ranks_end_set(&end, 10);
	assert_true(end.untold);
	end.untold = false;
	ranks_end_set(&end, 10);
	assert_false(end.untold);
	ranks_end_forget_told(&end);
	assert_true(end.untold);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_told_before_a_welcome_and_when_it_changes),
		cmocka_unit_test(an_end_is_at_least_one_millisecond_ago),
		cmocka_unit_test(each_connection_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

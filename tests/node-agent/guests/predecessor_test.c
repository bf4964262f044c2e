#include "tests/support/cmocka_test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "node-agent/guests/predecessor.h"
#include "tests/node-agent/publish/router_fixture.h"

#define TRIES 20000

static struct router_fixture *router;
static struct predecessor_table *table;
static const uint8_t before[WIRE_EPOCH_SIZE] = "the one before",
		     earlier[WIRE_EPOCH_SIZE] = "earlier";

static int set_up(void **state)
{
	struct publisher_options options = {
		.window_bytes = 1u << 20,
		.hello = {.version_min = WIRE_VERSION,
			  .version_max = WIRE_VERSION,
			  .epoch = "ourselves",
			  .software = {"test", 4},
			  .node = {"node", 4},
			  .boot_id = {"boot", 4}},
	};

	(void)state;
	router = router_fixture_create("tcp://127.0.0.1:*");
	options.endpoint = router_fixture_endpoint(router);
	table = predecessor_table_create(&options);
	assert_non_null(table);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	predecessor_table_destroy(table);
	router_fixture_destroy(router);
	return 0;
}

/* Asks until the router has something, about whichever epoch; the message is borrowed until the next one. */
static const struct message *ask_until_heard(const uint8_t *epoch)
{
	const struct message *message = NULL;
	uint64_t durable_seq;

	for (int i = 0; i < TRIES && !message; i++) {
		predecessor_table_ask(table, epoch, 0, clock_now_ns(), &durable_seq);
		message = router_fixture_receive(router, 1);
	}
	assert_non_null(message);
	return message;
}

static int ask_until_known(const uint8_t *epoch, uint64_t *durable_seq)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		r = predecessor_table_ask(table, epoch, 0, clock_now_ns(), durable_seq);
		router_fixture_receive(router, 1);
	}
	return r;
}

static void the_answer_is_that_of_the_old_epoch(void **state)
{
	uint64_t durable_seq = 0;

	(void)state;
	const struct message *hello = ask_until_heard(before);
	assert_int_equal(hello->type, MESSAGE_HELLO);
	assert_memory_equal(hello->hello.epoch, before, WIRE_EPOCH_SIZE);
	assert_true(hello->hello.asks);
	assert_memory_equal(hello->hello.node.data, "node", 4);
	router_fixture_welcome(router, 42, 8, 1u << 20);
	assert_int_equal(ask_until_known(before, &durable_seq), 0);
	assert_int_equal(durable_seq, 42);
}

static void each_epoch_is_asked_about_once(void **state)
{
	uint64_t durable_seq = 0;

	(void)state;
	ask_until_heard(before);
	router_fixture_welcome(router, 7, 8, 1u << 20);
	assert_int_equal(ask_until_known(before, &durable_seq), 0);
	ask_until_heard(earlier);
	router_fixture_welcome(router, 9, 8, 1u << 20);
	assert_int_equal(ask_until_known(earlier, &durable_seq), 0);
	assert_int_equal(durable_seq, 9);
	assert_int_equal(predecessor_table_ask(table, before, 0, clock_now_ns(), &durable_seq),
			 0);
	assert_int_equal(durable_seq, 7);
	assert_null(router_fixture_receive(router, 10));
}

static void a_refusal_means_that_it_will_not_be_known(void **state)
{
	uint64_t durable_seq = 1;

	(void)state;
	ask_until_heard(before);
	router_fixture_refuse(router, REFUSE_VERSION);
	assert_int_equal(ask_until_known(before, &durable_seq), -EPROTO);
	assert_int_equal(durable_seq, 0);
}

/* Epochs that nobody has: nothing is known of them until the router says so. */
static void ask_about_made_up_ones(uint32_t count, uint8_t first, uid_t uid)
{
	uint8_t epoch[WIRE_EPOCH_SIZE] = {first};
	uint64_t durable_seq;

	for (uint32_t i = 0; i < count; i++, epoch[1]++)
		assert_int_equal(
			predecessor_table_ask(table, epoch, uid, clock_now_ns(), &durable_seq),
			-EAGAIN);
}

static void a_user_with_made_up_epochs_holds_up_itself_alone(void **state)
{
	uint64_t durable_seq;

	(void)state;
	ask_about_made_up_ones(100, 1, geteuid() + 1);
	assert_int_equal(predecessor_table_ask(table, before, geteuid() + 2, clock_now_ns(),
					       &durable_seq),
			 -EAGAIN);
	/* The peers are half of all of the one, and the one that counts. */
	for (uint32_t i = 0; i < PREDECESSORS_MAX / 2 + 1; i++) {
		const struct message *hello = ask_until_heard(before);

		assert_int_equal(hello->type, MESSAGE_HELLO);
		router_fixture_welcome(router, 42, 8, 1u << 20);
	}
	assert_int_equal(ask_until_known(before, &durable_seq), 0);
	assert_int_equal(durable_seq, 42);
	assert_null(router_fixture_receive(router, 10));
}

static void answers_make_room_for_further_questions(void **state)
{
	uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	uint64_t durable_seq;

	(void)state;
	for (uint32_t i = 0; i < PREDECESSORS_MAX + 5; i++, epoch[1]++) {
		ask_until_heard(epoch);
		router_fixture_welcome(router, i, 8, 1u << 20);
		assert_int_equal(ask_until_known(epoch, &durable_seq), 0);
		assert_int_equal(durable_seq, i);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_answer_is_that_of_the_old_epoch),
		TEST(each_epoch_is_asked_about_once),
		TEST(a_refusal_means_that_it_will_not_be_known),
		TEST(a_user_with_made_up_epochs_holds_up_itself_alone),
		TEST(answers_make_room_for_further_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

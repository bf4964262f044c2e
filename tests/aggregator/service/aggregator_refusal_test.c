/* What an aggregator does not believe or does not go on with: a store that is gone, counters that cannot be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "report/profile/profile.h"
#include "report/model/report_build.h"
#include "aggregator/profile/session_apply.h"
#include "aggregator/profile/session_modules.h"
#include "aggregator_fixture.h"
#include "proto/ledger.h"

struct store;
bool __real_store_has_moved(const struct store *store);
bool __wrap_store_has_moved(const struct store *store);

static atomic_bool looks_away;

/* What a commit sees of the store does not come here. */
bool __wrap_store_has_moved(const struct store *store)
{
	return !looks_away && __real_store_has_moved(store);
}

static void replace_store(struct aggregator_fixture *fixture, const char *by)
{
	char elsewhere[128];

	snprintf(elsewhere, sizeof(elsewhere), "%s.elsewhere", fixture->path);
	assert_int_equal(rename(fixture->path, elsewhere), 0);
	if (by) {
		FILE *other = fopen(fixture->path, "w");

		assert_non_null(other);
		fputs(by, other);
		fclose(other);
	}
	unlink(elsewhere);
}

/* What comes after the store has gone is not acknowledged, and the aggregator ends. Its own look at the store might come
 * first, and would end it while nobody waits for an acknowledgement. */
static void assert_a_store_that_went_ends_it(struct aggregator_fixture *fixture, const char *by)
{
	const struct scenario *scenario = &fixture->scenarios[0];

	looks_away = true;
	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 4);
	test_agent_expect_ack(agent, 4);
	replace_store(fixture, by);
	aggregator_fixture_send(agent, scenario, 5, 8);
	const struct message *answer;
	do {
		answer = test_agent_receive(agent);
		if (answer->type == MESSAGE_ACK)
			assert_int_equal(answer->ack.seq, 4);
	} while (answer->type != MESSAGE_REFUSE);
	assert_int_equal(answer->refuse.code, REFUSE_STORE);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_join(fixture), -ESTALE);
}

static void a_deleted_store_ends_it_and_nothing_is_acknowledged(void **state)
{
	assert_a_store_that_went_ends_it(*state, NULL);
}

static void a_replaced_store_ends_it_and_the_new_file_is_left_alone(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char text[16] = "";

	assert_a_store_that_went_ends_it(fixture, "another's");
	FILE *other = fopen(fixture->path, "r");
	assert_non_null(other);
	assert_non_null(fgets(text, sizeof(text), other));
	fclose(other);
	assert_string_equal(text, "another's");
}

static void a_store_that_goes_while_nothing_comes_ends_it(void **state)
{
	struct aggregator_fixture *fixture = *state;

	looks_away = false;
	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	replace_store(fixture, NULL);
	assert_int_equal(aggregator_fixture_join(fixture), -ESTALE);
	test_agent_close(agent);
}

static void what_cannot_be_in_a_ledger_is_left_out_and_counted(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct scenario *scenario = &fixture->scenarios[0];
	const struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_LAUNCH_RING_FULL, UINT64_MAX - 2, 0},
		{0, LEDGER_RECORD_RING_FULL, 7, 100},
		{0, LEDGER_INVALID_TIME, 1, UINT64_MAX},
	};
	const struct message ledger = {
		.type = MESSAGE_LEDGER,
		.ledger = {.seq = 7, .process_id = 0, .nr_entries = 3, .entries = entries},
	};
	struct scenario_frame frame = scenario_encode(&ledger);
	struct profile *profile;
	struct report_tree *tree;
	char *error;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, scenario);
	aggregator_fixture_send(agent, scenario, 1, 6);
	test_agent_send(agent, &frame);
	test_agent_expect_ack(agent, 7);
	test_agent_close(agent);
	free(frame.bytes);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	assert_int_equal(profile_load(fixture->path, &profile, &error), 0);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	for (uint32_t i = 0; i < tree->nr_losses; i++) {
		const char *reason = tree->strings[tree->losses[i].reason];

		if (strcmp(reason, ledger_reason_name(LEDGER_UNTRUSTED_RING)) == 0)
			assert_int_equal(tree->losses[i].count, 2);
		else if (strcmp(reason, ledger_reason_name(LEDGER_RECORD_RING_FULL)) == 0)
			assert_int_equal(tree->losses[i].count, 7);
		else
			assert_true(tree->losses[i].count < 1000);
	}
	assert_true(tree->lost >= 9 && tree->lost < 1000);
	report_tree_destroy(tree);
	profile_destroy(profile);
}

/* Numbered texts of the largest size there may be, as many as a hostile job likes. */
static void names_beyond_an_agents_share_are_left_out_and_known_ones_are_not(void **state)
{
	static char bytes[WIRE_STRING_MAX];
	const uint8_t epoch[WIRE_EPOCH_SIZE] = {1};
	struct collection *collection = collection_create();
	struct agent_session *session = collection_session(collection, epoch);
	struct message_text text = {bytes, sizeof(bytes)};
	uint32_t count = 3 * (TEXT_SHARES_MAX / WIRE_STRING_MAX), size;
	const char *reason;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (uint32_t i = 0; i <= count; i++) {
		struct message message = {.type = MESSAGE_STRINGS,
					  .strings = {i + 1, i + 1, 1, &text, NULL}};
		uint32_t number = i < count ? i : 0; /* at last the first once more */

		memcpy(bytes, &number, sizeof(number));
		assert_int_equal(session_apply(session, collection, &message, &reason), 0);
	}
	assert_true(session->texts.bytes <= TEXT_SHARES_MAX);
	assert_true(catalog_size(collection->catalog).strings <=
		    TEXT_SHARES_MAX / WIRE_STRING_MAX + 2);
	catalog_string(collection->catalog,
		       agent_session_translate(session, SESSION_STRINGS, count + 1), &size);
	assert_int_equal(size, WIRE_STRING_MAX);
	assert_string_equal(catalog_string(collection->catalog,
					   agent_session_translate(session, SESSION_STRINGS, count),
					   &size),
			    SESSION_STRINGS_LEFT_OUT);
	collection_destroy(collection);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_deleted_store_ends_it_and_nothing_is_acknowledged),
		TEST(a_replaced_store_ends_it_and_the_new_file_is_left_alone),
		TEST(a_store_that_goes_while_nothing_comes_ends_it),
		TEST(what_cannot_be_in_a_ledger_is_left_out_and_counted),
		cmocka_unit_test(names_beyond_an_agents_share_are_left_out_and_known_ones_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

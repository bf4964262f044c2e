#include "inject/cupti/activity_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/cupti/cupti_library.h"
#include "inject/base/definition_writer.h"
#include "proto/ring/record_ring.h"
#include "tests/inject/test_ring.h"

#define CLOCK_NS 1000000u /* what CUPTI's clock says */

static struct {
	uint32_t dumped; /* kind */
	uint32_t nr_dumps, nr_kinds, nr_callbacks;
} fake;

static int dump(uint32_t kind)
{
	fake.dumped = kind;
	fake.nr_dumps++;
	return CUPTI_ABI_SUCCESS;
}

static int timestamp(uint64_t *now_ns)
{
	*now_ns = CLOCK_NS;
	return CUPTI_ABI_SUCCESS;
}

static void take_up(bool callbacks)
{
	fake.nr_kinds++;
	fake.nr_callbacks += callbacks;
}

struct fixture {
	struct test_ring ring;
	struct definition_writer definitions;
	struct cupti_library library;
	struct activity_watch watch;
	struct activity_watch_counts counts;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	memset(&fake, 0, sizeof(fake));
	test_ring_init(&fixture->ring);
	fixture->definitions = DEFINITION_WRITER_INIT(fixture->ring.guest);
	fixture->library = (struct cupti_library){.activity_enable_and_dump = dump,
						  .get_timestamp = timestamp};
	setenv(ACTIVITY_WATCH_ENV, "10", 1);
	activity_watch_init(&fixture->watch, fixture->ring.guest, &fixture->definitions,
			    &fixture->library, take_up);
	fixture->counts.earliest_ns = UINT64_MAX;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	test_ring_fini(&fixture->ring);
	free(fixture);
	return 0;
}

/* So many flushes, each after so many launches and records more. */
static void flush(struct fixture *fixture, uint32_t times, uint64_t launches, uint64_t records)
{
	for (uint32_t i = 0; i < times; i++) {
		fixture->counts.launches += launches;
		fixture->counts.records += records;
		activity_watch_step(&fixture->watch, &fixture->counts);
	}
}

static uint64_t missing(struct fixture *fixture)
{
	return test_ring_ledger(&fixture->ring, LEDGER_DEVICE_NONE, LEDGER_ACTIVITY_TAKEN).count;
}

static uint32_t nr_notices(struct fixture *fixture)
{
	struct definition_notice head;
	char body[2048];
	uint32_t type, nr = 0;

	while (test_ring_definition(&fixture->ring, &type, body, sizeof(body)) >= 0) {
		memcpy(&head, body, sizeof(head));
		assert_int_equal(type, DEFINITION_NOTICE);
		assert_int_equal(head.code, NOTICE_ACTIVITY_TAKEN);
		nr++;
	}
	return nr;
}

static void take_over(struct fixture *fixture)
{
	flush(fixture, 10, 100, 100);
	flush(fixture, ACTIVITY_WATCH_ROUNDS + 1, 100, 0);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_TAKEN);
}

static void nothing_is_asked_while_records_come(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 100, 50, 50);
	flush(fixture, 100, 0, 0);
	flush(fixture, 100, 500, 1);
	assert_int_equal(fake.nr_dumps + fake.nr_kinds, 0);
	activity_watch_ask(&fixture->watch, &fixture->counts);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(fake.nr_dumps, 0);
	assert_int_equal(missing(fixture) + nr_notices(fixture), 0);
}

static void few_launches_or_few_flushes_are_no_reason(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 1, 10, 10);
	flush(fixture, ACTIVITY_WATCH_ROUNDS - 1, 1000, 0);
	assert_int_equal(fake.nr_dumps, 0);
	flush(fixture, 1, 1, 1);
	flush(fixture, ACTIVITY_WATCH_LAUNCHES - 1, 1, 0);
	flush(fixture, 100, 0, 0);
	assert_int_equal(fake.nr_dumps, 0);
	flush(fixture, 1, 1, 0);
	assert_int_equal(fake.nr_dumps, 1);
	assert_int_equal(fake.dumped, CUPTI_ABI_KIND_CONTEXT);
}

static void late_gpu_changes_nothing(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 10, 100, 100);
	flush(fixture, ACTIVITY_WATCH_ROUNDS, 100, 0);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_ASKED);
	fixture->counts.resources++; /* the contexts' records reach us */
	flush(fixture, 1, 100, 0);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_WAITING);
	assert_int_equal(fake.nr_kinds, 1);
	assert_int_equal(fake.nr_callbacks, 0);
	flush(fixture, 50, 10, 0);
	fixture->counts.earliest_ns = CLOCK_NS - 1;
	flush(fixture, 1, 0, 500);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_OURS);
	assert_int_equal(missing(fixture) + nr_notices(fixture), 0);
}

static void kinds_that_were_off_are_on_again_and_what_is_missing_is_counted(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 10, 100, 100);
	flush(fixture, ACTIVITY_WATCH_ROUNDS, 100, 0);
	fixture->counts.resources++;
	flush(fixture, 1, 100, 0);
	assert_int_equal(fake.nr_kinds, 1);
	fixture->counts.earliest_ns = CLOCK_NS + 1;
	flush(fixture, 1, 100, 100);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_OURS);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1) * 100);
	assert_int_equal(nr_notices(fixture), 1);
}

static void other_user_is_said_and_left_alone_for_a_while(void **state)
{
	struct fixture *fixture = *state;

	take_over(fixture);
	assert_int_equal(nr_notices(fixture), 1);
	flush(fixture, 9, 100, 0);
	assert_int_equal(fake.nr_kinds + fake.nr_callbacks, 0);
	flush(fixture, 1, 100, 0);
	assert_int_equal(fake.nr_kinds, 1);
	assert_int_equal(fake.nr_callbacks, 1);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1 + 10) * 100);
	assert_int_equal(nr_notices(fixture), 1);
	flush(fixture, 10, 100, 100);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_OURS);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1 + 10) * 100);
}

static void each_time_is_counted_but_said_once(void **state)
{
	struct fixture *fixture = *state;

	take_over(fixture);
	flush(fixture, 10, 100, 0);
	take_over(fixture);
	flush(fixture, 10, 100, 0);
	assert_int_equal(missing(fixture), 2 * (ACTIVITY_WATCH_ROUNDS + 1 + 10) * 100);
	assert_int_equal(nr_notices(fixture), 2);
}

static void without_patience_it_is_never_taken_up_again(void **state)
{
	struct fixture *fixture = *state;

	fixture->watch.patience = 0;
	take_over(fixture);
	flush(fixture, 1000, 100, 0);
	assert_int_equal(fake.nr_kinds, 0);
	assert_int_equal(missing(fixture), 0);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1 + 1000) * 100);
}

static void at_the_end_what_nobody_sent_is_missing(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 1, 100, 100);
	fixture->counts.launches += 50;
	activity_watch_ask(&fixture->watch, &fixture->counts);
	assert_int_equal(fake.nr_dumps, 1);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 50);
	assert_int_equal(nr_notices(fixture), 2);
}

static void records_at_the_end_end_it(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 1, 100, 100);
	fixture->counts.launches += 50;
	fixture->counts.records += 50;
	activity_watch_ask(&fixture->watch, &fixture->counts);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(fake.nr_dumps, 0);
	assert_int_equal(missing(fixture) + nr_notices(fixture), 0);
}

static void a_new_window_begins_anew_and_counts_what_the_last_one_lacks(void **state)
{
	struct fixture *fixture = *state;

	take_over(fixture);
	fixture->counts.launches += 7; /* of the new window: their records are on their way */
	activity_watch_renew(&fixture->watch, &fixture->counts);
	assert_int_equal(fixture->watch.state, ACTIVITY_WATCH_OURS);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1) * 100);
	flush(fixture, 20, 100, 100);
	activity_watch_renew(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), (ACTIVITY_WATCH_ROUNDS + 1) * 100);
	assert_int_equal(fake.nr_kinds, 0);
}

static void cupti_that_cannot_be_asked_is_not_watched(void **state)
{
	struct fixture *fixture = *state;

	fixture->library.activity_enable_and_dump = NULL;
	flush(fixture, 10, 100, 100);
	flush(fixture, 100, 100, 0);
	activity_watch_ask(&fixture->watch, &fixture->counts);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(fake.nr_kinds, 0);
	assert_int_equal(missing(fixture) + nr_notices(fixture), 0);
}

static void patience_is_read_from_the_environment(void **state)
{
	static const struct {
		const char *text;
		uint32_t patience;
	} cases[] = {{"7", 7},
		     {"0", 0},
		     {"", ACTIVITY_WATCH_PATIENCE},
		     {"-1", ACTIVITY_WATCH_PATIENCE},
		     {"1 minute", ACTIVITY_WATCH_PATIENCE}};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setenv(ACTIVITY_WATCH_ENV, cases[i].text, 1);
		activity_watch_init(&fixture->watch, fixture->ring.guest, &fixture->definitions,
				    &fixture->library, take_up);
		assert_int_equal(fixture->watch.patience, cases[i].patience);
	}
	unsetenv(ACTIVITY_WATCH_ENV);
	activity_watch_init(&fixture->watch, fixture->ring.guest, &fixture->definitions,
			    &fixture->library, take_up);
	assert_int_equal(fixture->watch.patience, ACTIVITY_WATCH_PATIENCE);
}

static void session_that_is_known_of_is_counted_from_its_first_launch_to_its_last(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 3, 100, 90);
	fixture->counts.launches += 50;
	fixture->counts.records += 80;
	activity_watch_lend(&fixture->watch, &fixture->counts);
	fixture->counts.launches += 7;
	activity_watch_lend(&fixture->watch, &fixture->counts); /* the same one still */
	/* Those that come yet were launched before. */
	flush(fixture, 20, 100, 1);
	assert_int_equal(fake.nr_dumps + fake.nr_kinds, 0);
	assert_int_equal(missing(fixture), 0);
	fixture->counts.launches += 3;
	activity_watch_take_back(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 2010);
	assert_int_equal(fake.nr_callbacks, 1);
	assert_int_equal(nr_notices(fixture), 2);
	flush(fixture, 20, 100, 100);
	assert_int_equal(missing(fixture), 2010);
}

static void session_that_is_known_of_at_the_end_is_counted(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 3, 100, 100);
	activity_watch_lend(&fixture->watch, &fixture->counts);
	flush(fixture, 3, 100, 0);
	activity_watch_ask(&fixture->watch, &fixture->counts);
	activity_watch_finish(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 300);
	assert_int_equal(fake.nr_dumps + fake.nr_kinds, 0);
}

static void session_without_launches_is_no_loss(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 3, 100, 100);
	activity_watch_lend(&fixture->watch, &fixture->counts);
	activity_watch_take_back(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture) + nr_notices(fixture), 0);
	assert_int_equal(fake.nr_callbacks, 1);
}

static void cupti_that_another_ended_leaves_no_launch_uncounted(void **state)
{
	struct fixture *fixture = *state;

	flush(fixture, 3, 100, 100);
	fixture->counts.launches += 5;
	activity_watch_lost(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 5);
	/* With its last flush came records of all. */
	fixture->counts.launches += 9;
	fixture->counts.records += 9;
	activity_watch_lost(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 5);
	take_over(fixture);
	fixture->counts.launches += 1;
	activity_watch_lost(&fixture->watch, &fixture->counts);
	assert_int_equal(missing(fixture), 5 + (ACTIVITY_WATCH_ROUNDS + 1) * 100 + 1);
	assert_int_equal(fake.nr_kinds, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_asked_while_records_come),
		TEST(few_launches_or_few_flushes_are_no_reason),
		TEST(late_gpu_changes_nothing),
		TEST(kinds_that_were_off_are_on_again_and_what_is_missing_is_counted),
		TEST(other_user_is_said_and_left_alone_for_a_while),
		TEST(each_time_is_counted_but_said_once),
		TEST(without_patience_it_is_never_taken_up_again),
		TEST(at_the_end_what_nobody_sent_is_missing),
		TEST(records_at_the_end_end_it),
		TEST(a_new_window_begins_anew_and_counts_what_the_last_one_lacks),
		TEST(cupti_that_cannot_be_asked_is_not_watched),
		TEST(patience_is_read_from_the_environment),
		TEST(session_that_is_known_of_is_counted_from_its_first_launch_to_its_last),
		TEST(session_that_is_known_of_at_the_end_is_counted),
		TEST(session_without_launches_is_no_loss),
		TEST(cupti_that_another_ended_leaves_no_launch_uncounted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

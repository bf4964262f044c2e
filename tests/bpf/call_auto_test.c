/* Calls that are timed beside guests: of the processes that have none, and until one comes. */
#include "tests/support/cmocka_test.h"

#include <string.h>
#include <unistd.h>

#include "bpf_fixture.h"
#include "victim_orders.h"

#define ROUNDS      20u
#define CALLS       (4u * ROUNDS)
#define FILES_BOTH  2u /* the runtime and the driver */
#define NO_GUEST    "no guest came into this process, or it was sent away"
#define FEW_PASSES  20 /* of 10 ms: less than the second that a guest has */
#define NOTICE_LEFT "GPU times are missing"

static const char *victim_path, *runtime_path;

static struct bpf_fixture *watch(pid_t pid)
{
	const struct bpf_options options = {
		.host_calls = true, .calls_auto = true, .watch_pid = pid};
	struct bpf_fixture *fixture = bpf_fixture_create(&options);

	if (!fixture->source)
		fail_msg("BPF is needed here: %s", fixture->notices);
	return fixture;
}

static void stop(struct bpf_fixture *fixture, struct victim *victim)
{
	victim_end(victim);
	for (int i = 0; i < 3; i++)
		bpf_fixture_pass(fixture, 1);
	bpf_fixture_stop(fixture);
}

static void a_process_without_a_guest_is_timed_and_one_line_says_so(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(victim.pid);

	victim_order(fixture, &victim, "load %s", runtime_path);
	bpf_fixture_await_files(fixture, FILES_BOTH);
	assert_string_equal(fixture->notices, "");
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(fixture->nr_samples, 2 * CALLS);
	const char *line = strstr(fixture->notices, NO_GUEST);
	assert_non_null(line);
	assert_non_null(strstr(line, NOTICE_LEFT));
	assert_null(strstr(line + 1, NO_GUEST));
	bpf_fixture_destroy(fixture);
}

static void a_guest_has_its_time_to_come(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(victim.pid);

	victim_order(fixture, &victim, "load %s", runtime_path);
	bpf_source_attach(fixture->source, victim.pid, NULL);
	for (int i = 0; i < FEW_PASSES; i++)
		bpf_fixture_pass(fixture, 10);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(fixture->nr_samples, 0);
	assert_string_equal(fixture->notices, "");
	bpf_fixture_destroy(fixture);
}

static void calls_are_timed_until_a_guest_comes_and_not_afterwards(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	victim_order(NULL, &victim, "load %s", runtime_path);
	struct bpf_fixture *fixture = watch(victim.pid);

	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	bpf_source_attach(fixture->source, victim.pid, NULL);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	bpf_fixture_await_files(fixture, 0);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(fixture->nr_samples, CALLS);
	assert_int_equal(
		bpf_fixture_process(fixture, victim.pid, NULL)->ledger[LEDGER_SAMPLES].count,
		CALLS);
	bpf_fixture_destroy(fixture);
}

static void a_guest_that_was_sent_away_is_not_waited_for(void **state)
{
	struct victim victim;
	(void)state;
	victim_begin(&victim, victim_path);
	struct bpf_fixture *fixture = watch(victim.pid);

	bpf_source_refuse(fixture->source, victim.pid);
	victim_order(fixture, &victim, "load %s", runtime_path);
	bpf_fixture_await_files(fixture, FILES_BOTH);
	victim_order(fixture, &victim, "rounds %u", ROUNDS);
	stop(fixture, &victim);
	assert_int_equal(fixture->nr_samples, CALLS);
	assert_non_null(strstr(fixture->notices, NO_GUEST));
	bpf_fixture_destroy(fixture);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_without_a_guest_is_timed_and_one_line_says_so),
		cmocka_unit_test(a_guest_has_its_time_to_come),
		cmocka_unit_test(calls_are_timed_until_a_guest_comes_and_not_afterwards),
		cmocka_unit_test(a_guest_that_was_sent_away_is_not_waited_for),
	};

	if (argc != 3)
		return 2;
	victim_path = argv[1];
	runtime_path = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

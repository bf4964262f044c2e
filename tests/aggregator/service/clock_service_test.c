/* Questions about clocks to a real aggregator, and what it keeps of the answers that agents found. */
#include "aggregator/service/clock_service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "aggregator/profile/clock_log.h"
#include "aggregator_fixture.h"
#include "report/model/report_build.h"
#include "report/profile/profile.h"
#include "report/writers/clocks_writer.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void say(struct test_agent *agent, const struct message_clock *clock)
{
	const struct message message = {.type = MESSAGE_CLOCK, .clock = *clock};
	struct scenario_frame frame = scenario_encode(&message);

	test_agent_send(agent, &frame);
	free(frame.bytes);
}

/* What came before it was handled when this returns. */
static void settle(struct test_agent *agent)
{
	const struct message ping = {.type = MESSAGE_PING, .ping = {.token = 3}};
	struct scenario_frame frame = scenario_encode(&ping);

	test_agent_send(agent, &frame);
	test_agent_expect(agent, MESSAGE_PONG);
	free(frame.bytes);
}

static const struct message_clock result = {
	.kind = CLOCK_RESULT,
	.t1_ns = 500000000000,
	.realtime_offset_ns = 1732213912000000000ll,
	.offset_ns = -5000000000,
	.bound_ns = 45100,
	.round_trip_ns = 90200,
};

static void a_question_is_answered_with_the_times_of_both_ends(void **state)
{
	struct aggregator_fixture *fixture = *state;
	const struct message_clock question = {.kind = CLOCK_ASK, .t1_ns = 12345};

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	uint64_t before_ns = now_ns();
	say(agent, &question); /* before HELLO, too */
	const struct message *answer = test_agent_expect(agent, MESSAGE_CLOCK);
	assert_int_equal(answer->clock.kind, CLOCK_ANSWER);
	assert_int_equal(answer->clock.t1_ns, 12345);
	assert_in_range(answer->clock.t2_ns, before_ns, answer->clock.t3_ns);
	assert_in_range(answer->clock.t3_ns, answer->clock.t2_ns, now_ns());
	assert_true(answer->clock.realtime_offset_ns != 0);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static struct profile *load(const struct aggregator_fixture *fixture)
{
	struct profile *profile;

	assert_int_equal(profile_load(fixture->path, &profile, NULL), 0);
	return profile;
}

static void a_result_is_kept_for_its_host(void **state)
{
	struct aggregator_fixture *fixture = *state;
	uint32_t count;

	aggregator_fixture_start(fixture);
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	say(agent, &result);
	settle(agent);
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	struct profile *profile = load(fixture);
	const struct clock_offset *offset = clock_log_offsets(profile->collection->clocks, &count);
	assert_int_equal(count, 1);
	assert_int_equal(offset->host, 1);
	assert_int_equal(offset->time_ns, result.t1_ns);
	assert_int_equal(offset->offset_ns, result.offset_ns);
	assert_int_equal(offset->bound_ns, result.bound_ns);
	assert_int_equal(offset->round_trip_ns, result.round_trip_ns);
	assert_int_equal(offset->realtime_offset_ns, result.realtime_offset_ns);
	assert_true(offset->reference > 0);
	profile_destroy(profile);
}

static void a_flood_of_results_is_not_kept(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct message_clock own = result;
	uint32_t count;

	aggregator_fixture_start(fixture);
	uint64_t before_ns = now_ns();
	struct test_agent *agent = aggregator_fixture_connect(fixture);
	test_agent_hello(agent, &fixture->scenarios[0]);
	for (int i = 0; i < 200; i++) {
		own.t1_ns++;
		say(agent, &own);
		settle(agent);
	}
	uint64_t most = 1 + (now_ns() - before_ns) / CLOCK_SERVICE_RESULT_NS;
	test_agent_close(agent);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	struct profile *profile = load(fixture);
	clock_log_offsets(profile->collection->clocks, &count);
	assert_in_range(count, 1, most);
	profile_destroy(profile);
}

static void results_that_cannot_be_are_bad_frames(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct message_clock bad[6];
	uint32_t count;

	for (size_t i = 0; i < 6; i++)
		bad[i] = result;
	bad[0].offset_ns = INT64_MIN;
	bad[1].bound_ns = 0;
	bad[2].bound_ns = UINT64_MAX;
	bad[3].round_trip_ns = 2 * result.bound_ns + 1;
	bad[4].realtime_offset_ns = INT64_MAX;
	bad[5].kind = CLOCK_ANSWER;
	aggregator_fixture_start(fixture);
	for (size_t i = 0; i < 6; i++) {
		struct test_agent *agent = aggregator_fixture_connect(fixture);

		test_agent_hello(agent, &fixture->scenarios[0]);
		for (int times = 0; times < 3; times++)
			say(agent, &bad[i]);
		assert_int_equal(test_agent_expect(agent, MESSAGE_REFUSE)->refuse.code,
				 REFUSE_MALFORMED);
		test_agent_close(agent);
	}
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
	struct profile *profile = load(fixture);
	clock_log_offsets(profile->collection->clocks, &count);
	assert_int_equal(count, 0);
	profile_destroy(profile);
}

/* --- reports --- */

typedef int writer(FILE *out, const struct report_clocks *clocks, const struct report_tree *tree);

static char *written(const struct report_clocks *clocks, writer *write)
{
	const struct report_tree tree = {.title = "made up"};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, clocks, &tree), 0);
	fclose(out);
	return text;
}

static void assert_contains(char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %s", part, text);
}

static struct report_clocks_row rows[] = {
	{.host = "node1",
	 .measured = 12,
	 .time_ns = 500,
	 .offset_ns = -5000012345,
	 .bound_ns = 45100,
	 .round_trip_ns = 90200,
	 .has_realtime = true,
	 .realtime_ns = 12000,
	 .has_drift = true,
	 .drift_ppb = -1234,
	 .drift_bound_ppb = 50,
	 .compared_offset_ns = -5000012400,
	 .compared_bound_ns = 50000,
	 .collectives = 240},
	{.host = "node2", .elsewhere = 3},
};
static const struct report_clocks made = {
	.rows = rows, .nr_rows = 2, .spread_ns = 90200, .nr_unknown = 1, .refined = true};

static int write_csv(FILE *out, const struct report_clocks *clocks, const struct report_tree *tree)
{
	(void)tree;
	return clocks_writer_csv(out, clocks);
}

static int write_table(FILE *out, const struct report_clocks *clocks,
		       const struct report_tree *tree)
{
	return clocks_writer_table(out, clocks, tree, NULL);
}

static void reports_say_what_is_known_and_what_is_not(void **state)
{
	char line[256];
	char *table = written(&made, write_table);
	char *json = written(&made, clocks_writer_json);
	char *csv = written(&made, write_csv);

	(void)state;
	assert_contains(table, "-5.000012345 s    45.100 us    90.200 us");
	assert_contains(table, "-1.234 +-0.050 ppm         +0.000012000 s       12  node1\n");
	assert_contains(table, "0  node2; 3 more with another aggregator's clock, not used\n");
	assert_contains(json,
			"\"host\":\"node1\",\"compared\":12,\"elsewhere\":0,\"time_ns\":500,"
			"\"offset_ns\":-5000012345,\"bound_ns\":45100,\"round_trip_ns\":90200,"
			"\"drift_ppb\":-1234,\"drift_bound_ppb\":50,\"realtime_ns\":12000,"
			"\"compared_offset_ns\":-5000012400,\"compared_bound_ns\":50000,"
			"\"collectives\":240}");
	assert_contains(json, "\"offset_ns\":null");
	assert_contains(csv, "\nnode1,12,0,500,-5000012345,45100,90200,-1234,50,12000,"
			     "-5000012400,50000,240\n");
	assert_contains(csv, "\nnode2,0,3,,,,,,,,,,0\n");
	assert_contains(table, "held against collectives: the widest bound is 45.100 us, by "
			       "comparisons alone 50.000 us\n");
	assert_string_equal(
		clocks_writer_line(&made, line, sizeof(line)),
		"CLOCK_REALTIME of 1 of 2 hosts: at most 90.200 us apart; of the others it is "
		"not known");
	assert_null(strstr(table, "contradict"));
	free(table);
	free(json);
	free(csv);
	struct report_clocks contradicted = made;
	contradicted.refined = false;
	contradicted.contradicted = true;
	table = written(&contradicted, write_table);
	assert_contains(table, "collectives contradict these comparisons, and were left aside\n");
	assert_null(strstr(table, "held against"));
	free(table);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_answered_with_the_times_of_both_ends),
		TEST(a_result_is_kept_for_its_host),
		TEST(a_flood_of_results_is_not_kept),
		TEST(results_that_cannot_be_are_bad_frames),
		cmocka_unit_test(reports_say_what_is_known_and_what_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Samples one by one, from the wire to `flamegrid report --format samples`: a real aggregator in between.
 * Argument: the flamegrid program. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "proto/batch/message_seq.h"
#include "tests/aggregator/service/aggregator_fixture.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
#define BATCHES   10u
#define SAMPLES   200u
#define LINE_MAX  256u
#define OFFSET_NS 1732213912000000000ll

static const char *flamegrid;

struct line {
	uint64_t time_ns;
	uint32_t order; /* in which it came */
	uint8_t kind;
	char text[LINE_MAX];
};

static struct line truth[BATCHES * SAMPLES];

static void add(struct scenario *scenario, struct message message)
{
	message_seq_set(&message, scenario->nr_frames + 1);
	assert_true(scenario->nr_frames < SCENARIO_FRAMES_MAX);
	scenario->frames[scenario->nr_frames++] = scenario_encode(&message);
}

static void add_definitions(struct scenario *scenario)
{
	static const struct message_text strings[] = {
		TEXT("./serve"),    TEXT("/srv/app.py"),
		TEXT("main"),       TEXT("infer"),
		TEXT("futex"),      TEXT("read"),
		TEXT("cuMemAlloc"), TEXT("my; a\\pp\xc3\xa9")};
	static const struct message_code codes[] = {{2, 3}, {2, 4}};
	static const struct message_frame frames[] = {{.code = 1, .offset = 7},
						      {.code = 2, .offset = 9}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}};

	add(scenario, (struct message){.type = MESSAGE_STRINGS,
				       .strings = {.base = 1, .count = 8, .strings = strings}});
	add(scenario, (struct message){.type = MESSAGE_STACKS,
				       .stacks = {.frame_base = 1,
						  .nr_frames = 2,
						  .frames = frames,
						  .node_base = 1,
						  .nr_nodes = 2,
						  .nodes = nodes,
						  .code_base = 1,
						  .nr_codes = 2,
						  .codes = codes}});
	add(scenario, (struct message){.type = MESSAGE_PROCESS,
				       .process = {.process_id = 1,
						   .pid = 77,
						   .state = PROCESS_RUNNING,
						   .rank = MESSAGE_RANK_NONE,
						   .local_rank = MESSAGE_RANK_NONE,
						   .world_size = MESSAGE_RANK_NONE,
						   .command = 1}});
}

/* The line that a sample is to become. */
static void note(uint32_t order, const struct host_sample *sample, uint64_t time_ns)
{
	static const char *const stacks[] = {"[unknown stack];", "app.py:main:7;",
					     "app.py:main:7;app.py:infer:9;"};
	static const char *const leaves[] = {"[CPU]", "[Off-CPU]", "[GPU_Launch]"};
	static const char *const names[] = {"", "futex", "read", "cuMemAlloc"};
	struct line *line = &truth[order];

	line->time_ns = time_ns;
	line->order = order;
	line->kind = sample->kind;
	snprintf(line->text, sizeof(line->text),
		 "%" PRIu64 ".%09" PRIu64 " %s 77 %" PRIu32 " %" PRIu32 " %s%s%s\n",
		 time_ns / 1000000000u, time_ns % 1000000000u,
		 sample->command_id ? "my\\x3b\\x20a\\x5cpp\\xc3\\xa9" : "-", sample->tid,
		 sample->cpu, stacks[sample->stack_id], leaves[sample->kind],
		 names[sample->name_id ? sample->name_id - 4 : 0]);
}

static void add_samples(struct scenario *scenario, uint32_t batch, int64_t offset_ns)
{
	struct host_sample samples[SAMPLES];

	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t number = batch * SAMPLES + i;
		uint8_t kind = (uint8_t)(number * 7 % 11 % (HOST_SAMPLE_CALL + 1));

		/* Neither in order, nor all at different times. */
		samples[i] = (struct host_sample){
			.time_ns = 1000000000ull + number * 7919ull % 1000 * 1234567ull,
			.duration_ns = 1 + number % 97,
			.tid = 77 + number % 5,
			.stack_id = number % 3,
			.name_id = kind == HOST_SAMPLE_CPU ? 0 : 5 + number % 3,
			.cpu = number % 129,
			.command_id = number % 4 ? 8 : 0,
			.kind = kind,
		};
		note(number, &samples[i], samples[i].time_ns + (uint64_t)offset_ns);
	}
	add(scenario, (struct message){.type = MESSAGE_SAMPLES,
				       .samples = {.process_id = 1,
						   .nr_samples = SAMPLES,
						   .samples = samples,
						   .realtime_offset_ns = offset_ns}});
}

static int by_time(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static void make_life(struct scenario *scenario, int64_t offset_ns)
{
	for (uint32_t i = 0; i < scenario->nr_frames; i++)
		free(scenario->frames[i].bytes);
	scenario->nr_frames = 0;
	add_definitions(scenario);
	for (uint32_t batch = 0; batch < BATCHES; batch++)
		add_samples(scenario, batch, offset_ns);
	add(scenario, (struct message){.type = MESSAGE_BYE});
	qsort(truth, BATCHES * SAMPLES, sizeof(truth[0]), by_time);
}

static void play(struct aggregator_fixture *fixture, bool raw_samples, int64_t offset_ns)
{
	make_life(&fixture->scenarios[0], offset_ns);
	fixture->raw_samples = raw_samples;
	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, &fixture->scenarios[0]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

static FILE *open_report(const struct aggregator_fixture *fixture, const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), "%s report --format samples %s %s 2>%s/err", flamegrid,
		 options, fixture->path, fixture->folder);
	FILE *report = popen(command, "r");
	assert_non_null(report);
	return report;
}

static void close_report(const struct aggregator_fixture *fixture, FILE *report, int expected)
{
	char path[128];
	int status = pclose(report);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
	snprintf(path, sizeof(path), "%s/err", fixture->folder);
	remove(path);
}

/* The report has exactly the lines of the truth of these kinds, a set. */
static void reports_truth(const struct aggregator_fixture *fixture, const char *options,
			  uint32_t kinds)
{
	FILE *report = open_report(fixture, options);
	char line[LINE_MAX];

	for (uint32_t i = 0; i < BATCHES * SAMPLES; i++) {
		if (!(kinds & 1u << truth[i].kind))
			continue;
		assert_non_null(fgets(line, sizeof(line), report));
		assert_string_equal(line, truth[i].text);
	}
	assert_null(fgets(line, sizeof(line), report));
	close_report(fixture, report, 0);
}

static void each_sample_is_a_line_in_order_of_time(void **state)
{
	struct aggregator_fixture *fixture = *state;

	play(fixture, true, OFFSET_NS);
	reports_truth(fixture, "", 7);
	reports_truth(fixture, "--planes offcpu", 1 << HOST_SAMPLE_OFF_CPU);
	reports_truth(fixture, "--planes cpu,calls", 1 << HOST_SAMPLE_CPU | 1 << HOST_SAMPLE_CALL);
	reports_truth(fixture, "--planes gpu", 0);
}

static void without_the_nodes_clock_times_are_monotonic(void **state)
{
	struct aggregator_fixture *fixture = *state;

	play(fixture, true, 0);
	reports_truth(fixture, "", 7);
}

static int64_t ask(const struct aggregator_fixture *fixture, const char *sql)
{
	sqlite3 *database;
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_open(fixture->path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &row, NULL), SQLITE_OK);
	int64_t number = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
	sqlite3_finalize(row);
	sqlite3_close(database);
	return number;
}

/* The node is 7 s behind the aggregator, whose own clocks are 1 s apart. */
static void on_one_clock_each_line_has_its_host_and_its_bound(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char line[LINE_MAX], expected[LINE_MAX + 64];

	play(fixture, true, OFFSET_NS);
	ask(fixture,
	    "INSERT INTO clock_offsets VALUES (1, 1, 0, -7000000000, 50, 100, 5, 1000000000),"
	    " (1, 1, 9000000000, -7000000000, 50, 100, 5, 1000000000)");
	FILE *report = open_report(fixture, "--clocks");
	for (uint32_t i = 0; i < BATCHES * SAMPLES; i++) {
		uint64_t time_ns = truth[i].time_ns - (uint64_t)OFFSET_NS;
		uint64_t far_ns = time_ns < 4500000000u ? time_ns : 9000000000u - time_ns;
		const char *rest = strchr(truth[i].text, ' ');

		snprintf(expected, sizeof(expected),
			 "%.*s node01 %" PRIu64 ".%09" PRIu64 " %" PRIu64 "%s",
			 (int)(rest - truth[i].text), truth[i].text, time_ns / 1000000000u + 8,
			 time_ns % 1000000000u, 50 + far_ns * 15 / 1000000, rest);
		assert_non_null(fgets(line, sizeof(line), report));
		assert_string_equal(line, expected);
	}
	assert_null(fgets(line, sizeof(line), report));
	close_report(fixture, report, 0);
}

static void single_samples_add_up_to_the_sums(void **state)
{
	struct aggregator_fixture *fixture = *state;

	play(fixture, true, OFFSET_NS);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM raw_samples"), BATCHES * SAMPLES);
	assert_true(ask(fixture, "SELECT count(*) FROM host_samples") > 20);
	assert_int_equal(ask(fixture,
			     "SELECT count(*) FROM (SELECT process, tid, kind, node, name, count,"
			     " ns FROM host_samples EXCEPT SELECT process, tid, kind, node, name,"
			     " count(*), sum(duration_ns) FROM raw_samples"
			     " GROUP BY process, tid, kind, node, name)"),
			 0);
}

static void a_restart_in_the_middle_keeps_each_sample_once(void **state)
{
	struct aggregator_fixture *fixture = *state;

	make_life(&fixture->scenarios[0], OFFSET_NS);
	fixture->raw_samples = true;
	const struct scenario *life = &fixture->scenarios[0];
	for (uint64_t first = 1, last = 8; first <= life->nr_frames;
	     first = last + 1, last = life->nr_frames) {
		aggregator_fixture_start(fixture);
		struct test_agent *agent = aggregator_fixture_connect(fixture);
		assert_int_equal(test_agent_hello(agent, life), first - 1);
		aggregator_fixture_send(agent, life, first, last);
		test_agent_expect_ack(agent, last);
		test_agent_close(agent);
		assert_int_equal(aggregator_fixture_stop(fixture), 0);
		assert_int_equal(ask(fixture, "SELECT count(*) FROM raw_samples"),
				 last == 8 ? 5 * SAMPLES : BATCHES * SAMPLES);
	}
	reports_truth(fixture, "", 7);
}

static void nothing_is_kept_that_was_not_asked_for(void **state)
{
	struct aggregator_fixture *fixture = *state;

	play(fixture, false, OFFSET_NS);
	reports_truth(fixture, "", 0);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM raw_samples"), 0);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM host_clocks"), 1);
}

static void a_damaged_profile_is_an_error(void **state)
{
	static const char *const harms[] = {
		"UPDATE raw_samples SET node = 900 WHERE id = 7",
		"UPDATE raw_samples SET name = 900 WHERE id = 7",
		"UPDATE raw_samples SET command = 900 WHERE id = 7",
		"UPDATE raw_samples SET process = 2 WHERE id = 7",
		"UPDATE raw_samples SET kind = 3 WHERE id = 7",
		"UPDATE raw_samples SET tid = 4294967296 WHERE id = 7",
	};
	struct aggregator_fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(harms) / sizeof(harms[0]); i++) {
		char line[LINE_MAX];

		play(fixture, true, OFFSET_NS);
		ask(fixture, harms[i]);
		FILE *report = open_report(fixture, "");
		while (fgets(line, sizeof(line), report))
			;
		close_report(fixture, report, 1);
		remove(fixture->path);
	}
}

static void what_does_not_go_together_is_refused(void **state)
{
	struct aggregator_fixture *fixture = *state;
	char line[LINE_MAX];

	play(fixture, true, OFFSET_NS);
	FILE *report = open_report(fixture, "--by host");
	assert_null(fgets(line, sizeof(line), report));
	close_report(fixture, report, 2);
	report = open_report(fixture, "--memory peak");
	assert_null(fgets(line, sizeof(line), report));
	close_report(fixture, report, 2);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(each_sample_is_a_line_in_order_of_time),
		TEST(without_the_nodes_clock_times_are_monotonic),
		TEST(on_one_clock_each_line_has_its_host_and_its_bound),
		TEST(single_samples_add_up_to_the_sums),
		TEST(a_restart_in_the_middle_keeps_each_sample_once),
		TEST(nothing_is_kept_that_was_not_asked_for),
		TEST(a_damaged_profile_is_an_error),
		TEST(what_does_not_go_together_is_refused),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s FLAMEGRID\n", argv[0]);
		return 2;
	}
	flamegrid = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

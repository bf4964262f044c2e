/* Samples from the wire to the reports: an agent's life through a real aggregator, and `flamegrid report` on what it
 * stored. What the ledger says was produced is what was folded and what was lost, in count and in nanoseconds.
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

#include "report/profile/profile.h"
#include "report/model/report_build.h"
#include "aggregator/profile/roster.h"
#include "tests/aggregator/service/aggregator_fixture.h"
#include "proto/batch/message_seq.h"

#define TEXT(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}
#define BATCHES 20u
#define SAMPLES 500u

static const char *flamegrid;

#define HOST_KINDS 3 /* of enum host_sample_kind, those of host threads */

/* Sums of what was sent. */
struct truth {
	uint64_t count[HOST_KINDS], ns[HOST_KINDS];
};

static void add(struct scenario *scenario, struct message message)
{
	message_seq_set(&message, scenario->nr_frames + 1);
	assert_true(scenario->nr_frames < SCENARIO_FRAMES_MAX);
	scenario->frames[scenario->nr_frames++] = scenario_encode(&message);
}

static void add_definitions(struct scenario *scenario)
{
	static const struct message_text strings[] = {
		TEXT("./serve"), TEXT("/srv/app.py"), TEXT("main"),      TEXT("infer"),
		TEXT("futex"),   TEXT("read"),        TEXT("cuMemAlloc")};
	static const struct message_code codes[] = {{2, 3}, {2, 4}};
	static const struct message_frame frames[] = {{.code = 1, .offset = 7},
						      {.code = 2, .offset = 9}};
	static const struct message_node nodes[] = {{0, 1}, {1, 2}};

	add(scenario, (struct message){.type = MESSAGE_STRINGS,
				       .strings = {.base = 1, .count = 7, .strings = strings}});
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
}

static void add_process(struct scenario *scenario, enum process_state state)
{
	add(scenario, (struct message){.type = MESSAGE_PROCESS,
				       .process = {.process_id = 1,
						   .pid = 77,
						   .state = state,
						   .rank = MESSAGE_RANK_NONE,
						   .local_rank = MESSAGE_RANK_NONE,
						   .world_size = MESSAGE_RANK_NONE,
						   .command = 1}});
}

static void add_samples(struct scenario *scenario, uint32_t batch, struct truth *truth)
{
	struct host_sample samples[SAMPLES];

	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t number = batch * SAMPLES + i;
		uint8_t kind = (uint8_t)(number * 7 % 11 % HOST_KINDS);

		samples[i] = (struct host_sample){
			.time_ns = 1000000000ull + number * 10000ull,
			.duration_ns = 1 + number * 2654435761ull % 1000003,
			.tid = 77 + number % 5,
			.stack_id = number % 3,
			.name_id = kind == HOST_SAMPLE_CPU ? 0 : 5 + number % 3,
			.kind = kind,
		};
		truth->count[kind]++;
		truth->ns[kind] += samples[i].duration_ns;
	}
	add(scenario,
	    (struct message){
		    .type = MESSAGE_SAMPLES,
		    .samples = {.process_id = 1, .nr_samples = SAMPLES, .samples = samples}});
}

/* lost: so many samples of 10 ns each were produced, too, and did not get through. */
static void make_life(struct scenario *scenario, uint64_t lost, struct truth *truth)
{
	struct ledger_entry entries[] = {
		{LEDGER_DEVICE_NONE, LEDGER_SAMPLES, BATCHES * SAMPLES + lost, lost * 10},
		{LEDGER_DEVICE_NONE, LEDGER_SAMPLE_RING_FULL, lost, lost * 10},
		{LEDGER_DEVICE_NONE, LEDGER_WAIT_SHORT, 12, 3456},
	};

	*truth = (struct truth){0};
	for (uint32_t i = 0; i < scenario->nr_frames; i++)
		free(scenario->frames[i].bytes);
	scenario->nr_frames = 0;
	add_definitions(scenario);
	add_process(scenario, PROCESS_RUNNING);
	for (uint32_t batch = 0; batch < BATCHES; batch++)
		add_samples(scenario, batch, truth);
	for (int kind = 0; kind < HOST_KINDS; kind++)
		entries[0].ns += truth->ns[kind];
	add(scenario,
	    (struct message){.type = MESSAGE_LEDGER,
			     .ledger = {.process_id = 1, .nr_entries = 3, .entries = entries}});
	add_process(scenario, PROCESS_ENDED);
	add(scenario, (struct message){.type = MESSAGE_BYE});
}

static void play(struct aggregator_fixture *fixture, uint64_t lost, struct truth *truth)
{
	make_life(&fixture->scenarios[0], lost, truth);
	aggregator_fixture_start(fixture);
	aggregator_fixture_play(fixture, &fixture->scenarios[0]);
	assert_int_equal(aggregator_fixture_stop(fixture), 0);
}

/* The sum of the weights that the report has under a leaf of that kind; its exit status is to be expected. */
static uint64_t folded_sum(const struct aggregator_fixture *fixture, const char *options,
			   const char *leaf, int expected)
{
	char command[512], line[512];
	uint64_t sum = 0;

	snprintf(command, sizeof(command), "%s report %s %s 2>/dev/null", flamegrid, options,
		 fixture->path);
	FILE *report = popen(command, "r");
	assert_non_null(report);
	while (fgets(line, sizeof(line), report))
		if (strstr(line, leaf))
			sum += strtoull(strrchr(line, ' '), NULL, 10);
	int status = pclose(report);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
	return sum;
}

static void every_sample_sent_is_in_the_report(void **state)
{
	static const char *const planes[] = {"cpu", "offcpu", "calls"};
	static const char *const leaves[] = {";[CPU]", ";[Off-CPU]", ";[GPU_Launch]"};
	struct aggregator_fixture *fixture = *state;
	struct truth truth;
	char options[128];

	play(fixture, 0, &truth);
	for (int kind = 0; kind < HOST_KINDS; kind++) {
		snprintf(options, sizeof(options), "--strict --unit ns --planes %s", planes[kind]);
		assert_int_equal(folded_sum(fixture, options, leaves[kind], 0), truth.ns[kind]);
		assert_int_equal(folded_sum(fixture, options, ";", 0), truth.ns[kind]);
		assert_int_equal(folded_sum(fixture,
					    "--strict --weight count --planes cpu,offcpu,calls",
					    leaves[kind], 0),
				 truth.count[kind]);
		assert_int_equal(folded_sum(fixture, "--unit ns --planes all --by gpu,thread",
					    leaves[kind], 0),
				 truth.ns[kind]);
	}
	assert_int_equal(folded_sum(fixture, "--unit ns", ";", 0), 0);
	assert_int_equal(
		folded_sum(fixture, "--unit ns --planes cpu", "app.py:main:7;app.py:infer:9;", 0) +
			folded_sum(fixture, "--unit ns --planes cpu", "app.py:main:7;[CPU]", 0) +
			folded_sum(fixture, "--unit ns --planes cpu", "[unknown stack];", 0),
		truth.ns[HOST_SAMPLE_CPU]);
}

static void produced_is_folded_and_lost(void **state)
{
	struct aggregator_fixture *fixture = *state;
	struct truth truth;
	struct profile *profile;
	struct report_tree *tree;
	struct ledger_entry produced = {0}, lost = {0};
	uint64_t count = 0, ns = 0;
	char *error;

	play(fixture, 5, &truth);
	assert_int_equal(folded_sum(fixture, "--strict --planes cpu", "no such line", 3), 0);
	assert_int_equal(profile_load(fixture->path, &profile, &error), 0);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	const struct roster_process *process = roster_process(profile->collection->roster, 1);
	for (uint32_t i = 0; i < process->nr_ledger; i++) {
		if (process->ledger[i].reason == LEDGER_SAMPLES)
			produced = process->ledger[i];
		if (process->ledger[i].reason == LEDGER_SAMPLE_RING_FULL)
			lost = process->ledger[i];
	}
	for (uint32_t plane = REPORT_PLANE_CPU; plane <= REPORT_PLANE_CALLS; plane++) {
		count += tree->plane_totals[plane].count;
		ns += tree->plane_totals[plane].ns;
	}
	assert_int_equal(count, BATCHES * SAMPLES);
	assert_int_equal(produced.count, count + lost.count);
	assert_int_equal(produced.ns, ns + lost.ns);
	assert_int_equal(tree->lost, 5);
	report_tree_destroy(tree);
	profile_destroy(profile);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, aggregator_fixture_set_up,                           \
					aggregator_fixture_tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(every_sample_sent_is_in_the_report),
		TEST(produced_is_folded_and_lost),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s FLAMEGRID\n", argv[0]);
		return 2;
	}
	flamegrid = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "run_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"
#include "proto/definition.h"
#include "report/model/report_build.h"
#include "tests/report/straggler/straggler_fixture.h"

struct run_fixture run_fixture;

static uint64_t varied(uint32_t step, uint32_t rank, uint64_t ns)
{
	return ns + ns / 500 * ((step * 7 + rank * 3) % 5);
}

void run_fixture_step(const struct run_plan *plan, uint32_t process, uint32_t rank, uint32_t step,
		      uint32_t *id)
{
	uint64_t now_ns = 1000000000ull + step * (50000000ull + plan->more_host_ns);
	struct job_kernel kernel = {.stack = "train.py:main", .tid = 1};

	if (!plan->with_lone_ranks) {
		struct collective call = job_all_reduce(1, step + 1, 0, now_ns, 1000);

		job_call(process, &call);
	}
	for (uint32_t i = 0; i < 1 + plan->more + plan->grown; i++) {
		kernel.name = "planted";
		kernel.stack = i > plan->more ? "train.py:optimizer:22" : "train.py:main";
		kernel.correlation_id = ++*id;
		kernel.start_ns = now_ns += 1000000;
		kernel.ns = varied(step, rank, 100000) + plan->planted_ns + plan->run_ns;
		job_kernel(process, &kernel);
	}
	kernel.stack = "train.py:main";
	kernel.name = plan->renamed ? plan->renamed : "gemm";
	kernel.correlation_id = ++*id;
	kernel.start_ns = now_ns + 1000000;
	kernel.ns = varied(step, rank, 900000) + 9 * plan->run_ns;
	job_kernel(process, &kernel);
	for (uint32_t i = 0; i < plan->others; i++) {
		static const char *const names[] = {"k0", "k1", "k2", "k3"};

		kernel.name = names[i];
		kernel.correlation_id = ++*id;
		kernel.start_ns += 2000000;
		kernel.ns = varied(step, rank + i, 1000000) + 1000 * plan->slower;
		job_kernel(process, &kernel);
	}
	for (uint32_t i = 0; i < plan->burst; i++) {
		kernel.name = "burst";
		kernel.correlation_id = ++*id;
		kernel.start_ns = now_ns + 4000000 + i * (42000000ull / plan->burst);
		kernel.ns = varied(step, rank + i, 20000);
		job_kernel(process, &kernel);
	}
}

/* Each rank has launch configurations, as real ones have. */
static void mark(struct profile *profile, const uint32_t *processes, uint32_t ranks, uint32_t marks)
{
	const struct message_api_call call = {
		.domain = DEFINITION_STEP_DOMAIN, .cbid = DEFINITION_STEP_CBID, .count = marks};
	const struct message_kernel_config config = {.count = 1};

	for (uint32_t i = 0; i < ranks; i++) {
		struct roster_process *process =
			roster_process(profile->collection->roster, processes[i]);

		if (!process->statistics)
			process->statistics = statistics_table_create();
		assert_int_equal(statistics_table_put_config(process->statistics, &config), 0);
		if (i == 0)
			assert_int_equal(statistics_table_put_call(process->statistics, &call), 0);
	}
}

void run_fixture_play(const struct run_plan *plan)
{
	const uint32_t ranks = plan->ranks ? plan->ranks : RUN_FIXTURE_RANKS;
	uint32_t processes[8], ids[8] = {0};
	struct report_tree *tree;
	void *state = NULL;
	char *error;

	assert_int_equal(job_set_up(&state), 0);
	for (uint32_t i = 0; i < ranks; i++) {
		processes[i] = job_process((int32_t)i);
		if (!plan->with_lone_ranks)
			job_communicator(processes[i], 1, 0xfeed, i, ranks);
	}
	for (uint32_t step = 0; step < (plan->steps ? plan->steps : RUN_FIXTURE_STEPS); step++)
		for (uint32_t i = 0; i < ranks; i++)
			run_fixture_step(plan, processes[i], i, step, &ids[i]);
	job_commit();
	struct profile *profile = job_profile();
	if (plan->marks)
		mark(profile, processes, ranks, plan->marks);
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	assert_int_equal(run_work_create(profile, tree, job_path(),
					 &run_fixture.runs[run_fixture.nr_runs++], &error),
			 0);
	report_tree_destroy(tree);
	profile_destroy(profile);
	job_tear_down(&state);
	run_fixture.runs[run_fixture.nr_runs - 1]->lossy = false;
}

const struct check_question *run_fixture_question(uint32_t nr_before)
{
	static struct check_question question;

	question = (struct check_question){(const struct run_work *const *)run_fixture.runs,
					   nr_before, run_fixture.nr_runs - nr_before, 0.01, 0.05};
	return &question;
}

void run_fixture_check(uint32_t nr_before)
{
	char *error;

	assert_int_equal(
		run_check_create(run_fixture_question(nr_before), &run_fixture.result, &error), 0);
}

const struct check_row *run_fixture_row(const char *name)
{
	for (uint32_t i = 0; i < run_fixture.result->nr_rows; i++)
		if (strcmp(run_fixture.result->rows[i].name, name) == 0)
			return &run_fixture.result->rows[i];
	fail_msg("no row of %s", name);
	return NULL;
}

static char *text_of(enum check_format format)
{
	const char *const labels[] = {"old", "new"};
	const struct check_report report = {run_fixture.result, run_fixture_question(1), labels};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(check_writer_write(out, &report, format, NULL), 0);
	fclose(out);
	return text;
}

void run_fixture_assert_has(enum check_format format, const char *part)
{
	char *text = text_of(format);

	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
	free(text);
}

void run_fixture_assert_lacks(enum check_format format, const char *part)
{
	char *text = text_of(format);

	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
	free(text);
}

int run_fixture_forget(void **state)
{
	(void)state;
	run_check_destroy(run_fixture.result);
	run_fixture.result = NULL;
	while (run_fixture.nr_runs)
		run_work_destroy(run_fixture.runs[--run_fixture.nr_runs]);
	return 0;
}

#include "findings_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/memory_kind.h"

/* It works for most of the time, and waits in a loader for a moment. */
static void a_moment_in_a_loader_is_not_told_as_the_reason(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:main:12",
			    "[Off-CPU]gpu", "[GPU1_Idle]", 1, 5, 390 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:main:12",
			    "dataloader:_next_data", "[GPU1_Idle]", 1, 5, 1000);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding(
		"idle_gpus",
		"GPU 1 on node0 is idle 41 %: rank 1 waits for the GPU in train.py:main:12", NULL);
}

static void an_idle_gpu_is_found_with_its_loader(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
				"410.000 ms idle; nothing of the host was recorded");
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:other:1", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 20 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:fetch_batch:30",
			    "[Off-CPU]futex", "[GPU1_Idle]", 1, 100, 390 * MS);
	/* another GPU's */
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:other:1", "[CPU]",
			    "[GPU0_Idle]", 0, 5, 900 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
				"(train.py:fetch_batch:30)",
				"410.000 ms idle, 95 % of it there");
}

static void the_cure_for_what_was_not_recorded_names_the_rights(void **state)
{
	struct findings *findings;

	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	assert_non_null(strstr(findings->findings[0].cure, "sudo flamegrid run --cpu-hz 99"));
	assert_non_null(strstr(findings->findings[0].cure, "CAP_BPF and CAP_PERFMON"));
	findings_destroy(findings);
}

static const char *cure(void)
{
	struct findings *findings;

	assert_int_equal(findings_create(&findings_run.input, &findings), 0);
	assert_int_equal(findings->nr_findings, 1);
	const char *of = findings->findings[0].cure; /* static storage */
	findings_destroy(findings);
	return of;
}

static void waits_that_were_recorded_are_told_and_shown(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_SYNC, "train.py:loss:24",
			    "cudaStreamSynchronize", "[GPU1_Sync]stream", 1, 8, 400 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
				"410.000 ms idle; of the host only its waits for the GPU were "
				"recorded");
	assert_non_null(strstr(cure(), "report PROFILE --planes sync"));
	assert_null(strstr(cure(), "--record sync"));
}

/* 300 of 410 ms; 40 ms of these are not in the plane at all. */
/* The whole may have all of the host, so to record it again would be in vain. */
static void of_a_part_of_a_profile_the_whole_tells(void **state)
{
	(void)state;
	findings_run.work.tree.is_part = true;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
				"410.000 ms idle; a part of a profile has nothing of the host");
	assert_int_equal(strncmp(cure(), "flamegrid report WHOLE, ", 24), 0);
	assert_null(strstr(cure(), "flamegrid run"));
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_SYNC, "train.py:loss:24",
			    "cudaStreamSynchronize", "[GPU1_Sync]stream", 1, 8, 400 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
				"410.000 ms idle; a part of a profile has of the host only its "
				"waits for the GPU");
	assert_non_null(strstr(cure(), "--planes sync -f folded"));
	assert_non_null(strstr(cure(), "flamegrid report WHOLE, "));
	assert_null(strstr(cure(), "flamegrid run"));
}

static void idle_time_without_a_reason_is_told_with_what_to_record(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:save:1", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 110 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "[unknown]", NULL, "[GPU1_Idle]",
			    1, 5, 260 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %, most in train.py:save:1 (27 %)",
				"410.000 ms idle; of 73 % no sample tells why");
	assert_non_null(strstr(cure(), "run --cpu-hz 999 --off-cpu 100us"));
}

static void idle_time_off_the_cpu_is_told_with_what_to_record(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:save:1", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 164 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "[not on a CPU]", NULL,
			    "[GPU1_Idle]", 1, 5, 205 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding(
		"idle_gpus", NULL,
		"410.000 ms idle; of 10 % no sample tells why; for 50 % no wait was "
		"recorded");
	assert_non_null(strstr(cure(), "run --off-cpu 1ms"));
}

static void plant_loader(const char *outer, const char *inner)
{
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:main:9", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 20 * MS);
	findings_plant_below(
		&findings_run.hosts,
		findings_plant_node(&findings_run.hosts,
				    findings_plant_node(&findings_run.hosts, REPORT_NODE_ROOT,
							"train.py:main:12"),
				    outer),
		REPORT_KIND_IDLE, inner, "[Off-CPU]futex", "[GPU1_Idle]", 1, 100, 390 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
}

static void a_loader_that_is_a_helper_is_told_with_its_caller(void **state)
{
	(void)state;
	plant_loader("train.py:fetch_batch:30", "[native code]");
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
				"(train.py:main:12 > train.py:fetch_batch:30)",
				"410.000 ms idle, 95 % of it there");
}

static void a_loader_is_told_with_the_line_that_waits_in_it(void **state)
{
	(void)state;
	plant_loader("train.py:fetch_batch:30", "io.py:read:3");
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
				"(train.py:fetch_batch:30 > io.py:read:3)",
				"410.000 ms idle, 95 % of it there");
}

static void a_frameworks_loader_is_told_with_the_line_that_calls_it(void **state)
{
	uint32_t frameworks[FINDINGS_NAMES_MAX] = {0};

	(void)state;
	plant_loader("dataloader.py:__next__:9", "dataloader.py:_next_data:20");
	for (uint32_t i = 0; i < findings_run.hosts.tree.nr_strings; i++)
		frameworks[i] = strncmp(findings_run.hosts.strings[i], "dataloader", 10) == 0;
	findings_run.hosts.tree.frameworks = frameworks;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: rank 1 waits in its loader "
				"(train.py:main:12 > dataloader.py:_next_data:20)",
				"410.000 ms idle, 95 % of it there");
	findings_run.hosts.tree.frameworks = NULL;
}

static void an_idle_gpu_that_no_line_explains_is_told_with_several(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:load:1", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 200 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:save:2", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 190 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %, most in train.py:load:1 (49 %), "
				"train.py:save:2 (46 %)",
				"410.000 ms idle");
}

static void further_lines_of_much_idle_time_are_told_beside_the_first(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:load:1", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 250 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:loss:2", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 70 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:log:3", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 40 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: rank 1 works in train.py:load:1",
				"410.000 ms idle, 61 % of it there, 17 % in train.py:loss:2; "
				"of 12 % no sample tells why");
}

static void lines_of_a_loader_are_told_together(void **state)
{
	(void)state;
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:next_batch:69",
			    "[CPU]", "[GPU1_Idle]", 1, 5, 150 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:next_batch:70",
			    "[CPU]", "[GPU1_Idle]", 1, 5, 140 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 41 %: the data loader, most in "
				"train.py:next_batch:69 (37 %), train.py:next_batch:70 (34 %)",
				"410.000 ms idle; of 29 % no sample tells why");
}

static void pauses_are_left_out(void **state)
{
	(void)state;
	findings_plant_gpu(1, 500 * MS, 1500 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:main:1", "[CPU]",
			    "[GPU1_Idle]pause", 1, 1, 1300 * MS);
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:save:2", "[CPU]",
			    "[GPU1_Idle]", 1, 5, 150 * MS);
	findings_run.input.hosts = &findings_run.hosts.tree;
	findings_assert_finding("idle_gpus",
				"GPU 1 on node0 is idle 29 %: rank 1 works in train.py:save:2",
				"200.000 ms idle, 75 % of it there; of 25 % no sample "
				"tells why; without pauses of 1.300 s");
	findings_plant_leaf(&findings_run.hosts, REPORT_KIND_IDLE, "train.py:main:1", "[CPU]",
			    "[GPU1_Idle]pause", 1, 1, 100 * MS);
	findings_assert_none();
}

static void gpus_that_idle_alike_are_one_finding(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++)
		findings_plant_gpu(i, 700 * MS - i * MS * 10, 300 * MS + i * MS * 10);
	findings_plant_gpu(8, 950 * MS, 50 * MS);
	findings_run.gpus.nr_rows = findings_run.ranks.nr_rows = 9;
	findings_assert_finding("idle_gpus", "8 of 9 GPUs are idle 30 to 37 %",
				"2.680 s idle, added up; nothing of the host was recorded");
}

static void plant_windows(void)
{
	findings_plant_gpu(1, 590 * MS, 410 * MS);
	findings_run.work.loss = (struct report_loss){
		.reason = findings_plant_string(&findings_run.work, "capture_window"), .count = 3};
	findings_run.work.tree.losses = &findings_run.work.loss;
	findings_run.work.tree.nr_losses = 1;
}

/* As in profiles of earlier versions. */
static void idle_time_that_may_be_between_capture_windows_is_none(void **state)
{
	(void)state;
	plant_windows();
	findings_assert_none();
}

static void idle_time_within_capture_windows_is_told(void **state)
{
	(void)state;
	plant_windows();
	findings_run.busy[1].uncaptured_ns = 5000 * MS;
	findings_assert_finding("idle_gpus", "GPU 1 on node0 is idle 41 %",
				"410.000 ms idle; nothing of the host was recorded");
}

#define TEST(name) cmocka_unit_test_setup(name, findings_set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_moment_in_a_loader_is_not_told_as_the_reason),
		TEST(an_idle_gpu_is_found_with_its_loader),
		TEST(the_cure_for_what_was_not_recorded_names_the_rights),
		TEST(waits_that_were_recorded_are_told_and_shown),
		TEST(of_a_part_of_a_profile_the_whole_tells),
		TEST(idle_time_without_a_reason_is_told_with_what_to_record),
		TEST(idle_time_off_the_cpu_is_told_with_what_to_record),
		TEST(a_loader_that_is_a_helper_is_told_with_its_caller),
		TEST(a_loader_is_told_with_the_line_that_waits_in_it),
		TEST(a_frameworks_loader_is_told_with_the_line_that_calls_it),
		TEST(an_idle_gpu_that_no_line_explains_is_told_with_several),
		TEST(further_lines_of_much_idle_time_are_told_beside_the_first),
		TEST(lines_of_a_loader_are_told_together),
		TEST(pauses_are_left_out),
		TEST(gpus_that_idle_alike_are_one_finding),
		TEST(idle_time_that_may_be_between_capture_windows_is_none),
		TEST(idle_time_within_capture_windows_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "report/digest/gpu_rows.h"
#include "report/digest/host_lines.h"
#include "report/digest/marked_steps.h"
#include "report/digest/metric_callers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/metrics/report_metrics.h"
#include "report/writers/busy_writer.h"

#define MS   1000000ull
#define GPUS 64u

/* ---- lines */

static const char *const strings[] = {
	"",
	"train.py:step:12",
	"torch/nn/linear.py:forward:1",
	"[NVTX]step",
	"cudaLaunchKernel",
	"ncclAllReduce",
	"[GPU0_Kernel]gemm",
	"train.py:load:88",
	"cuMemcpyHtoDAsync_v2",
	"[GPU0_Memcpy]HtoD",
};
static const uint32_t frameworks[] = {0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
/* root; step > linear > [NVTX] > cudaLaunchKernel; linear > ncclAllReduce; load > cuMemcpy; linear alone */
static const struct report_node nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4},
					   {2, 5}, {0, 7}, {6, 8}, {0, 2}};

static struct report_leaf leaf(uint32_t node, uint32_t name, uint32_t kind, uint64_t ns)
{
	return (struct report_leaf){.node = node, .name = name, .kind = kind, .count = 1, .ns = ns};
}

static void the_innermost_frame_of_the_program_is_the_line(void **state)
{
	const struct report_leaf leaves[] = {
		leaf(4, 6, REPORT_KIND_KERNEL, 100), leaf(5, 6, REPORT_KIND_KERNEL, 10),
		leaf(7, 9, REPORT_KIND_MEMCPY, 500), leaf(8, 6, REPORT_KIND_KERNEL, 7),
		leaf(7, 9, REPORT_KIND_SYNC, 9999),
	};
	const struct report_tree tree = {.strings = strings,
					 .nr_strings = 10,
					 .frameworks = frameworks,
					 .nodes = nodes,
					 .nr_nodes = 9,
					 .leaves = leaves,
					 .nr_leaves = 5};
	struct host_lines lines;

	(void)state;
	assert_int_equal(host_lines_init(&lines, &tree, REPORT_PLANE_GPU, NULL, NULL), 0);
	assert_int_equal(lines.nr_lines, 2);
	assert_string_equal(strings[lines.lines[0].name], "train.py:load:88");
	assert_int_equal(lines.lines[0].ns, 500);
	assert_string_equal(strings[lines.lines[1].name], "train.py:step:12");
	assert_int_equal(lines.lines[1].ns, 110);
	assert_int_equal(lines.lines[1].count, 2);
	assert_int_equal(lines.ns, 617); /* with the framework's own */
	host_lines_fini(&lines);
}

/* A helper that launches everything, beneath as many frameworks' frames as PyTorch's modules and dispatcher have. */
static const char *const deep_strings[] = {
	"",
	"train.py:main:120",
	"train.py:step:88",
	"train.py:warm_up:40",
	"model.py:attention:12",
	"model.py:mlp:30",
	"torch/nn/modules/module.py:Module._call_impl:1501",
	"ops.py:launch:7",
	"torch/_ops.py:OpOverload.__call__:730",
	"cudaLaunchKernel",
	"[GPU0_Kernel]gemm",
	"model.py:tail:50",
	"model.py:attention:13",
	"ops.py:launch:8",
	"read_file",
	"ksys_read_[k]",
	"libcuda.so.580+0x1f",
};
static const uint32_t deep_frameworks[] = {0, 0, 0, 0, 0, 0, 6, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0};
#define DEEP_STRINGS 17u

static struct report_node deep[512];
static uint32_t nr_deep;
static struct report_leaf deep_leaves[8];
static uint32_t nr_deep_leaves;

/* Adds a leaf beneath these frames of the program, outermost first, 0 ends them. Some 20 frameworks' frames are between
 * two of them. */
static void launch(uint64_t ns, const uint32_t *path)
{
	uint32_t at = REPORT_NODE_ROOT;

	nr_deep = nr_deep ? nr_deep : 1;
	for (; *path; path++) {
		deep[nr_deep] = (struct report_node){at, *path};
		at = nr_deep++;
		for (uint32_t i = 0; i < 20; i++) {
			deep[nr_deep] = (struct report_node){at, i % 2 ? 6 : 8};
			at = nr_deep++;
		}
	}
	deep[nr_deep] = (struct report_node){at, 9};
	deep_leaves[nr_deep_leaves++] = leaf(nr_deep++, 10, REPORT_KIND_KERNEL, ns);
}

#define LAUNCH(ns, ...) launch(ns, (const uint32_t[]){__VA_ARGS__, 0})

/* Returns the rows as "time text" lines, and forgets the leaves. */
static const char *divided(void)
{
	static char text[512];
	const struct report_tree tree = {.strings = deep_strings,
					 .nr_strings = DEEP_STRINGS,
					 .frameworks = deep_frameworks,
					 .nodes = deep,
					 .nr_nodes = nr_deep,
					 .leaves = deep_leaves,
					 .nr_leaves = nr_deep_leaves};
	struct host_lines lines;
	size_t size = 0;

	assert_int_equal(host_lines_init_divided(&lines, &tree, REPORT_PLANE_GPU, NULL, NULL), 0);
	text[0] = '\0';
	for (uint32_t i = 0; i < lines.nr_lines; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%d %s\n",
					 (int)lines.lines[i].ns, lines.lines[i].text);
	host_lines_fini(&lines);
	nr_deep = nr_deep_leaves = 0;
	return text;
}

static void a_helper_that_launches_most_is_divided_by_its_callers(void **state)
{
	(void)state;
	LAUNCH(40, 1, 2, 4, 7);
	LAUNCH(30, 1, 2, 5, 7);
	LAUNCH(5, 1, 3, 4, 7);
	LAUNCH(20, 1, 2, 11);
	assert_string_equal(divided(), "45 model.py:attention:12 > ops.py:launch:7\n"
				       "30 model.py:mlp:30 > ops.py:launch:7\n"
				       "20 model.py:tail:50\n");
}

/* A range from one of these launches, and a kernel twice from one line. */
static void measured_rows_are_named_as_lines_are(void **state)
{
	LAUNCH(40, 1, 2, 4, 7);
	LAUNCH(30, 1, 2, 5, 7);
	LAUNCH(20, 1, 2, 11);
	LAUNCH(5, 1, 3, 11);
	struct report_metric_row rows[] = {
		{.node = deep_leaves[0].node, .kernel = "gemm"},
		{.node = deep_leaves[1].node, .kernel = "gemm"},
		{.node = deep_leaves[1].node, .kernel = "step", .is_range = true},
		{.node = deep_leaves[2].node, .kernel = "tail"},
		{.node = deep_leaves[3].node, .kernel = "tail"},
		{.kernel = "of no stack"},
		{.node = deep_leaves[2].node, .kernel = "tail"}, /* on another GPU */
		{.node = deep_leaves[3].node, .kernel = "tail"},
	};
	const struct report_metrics metrics = {.rows = rows, .nr_rows = 8};
	struct report_tree tree = {.strings = deep_strings,
				   .nr_strings = DEEP_STRINGS,
				   .frameworks = deep_frameworks,
				   .nodes = deep,
				   .nr_nodes = nr_deep,
				   .leaves = deep_leaves,
				   .nr_leaves = nr_deep_leaves,
				   .metrics = &metrics};
	struct metric_callers callers;

	(void)state;
	assert_int_equal(metric_callers_init(&callers, &tree), 0);
	assert_int_equal(callers.nr, 8);
	assert_string_equal(callers.texts[0], "model.py:attention:12 > ops.py:launch:7");
	assert_string_equal(callers.texts[1], "model.py:mlp:30 > ops.py:launch:7");
	assert_string_equal(callers.texts[2], "model.py:mlp:30 > ops.py:launch:7");
	assert_string_equal(callers.texts[3], "train.py:step:88 > … > model.py:tail:50");
	assert_string_equal(callers.texts[4], "train.py:warm_up:40 > … > model.py:tail:50");
	assert_string_equal(callers.texts[5], "");
	assert_string_equal(callers.texts[6], callers.texts[3]);
	assert_string_equal(callers.texts[7], callers.texts[4]);
	metric_callers_fini(&callers);
	tree.metrics = NULL;
	assert_int_equal(metric_callers_init(&callers, &tree), 0);
	assert_int_equal(callers.nr, 0);
	metric_callers_fini(&callers);
	nr_deep = nr_deep_leaves = 0;
}

static void a_part_that_still_has_most_goes_on_outward(void **state)
{
	(void)state;
	/* mlp calls for 85, of which step has 45 and warm_up 40 */
	LAUNCH(45, 1, 2, 5, 7);
	LAUNCH(40, 1, 3, 5, 7);
	LAUNCH(15, 1, 2, 4, 7);
	assert_string_equal(divided(), "45 train.py:step:88 > ops.py:launch:7\n"
				       "40 train.py:warm_up:40 > ops.py:launch:7\n"
				       "15 model.py:attention:12 > ops.py:launch:7\n");
	/* Nothing further out divides the 80: its nearest caller does. */
	LAUNCH(80, 1, 2, 5, 7);
	LAUNCH(20, 1, 2, 4, 7);
	assert_string_equal(divided(), "80 model.py:mlp:30 > ops.py:launch:7\n"
				       "20 model.py:attention:12 > ops.py:launch:7\n");
	/* A wrapper with one caller divides nothing. */
	LAUNCH(45, 1, 2, 5, 7);
	LAUNCH(55, 1, 3, 5, 7);
	assert_string_equal(divided(), "55 train.py:warm_up:40 > ops.py:launch:7\n"
				       "45 train.py:step:88 > ops.py:launch:7\n");
}

static void a_line_with_one_caller_or_half_of_the_time_stays_whole(void **state)
{
	(void)state;
	LAUNCH(80, 1, 2);
	LAUNCH(20, 1, 3);
	assert_string_equal(divided(), "80 train.py:step:88\n20 train.py:warm_up:40\n");
	LAUNCH(30, 1, 4, 7);
	LAUNCH(20, 1, 5, 7);
	LAUNCH(50, 1, 11);
	assert_string_equal(divided(), "50 model.py:tail:50\n50 ops.py:launch:7\n");
	LAUNCH(60, 1, 7, 7, 7); /* it calls itself */
	LAUNCH(40, 7);
	assert_string_equal(divided(), "60 train.py:main:120 > ops.py:launch:7\n"
				       "40 ops.py:launch:7\n");
	assert_string_equal(divided(), "");
}

static void a_helper_with_one_caller_is_told_with_that_line(void **state)
{
	(void)state;
	/* "model.py:attention:12" has another line of its function beside it, as most callers have. */
	LAUNCH(30, 1, 4, 7);
	LAUNCH(70, 1, 12);
	assert_string_equal(divided(), "70 model.py:attention:13\n"
				       "30 model.py:attention:12 > ops.py:launch:7\n");
	/* A helper of a helper is told with the line that calls both. */
	LAUNCH(30, 1, 4, 5, 7);
	LAUNCH(70, 1, 12);
	assert_string_equal(divided(), "70 model.py:attention:13\n"
				       "30 model.py:attention:12 > ops.py:launch:7\n");
	/* A second line of little time makes it no less of a helper, one of much does. */
	LAUNCH(30, 1, 4, 7);
	LAUNCH(1, 1, 4, 13);
	LAUNCH(69, 1, 12);
	assert_string_equal(divided(), "69 model.py:attention:13\n"
				       "30 model.py:attention:12 > ops.py:launch:7\n"
				       "1 ops.py:launch:8\n");
	LAUNCH(20, 1, 4, 7);
	LAUNCH(10, 1, 4, 13);
	LAUNCH(70, 1, 12);
	assert_string_equal(divided(), "70 model.py:attention:13\n"
				       "20 ops.py:launch:7\n"
				       "10 ops.py:launch:8\n");
}

static void lines_come_before_functions_without_and_before_the_kernels(void **state)
{
	(void)state;
	LAUNCH(60, 1, 14, 15, 16);
	LAUNCH(40, 14, 15, 16);
	assert_string_equal(divided(), "60 train.py:main:120\n40 read_file\n");
}

/* ---- GPUs */

static struct report_busy_row busy_rows[GPUS];
static struct report_busy busy = {.rows = busy_rows};

/* The same rule frame by frame, as a timeline's stacks are walked: a native helper is not the user's line. */
static void a_stack_is_walked_to_the_innermost_line(void **state)
{
	static const char *const frames[] = {"[Off-CPU]futex", "nanosleep_[k]", "helper_wait",
					     "train.py:load:12", "train.py:main:3"};
	struct host_frame frame = {0}, none = {0};
	uint32_t taken = 0;

	(void)state;
	while (host_lines_take(&frame, taken, frames[taken]))
		taken++;
	assert_int_equal(taken, 3);
	assert_int_equal(frame.node, 3);
	frame = none;
	for (uint32_t i = 0; i < 3; i++)
		assert_true(host_lines_take(&frame, i, frames[i]));
	assert_int_equal(frame.node, 2); /* nothing has a line */
	assert_true(host_lines_take(&none, 1, "[CPU]"));
	assert_false(none.is_found);
}

static void make_gpus(uint32_t nr)
{
	memset(busy_rows, 0, sizeof(busy_rows));
	busy.nr_rows = nr;
	for (uint32_t i = 0; i < nr; i++)
		busy_rows[i] = (struct report_busy_row){.host = "node0",
							.device_name = "",
							.gpu = (int32_t)i,
							.whole_device = 1,
							.nr_parts = 1,
							.records = 10,
							.busy_ns = 900 * MS,
							.idle_ns = 100 * MS};
}

static void few_gpus_are_rows_of_their_own(void **state)
{
	struct gpu_rows rows;

	(void)state;
	make_gpus(GPU_ROWS_APART);
	assert_int_equal(gpu_rows_init(&rows, &busy, NULL), 0);
	assert_int_equal(rows.nr_rows, GPU_ROWS_APART);
	assert_int_equal(rows.nr_alike, 0);
	gpu_rows_fini(&rows);
}

static void of_many_gpus_those_that_differ_stay_apart(void **state)
{
	struct gpu_rows rows;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	make_gpus(GPUS);
	busy_rows[7].busy_ns = 500 * MS;
	busy_rows[7].idle_ns = 500 * MS;
	busy_rows[9].busy_ns = 870 * MS; /* 3 points from the median */
	busy_rows[9].idle_ns = 130 * MS;
	busy_rows[11].busy_ns = 885 * MS; /* 1.5 points */
	busy_rows[11].idle_ns = 115 * MS;
	assert_int_equal(gpu_rows_init(&rows, &busy, NULL), 0);
	assert_int_equal(rows.nr_alike, GPUS - 2);
	assert_int_equal(busy_writer_gpus(out, &rows, NULL, 1), 0);
	fclose(out);
	assert_string_equal(
		text,
		"\n          busy   share           idle        overlap        records  device\n"
		"      55.785 s  89.98%        6.215 s           0 ns            620  62 GPUs "
		"alike, "
		"added up\n"
		"    500.000 ms  50.00%     500.000 ms           0 ns             10  node0 GPU7\n"
		"               1 more\n");
	free(text);
	gpu_rows_fini(&rows);
}

static void the_share_of_nccl_comes_from_the_ranks(void **state)
{
	struct report_ranks_row of[] = {
		{.host = "node0", .gpu = 1, .rank = 5, .nccl_busy_ns = 200 * MS},
		{.host = "node1", .gpu = 1, .rank = 6, .nccl_busy_ns = 700 * MS},
	};
	const struct report_ranks ranks = {.rows = of, .nr_rows = 2};
	struct gpu_rows rows;

	(void)state;
	make_gpus(2);
	assert_int_equal(gpu_rows_init(&rows, &busy, &ranks), 0);
	assert_true(rows.has_nccl);
	assert_int_equal(rows.rows[0].nccl_ns, 0);
	assert_int_equal(rows.rows[0].rank, REPORT_RANK_NONE);
	assert_int_equal(rows.rows[1].nccl_ns, 200 * MS);
	assert_int_equal(rows.rows[1].rank, 5);
	gpu_rows_fini(&rows);
}

static void a_gpu_with_a_slower_clock_stays_apart(void **state)
{
	struct gpu_rows rows;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	make_gpus(10);
	for (uint32_t i = 0; i < 10; i++)
		busy_rows[i].telemetry = (struct device_telemetry){
			.clock_ns = 1000 * MS,
			.sm_cycles = 1980000000,
			.reason_ns = {[TELEMETRY_FREE] = 1000 * MS},
			.energy_ns = 1000 * MS,
			.energy_mj = 500500,
		};
	busy_rows[7].telemetry.sm_cycles = 1410000000;
	busy_rows[7].telemetry.reason_ns[TELEMETRY_FREE] = 380 * MS;
	busy_rows[7].telemetry.reason_ns[TELEMETRY_SW_POWER_CAP] = 620 * MS;
	assert_int_equal(gpu_rows_init(&rows, &busy, NULL), 0);
	assert_int_equal(rows.nr_alike, 9);
	assert_int_equal(busy_writer_gpus(out, &rows, NULL, 1), 0);
	fclose(out);
	assert_string_equal(
		text, "\n          busy   share           idle        overlap        records SM MHz"
		      "  held down by     power     energy  device\n"
		      "       8.100 s  90.00%     900.000 ms           0 ns             90   1980"
		      "  nothing              -   4504.5 J  9 GPUs alike, added up\n"
		      "    900.000 ms  90.00%     100.000 ms           0 ns             10   1410"
		      "  power cap 62.0%      -    500.5 J  node0 GPU7\n");
	free(text);
	gpu_rows_fini(&rows);
}

/* ---- marked steps */

static void a_step_takes_its_part_of_the_gpus_windows_without_pauses(void **state)
{
	const struct report_loss windows = {.reason = 0, .count = 3};
	const char *const names[] = {"capture_window"};
	struct report_statistics statistics = {
		.marked_steps = 100, .least_marked = 100, .all_marked = 200, .nr_marking = 2};
	struct report_tree marked = {.pause_ns = 400 * MS, .strings = names};

	(void)state;
	make_gpus(2); /* 1,000 ms each */
	struct marked_steps steps = marked_steps_of(&marked, &busy, &statistics);
	assert_int_equal(steps.count, 100);
	assert_int_equal(steps.mean_ns, 8 * MS);
	busy_rows[1].late = 1;
	assert_int_equal(marked_steps_of(&marked, &busy, &statistics).mean_ns, 0);
	busy_rows[1].late = 0;
	/* Killed: the last steps may be missing. */
	statistics.is_marking_cut = true;
	assert_int_equal(marked_steps_of(&marked, &busy, &statistics).mean_ns, 0);
	assert_int_equal(marked_steps_of(&marked, &busy, &statistics).count, 100);
	statistics.is_marking_cut = false;

	marked.losses = &windows;
	marked.nr_losses = 1;
	steps = marked_steps_of(&marked, &busy, &statistics);
	assert_int_equal(steps.count, 100);
	assert_int_equal(steps.mean_ns, 0);
	assert_int_equal(marked_steps_of(&marked, &busy, NULL).count, 0);
	statistics.marked_steps = 0;
	assert_int_equal(marked_steps_of(&marked, &busy, &statistics).count, 0);
}

static void a_step_of_merged_runs_takes_its_part_of_all_windows(void **state)
{
	/* Two runs on one GPU, 300 ms of 20 steps and 700 ms of 80: the sums are those of report_busy.c. */
	const struct report_statistics statistics = {
		.marked_steps = 80, .least_marked = 20, .all_marked = 100, .nr_marking = 2};
	struct report_tree merged = {.nr_processes = 2};

	(void)state;
	make_gpus(1);
	busy_rows[0].nr_parts = 2;
	const struct marked_steps steps = marked_steps_of(&merged, &busy, &statistics);
	assert_int_equal(steps.mean_ns, 10 * MS);
	assert_int_equal(steps.count, 80);
	assert_int_equal(steps.least, 20);
	assert_int_equal(marked_steps_window_ns(&merged, &busy), 500 * MS);
	merged.nr_processes = 3; /* the third marks none */
	assert_int_equal(marked_steps_of(&merged, &busy, &statistics).mean_ns, 0);
	assert_int_equal(marked_steps_of(&merged, &busy, &statistics).count, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_frame_of_the_program_is_the_line),
		cmocka_unit_test(a_helper_that_launches_most_is_divided_by_its_callers),
		cmocka_unit_test(measured_rows_are_named_as_lines_are),
		cmocka_unit_test(a_part_that_still_has_most_goes_on_outward),
		cmocka_unit_test(a_line_with_one_caller_or_half_of_the_time_stays_whole),
		cmocka_unit_test(a_helper_with_one_caller_is_told_with_that_line),
		cmocka_unit_test(lines_come_before_functions_without_and_before_the_kernels),
		cmocka_unit_test(a_stack_is_walked_to_the_innermost_line),
		cmocka_unit_test(few_gpus_are_rows_of_their_own),
		cmocka_unit_test(of_many_gpus_those_that_differ_stay_apart),
		cmocka_unit_test(the_share_of_nccl_comes_from_the_ranks),
		cmocka_unit_test(a_gpu_with_a_slower_clock_stays_apart),
		cmocka_unit_test(a_step_takes_its_part_of_the_gpus_windows_without_pauses),
		cmocka_unit_test(a_step_of_merged_runs_takes_its_part_of_all_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

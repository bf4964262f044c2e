#include "report/digest/gpu_rows.h"
#include "report/digest/host_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

/* ---- GPUs */

static struct report_busy_row busy_rows[GPUS];
static struct report_busy busy = {.rows = busy_rows};

static void make_gpus(uint32_t nr)
{
	memset(busy_rows, 0, sizeof(busy_rows));
	busy.nr_rows = nr;
	for (uint32_t i = 0; i < nr; i++)
		busy_rows[i] = (struct report_busy_row){.host = "node0",
							.device_name = "",
							.gpu = (int32_t)i,
							.whole_device = 1,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_frame_of_the_program_is_the_line),
		cmocka_unit_test(few_gpus_are_rows_of_their_own),
		cmocka_unit_test(of_many_gpus_those_that_differ_stay_apart),
		cmocka_unit_test(the_share_of_nccl_comes_from_the_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

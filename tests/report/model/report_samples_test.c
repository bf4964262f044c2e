/* Samples of host threads in reports: planes of their own, of no GPU. */
#include "report/model/report_samples.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_busy.h"
#include "report/model/report_summary.h"
#include "report/writers/csv_writer.h"
#include "report/writers/json_writer.h"
#include "report/writers/table_writer.h"
#include "report_fixture.h"

#define HOST_PLANES (1u << REPORT_PLANE_CPU | 1u << REPORT_PLANE_OFF_CPU | 1u << REPORT_PLANE_CALLS)

static void add(enum host_sample_kind kind, uint32_t tid, uint32_t stack_id, const char *name,
		uint64_t count, uint64_t ns)
{
	const struct fold_key key = {
		.process_id = report_fixture.process_id,
		.tid = tid,
		.stack_id = stack_id,
		.name_id = name ? report_fixture_string(name) : 0,
		.kind = (uint8_t)kind,
	};

	assert_int_equal(fold_table_add(report_fixture.collection->samples, &key, count, ns, 0), 0);
}

/* GPU work, and samples of two threads of the same program. */
static void fill(void)
{
	uint32_t step = report_fixture_stack("main", "step", NULL);
	uint32_t call = report_fixture_push(
		step, report_fixture_frame(report_fixture.runtime, 0x77, "cudaLaunchKernel"));

	report_fixture_add_row(report_fixture_key(step, "gemm"), 2, 1000, 0);
	add(HOST_SAMPLE_CPU, 500, step, NULL, 3, 30000000);
	add(HOST_SAMPLE_CPU, 501, 0, NULL, 1, 10000000);
	add(HOST_SAMPLE_OFF_CPU, 500, step, "futex", 2, 2000001);
	add(HOST_SAMPLE_OFF_CPU, 501, step, NULL, 1, 7);
	add(HOST_SAMPLE_CALL, 500, call, "cuLaunchKernel", 5, 25000);
	add(HOST_SAMPLE_CALL, 500, call, NULL, 1, 9);
}

static void build(uint32_t planes)
{
	report_fixture_build_with(&(struct report_options){.planes = planes});
}

static void assert_folded(uint32_t planes, const struct folded_options *options,
			  const char *expected)
{
	build(planes);
	report_fixture_assert_folded_with(options, expected);
}

static void each_plane_shows_its_own(void **state)
{
	const struct folded_options ns = {.unit = FOLDED_NS};

	(void)state;
	fill();
	assert_folded(0, &ns, "main;step;[GPU0_Kernel]gemm 1000\n");
	assert_folded(1u << REPORT_PLANE_CPU, &ns,
		      "[unknown stack];[CPU] 10000000\nmain;step;[CPU] 30000000\n");
	assert_folded(1u << REPORT_PLANE_OFF_CPU, &ns,
		      "main;step;[Off-CPU] 7\nmain;step;[Off-CPU]futex 2000001\n");
	assert_folded(1u << REPORT_PLANE_CALLS, &ns,
		      "main;step;cudaLaunchKernel;[GPU_Launch] 9\n"
		      "main;step;cudaLaunchKernel;[GPU_Launch]cuLaunchKernel 25000\n");
}

static void several_planes_are_lines_side_by_side(void **state)
{
	(void)state;
	fill();
	assert_folded(1u << REPORT_PLANE_GPU | HOST_PLANES,
		      &(struct folded_options){.unit = FOLDED_US},
		      "[unknown stack];[CPU] 10000\n"
		      "main;step;[CPU] 30000\n"
		      "main;step;[GPU0_Kernel]gemm 1\n"
		      "main;step;[Off-CPU] 0\n"
		      "main;step;[Off-CPU]futex 2000\n"
		      "main;step;cudaLaunchKernel;[GPU_Launch] 0\n"
		      "main;step;cudaLaunchKernel;[GPU_Launch]cuLaunchKernel 25\n");
	assert_folded(1u << REPORT_PLANE_GPU | 1u << REPORT_PLANE_CPU,
		      &(struct folded_options){.weight = FOLDED_COUNT},
		      "[unknown stack];[CPU] 1\n"
		      "main;step;[CPU] 3\n"
		      "main;step;[GPU0_Kernel]gemm 2\n");
}

static void threads_have_no_gpu_and_no_stream(void **state)
{
	struct folded_options options = {.unit = FOLDED_NS};

	(void)state;
	fill();
	assert_int_equal(report_by_parse("host,rank,gpu,stream,thread", &options.by), 0);
	assert_folded(1u << REPORT_PLANE_GPU | 1u << REPORT_PLANE_CPU, &options,
		      "node01;rank3;GPU0;stream7;thread1234;main;step;[GPU0_Kernel]gemm 1000\n"
		      "node01;rank3;no GPU;no stream;thread500;main;step;[CPU] 30000000\n"
		      "node01;rank3;no GPU;no stream;thread501;[unknown stack];[CPU] 10000000\n");
}

static void totals_are_a_planes_own_whatever_is_shown(void **state)
{
	static const uint64_t counts[REPORT_PLANES] = {
		[REPORT_PLANE_GPU] = 2,
		[REPORT_PLANE_CPU] = 4,
		[REPORT_PLANE_OFF_CPU] = 3,
		[REPORT_PLANE_CALLS] = 6,
	};
	static const uint64_t ns[REPORT_PLANES] = {
		[REPORT_PLANE_GPU] = 1000,
		[REPORT_PLANE_CPU] = 40000000,
		[REPORT_PLANE_OFF_CPU] = 2000008,
		[REPORT_PLANE_CALLS] = 25009,
	};
	const uint32_t shown[] = {0, HOST_PLANES, REPORT_PLANES_ALL};
	char line[REPORT_SUMMARY_SIZE];

	(void)state;
	fill();
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		build(shown[i]);
		for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
			assert_int_equal(report_fixture.tree->plane_totals[plane].count,
					 counts[plane]);
			assert_int_equal(report_fixture.tree->plane_totals[plane].ns, ns[plane]);
		}
		assert_string_equal(
			report_summary_line(report_fixture.tree, line, sizeof(line)),
			"2 kernels, 1.000 us of GPU time, 100.00 % matched; nothing lost");
	}
}

static char *table_of(uint32_t planes)
{
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(planes);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
	report_busy_destroy(busy);
	return text;
}

static void the_table_has_shares_of_each_plane_and_a_line_for_each(void **state)
{
	char *text;

	(void)state;
	fill();
	text = table_of(1u << REPORT_PLANE_OFF_CPU | 1u << REPORT_PLANE_CALLS);
	assert_string_equal(
		text,
		"          time    share          count        average  kind      name\n"
		"      2.000 ms > 99.99%              2       1.000 ms  off-cpu   futex\n"
		"     25.000 us   99.96%              5       5.000 us  call      cuLaunchKernel\n"
		"          9 ns    0.04%              1           9 ns  call      call\n"
		"          7 ns  < 0.01%              1           7 ns  off-cpu   off-cpu\n"
		"\n"
		"2 kernels, 1.000 us of GPU time, 100.00 % matched; nothing lost\n"
		"host threads on the CPU: 4 in 40.000 ms\n"
		"host threads off the CPU: 3 in 2.000 ms\n"
		"CUDA calls: 6 in 25.009 us\n"
		"several planes side by side, never to be added up: offcpu, calls\n");
	free(text);
}

static void json_and_csv_name_kind_and_plane(void **state)
{
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill();
	build(HOST_PLANES);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, NULL),
			 0);
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "{\"plane\":\"cpu\",\"count\":4,\"ns\":40000000,\"bytes\":0,"
				     "\"shown\":true}"));
	assert_non_null(strstr(text, "{\"plane\":\"calls\",\"count\":6,\"ns\":25009,"));
	assert_non_null(strstr(text, "\"gpu\":null,\"context\":0,\"stream\":0,\"tid\":500,"
				     "\"kind\":\"off-cpu\",\"count\":2,\"ns\":2000001,\"bytes\":0,"
				     "\"frames\":[\"main\",\"step\",\"[Off-CPU]futex\"],"
				     "\"plane\":\"offcpu\"}"));
	assert_non_null(strstr(text, "node01,3,100,,0,0,500,call,cuLaunchKernel,5,25000,0,"
				     "\"main;step;cudaLaunchKernel\",calls\n"));
	free(text);
	report_busy_destroy(busy);
}

static void a_row_that_names_nothing_held_is_damage(void **state)
{
	const struct fold_key bad[] = {
		{.process_id = 9},
		{.process_id = report_fixture.process_id, .stack_id = 900},
		{.process_id = report_fixture.process_id, .name_id = 900},
		{.process_id = report_fixture.process_id, .kind = HOST_SAMPLE_KINDS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct report_tree *tree;

		fold_table_clear(report_fixture.collection->samples);
		assert_int_equal(
			fold_table_add(report_fixture.collection->samples, &bad[i], 1, 1, 0), 0);
		assert_int_equal(report_tree_build(&report_fixture.profile, NULL, &tree), -EPROTO);
		assert_null(tree);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_plane_shows_its_own),
		TEST(several_planes_are_lines_side_by_side),
		TEST(threads_have_no_gpu_and_no_stream),
		TEST(totals_are_a_planes_own_whatever_is_shown),
		TEST(the_table_has_shares_of_each_plane_and_a_line_for_each),
		TEST(json_and_csv_name_kind_and_plane),
		TEST(a_row_that_names_nothing_held_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

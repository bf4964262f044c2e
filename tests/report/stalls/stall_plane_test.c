/* Samples of running kernels in reports: a plane that has the kernels' exact time again. */
#include "report/stalls/stall_split.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/host_sample.h"
#include "report/model/report_busy.h"
#include "report/model/report_plane.h"
#include "report/writers/csv_writer.h"
#include "report/writers/table_writer.h"
#include "tests/report/model/report_fixture.h"

#define STALLS (1u << REPORT_PLANE_STALLS)

static const struct folded_options ns = {.unit = FOLDED_NS};
static const struct folded_options samples = {.weight = FOLDED_COUNT};

/* A place in a kernel: its lines, outermost first. */
static uint32_t place(const char *kernel)
{
	return report_fixture_push(0, report_fixture_code(NULL, kernel, 0));
}

/* A line of the kernel itself, which has its name. */
static uint32_t own(const char *kernel, uint64_t number)
{
	return report_fixture_push(place(kernel),
				   report_fixture_code("/src/hot.cu", kernel, number));
}

static uint32_t line(uint32_t outer, const char *file, const char *function, uint64_t number)
{
	return report_fixture_push(outer, report_fixture_code(file, function, number));
}

static void add(uint32_t stack_id, const char *reason, uint64_t count)
{
	const struct fold_key key = {
		.process_id = report_fixture.process_id,
		.stack_id = stack_id,
		.name_id = reason ? report_fixture_string(reason) : 0,
		.kind = HOST_SAMPLE_KERNEL,
	};

	assert_int_equal(fold_table_add(report_fixture.collection->samples, &key, count, 0, 0), 0);
}

static void assert_folded(const struct folded_options *options, const char *expected)
{
	report_fixture_build_with(&(struct report_options){.planes = STALLS});
	report_fixture_assert_folded_with(options, expected);
}

static void a_kernel_of_one_launch_has_its_samples(void **state)
{
	uint32_t step = report_fixture_stack("main", "step", NULL);
	uint32_t inlined = place("inlined");

	(void)state;
	report_fixture_add_kernel(step, "strided", 1000);
	report_fixture_add_kernel(step, "inlined", 7);
	report_fixture_add_row((struct fold_key){.process_id = report_fixture.process_id,
						 .kind = RECORD_GPU_MEMCPY,
						 .stack_id = step,
						 .matched = 1},
			       1, 50, 8);
	add(own("strided", 17), "long scoreboard", 3);
	add(own("strided", 18), "selected", 1);
	add(line(own("inlined", 21), "/src/hot.cu", "_Z4leafi", 10), "wait", 2);
	add(report_fixture_push(inlined, report_fixture_code(NULL, "+0x1a0", 0)), NULL, 1);
	assert_folded(&ns,
		      "main;step;[GPU0_Kernel]inlined;+0x1a0;[stall]unknown 2\n"
		      "main;step;[GPU0_Kernel]inlined;hot.cu:21;hot.cu:leaf(int):10;[stall]wait 5\n"
		      "main;step;[GPU0_Kernel]strided;hot.cu:17;[stall]long scoreboard 750\n"
		      "main;step;[GPU0_Kernel]strided;hot.cu:18;[stall]selected 250\n");
	assert_folded(&samples,
		      "main;step;[GPU0_Kernel]inlined;+0x1a0;[stall]unknown 1\n"
		      "main;step;[GPU0_Kernel]inlined;hot.cu:21;hot.cu:leaf(int):10;[stall]wait 2\n"
		      "main;step;[GPU0_Kernel]strided;hot.cu:17;[stall]long scoreboard 3\n"
		      "main;step;[GPU0_Kernel]strided;hot.cu:18;[stall]selected 1\n");
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_STALLS].count, 7);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_STALLS].ns, 1007);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_GPU].ns, 1057);
}

/* One kernel of two launches, and one of a single launch. */
static void csv_tells_shared_samples(void **state)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main", "one", NULL), "gemm", 300);
	report_fixture_add_kernel(report_fixture_stack("main", "two", NULL), "gemm", 100);
	report_fixture_add_kernel(report_fixture_stack("main", "one", NULL), "copy", 50);
	add(own("gemm", 17), "wait", 8);
	add(own("copy", 30), "wait", 5);
	report_fixture_build_with(
		&(struct report_options){.planes = STALLS | 1u << REPORT_PLANE_GPU});
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, ",plane,shared\n"));
	assert_non_null(strstr(text, "\"main;one;[GPU0_Kernel]gemm;hot.cu:17\",stalls,1\n"));
	assert_non_null(strstr(text, "\"main;two;[GPU0_Kernel]gemm;hot.cu:17\",stalls,1\n"));
	assert_non_null(strstr(text, "\"main;one;[GPU0_Kernel]copy;hot.cu:30\",stalls,0\n"));
	assert_non_null(strstr(text, "\"main;one\",gpu,0\n"));
	free(text);
}

static void samples_of_several_launches_are_divided_by_time_and_marked(void **state)
{
	uint32_t one = report_fixture_stack("main", "one", NULL);
	uint32_t two = report_fixture_stack("main", "two", NULL);

	(void)state;
	report_fixture_add_kernel(one, "gemm", 300);
	report_fixture_add_kernel(two, "gemm", 100);
	add(own("gemm", 17), "wait", 6);
	add(own("gemm", 18), "wait", 2);
	assert_folded(&ns, "main;one;[GPU0_Kernel]gemm;hot.cu:17;[stall]\u2248wait 225\n"
			   "main;one;[GPU0_Kernel]gemm;hot.cu:18;[stall]\u2248wait 75\n"
			   "main;two;[GPU0_Kernel]gemm;hot.cu:17;[stall]\u2248wait 75\n"
			   "main;two;[GPU0_Kernel]gemm;hot.cu:18;[stall]\u2248wait 25\n");
	assert_folded(&samples, "main;one;[GPU0_Kernel]gemm;hot.cu:17;[stall]\u2248wait 5\n"
				"main;one;[GPU0_Kernel]gemm;hot.cu:18;[stall]\u2248wait 2\n"
				"main;two;[GPU0_Kernel]gemm;hot.cu:17;[stall]\u2248wait 1\n");
}

/* Streams of one launch, and stacks that look the same, leave nothing to assume. */
static void launches_that_readers_see_as_one_are_one(void **state)
{
	uint32_t one = report_fixture_stack("main", "step", NULL);
	uint32_t same = report_fixture_stack("main", "step", NULL);
	struct fold_key other = report_fixture_key(one, "gemm");

	(void)state;
	assert_int_not_equal(one, same);
	other.stream_id = 8;
	report_fixture_add_kernel(one, "gemm", 300);
	report_fixture_add_kernel(same, "gemm", 50);
	report_fixture_add_row(other, 1, 51, 0);
	add(own("gemm", 17), "wait", 3);
	assert_folded(&ns, "main;step;[GPU0_Kernel]gemm;hot.cu:17;[stall]wait 401\n");
	assert_folded(&samples, "main;step;[GPU0_Kernel]gemm;hot.cu:17;[stall]wait 3\n");
}

static void a_kernel_without_samples_says_so(void **state)
{
	uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "gemm", 300);
	report_fixture_add_kernel(step, "short", 2);
	report_fixture_add_kernel(step, NULL, 3);
	assert_folded(&ns, "");
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_STALLS].ns, 0);
	add(own("gemm", 17), "wait", 3);
	assert_folded(&ns, "main;step;[GPU0_Kernel][unknown];[stall]not sampled 3\n"
			   "main;step;[GPU0_Kernel]gemm;hot.cu:17;[stall]wait 300\n"
			   "main;step;[GPU0_Kernel]short;[stall]not sampled 2\n");
}

static void samples_without_a_record_stay_visible(void **state)
{
	uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "gemm", 300);
	add(own("gone", 17), "wait", 3);
	add(0, "wait", 2);
	add(line(0, "/src/hot.cu", "", 5), "wait", 1);
	assert_folded(&ns, "main;step;[GPU0_Kernel]gemm;[stall]not sampled 300\n");
	assert_folded(&samples, "[no kernel record];[GPU0_Kernel][unknown];[stall]wait 3\n"
				"[no kernel record];[GPU0_Kernel]gone;hot.cu:17;[stall]wait 3\n");
}

static void without_lines_functions_merge(void **state)
{
	uint32_t step = report_fixture_stack("main", "step", NULL), gemm = place("gemm");

	(void)state;
	report_fixture_add_kernel(step, "gemm", 400);
	add(own("gemm", 17), "wait", 1);
	add(own("gemm", 18), "wait", 1);
	add(line(own("gemm", 18), "/src/hot.cu", "leaf", 9), "wait", 1);
	add(report_fixture_push(gemm, report_fixture_code(NULL, "+0x10", 0)), "wait", 1);
	report_fixture_build_with(
		&(struct report_options){.planes = STALLS, .lines = REPORT_LINES_OFF});
	report_fixture_assert_folded_with(
		&ns, "main;step;[GPU0_Kernel]gemm;[stall]wait 300\n"
		     "main;step;[GPU0_Kernel]gemm;hot.cu:leaf;[stall]wait 100\n");
}

static void parts_have_the_dimensions_of_their_kernel(void **state)
{
	uint32_t step = report_fixture_stack("main", "step", NULL);
	struct folded_options by = {.weight = FOLDED_COUNT};

	(void)state;
	report_fixture_add_kernel(step, "gemm", 400);
	add(own("gemm", 17), "wait", 2);
	add(own("gone", 17), "wait", 3);
	assert_int_equal(report_by_parse("host,rank,gpu,context,stream,thread", &by.by), 0);
	assert_folded(&by, "node01;rank3;GPU0;context1;stream7;thread1234;main;step;"
			   "[GPU0_Kernel]gemm;hot.cu:17;[stall]wait 2\n"
			   "node01;rank3;GPU0;no context;no stream;thread?;[no kernel record];"
			   "[GPU0_Kernel]gone;hot.cu:17;[stall]wait 3\n");
}

static void hostile_names_stay_one_frame(void **state)
{
	uint32_t step = report_fixture_stack("main", NULL);

	(void)state;
	report_fixture_add_kernel(step, "a;b\nc", 10);
	add(line(place("a;b\nc"), "x;y\nz.cu", "f;g", 1), "r;s\n\x1b[1m", 1);
	assert_folded(&ns, "main;[GPU0_Kernel]a\\x3bb_c;x\\x3by_z.cu:f\\x3bg:1;"
			   "[stall]r\\x3bs__[1m 10\n");
}

static void the_table_names_each_kernels_reason_and_line(void **state)
{
	uint32_t one = report_fixture_stack("main", "one", NULL);
	uint32_t two = report_fixture_stack("main", "two", NULL);
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	report_fixture_add_kernel(one, "gemm", 300);
	report_fixture_add_kernel(two, "gemm", 100);
	report_fixture_add_kernel(two, "short", 2);
	add(own("gemm", 17), "wait", 3);
	add(own("gemm", 17), "barrier", 2);
	add(own("gemm", 18), "wait", 3);
	report_fixture_build_with(&(struct report_options){.planes = STALLS});
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_non_null(out);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "        400 ns  99.50%              8  wait 75.00%          "
				     "hot.cu:17 62.75%  gemm\n"));
	assert_non_null(strstr(text, "          2 ns   0.50%              0  not sampled 100.00%"));
	assert_non_null(strstr(text, "\nstalls in kernels: 8 samples of 402 ns\n"));
	free(text);
	report_busy_destroy(busy);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kernel_of_one_launch_has_its_samples),
		TEST(csv_tells_shared_samples),
		TEST(samples_of_several_launches_are_divided_by_time_and_marked),
		TEST(launches_that_readers_see_as_one_are_one),
		TEST(a_kernel_without_samples_says_so),
		TEST(samples_without_a_record_stay_visible),
		TEST(without_lines_functions_merge),
		TEST(parts_have_the_dimensions_of_their_kernel),
		TEST(hostile_names_stay_one_frame),
		TEST(the_table_names_each_kernels_reason_and_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "report/writers/table_writer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "report/model/report_busy.h"
#include "report/writers/csv_writer.h"
#include "report/writers/json_writer.h"
#include "tests/report/model/report_fixture.h"

/* --- the other writers, whole ----------------------------------------------------------------- */

static void fill_sample(void)
{
	struct fold_key key =
		report_fixture_key(report_fixture_stack("main", "ste\"p,", NULL), "gemm");
	struct timeline_key stream = {TIMELINE_STREAM, report_fixture.process_id, 0, 1, 7};
	struct timeline_key device = {TIMELINE_DEVICE, ROSTER_WRITER, 1, 0, 0};

	const uint32_t notice = report_fixture_string("CUPTI \"13\" found");

	assert_int_equal(
		roster_process_set_notices(roster_process(report_fixture.collection->roster,
							  report_fixture.process_id),
					   &notice, 1),
		0);
	report_fixture.profile.title = (char *)(uintptr_t) "a \"job\"";
	report_fixture_add_row(key, 3, 3000, 0);
	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 1;
	key.name_id = 0;
	report_fixture_add_row(key, 1, 1000, 4096);
	assert_int_equal(
		timeline_table_add(report_fixture.collection->timelines, &stream, 1000, 3000), 0);
	assert_int_equal(
		timeline_table_add(report_fixture.collection->timelines, &stream, 4000, 6000), 0);
	assert_int_equal(
		timeline_table_add(report_fixture.collection->timelines, &device, 1000, 3000), 0);
	assert_int_equal(
		timeline_table_add(report_fixture.collection->timelines, &device, 2000, 6000), 0);
	report_fixture_build(DEMANGLE_FULL);
}

static void the_table_shows_activities_hosts_devices_and_streams(void **state)
{
	(void)state;
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy,
					    &(struct table_options){.top = 1}),
			 0);
	fclose(out);
	assert_string_equal(
		text,
		"a \"job\"\n\n"
		"          time   share          count        average  kind    name\n"
		"      3.000 us  75.00%              3       1.000 us  kernel  gemm\n"
		"               1 more\n"
		"\n"
		"          time   share          count  function of the program\n"
		"      4.000 us 100.00%              4  ste\"p,\n"
		"\n"
		"          busy   share           idle        overlap        records  device\n"
		"      5.000 us 100.00%           0 ns       1.000 us              2  node01 GPU0 "
		"(NVIDIA H100)\n"
		"\n"
		"          time   share          count  host\n"
		"      4.000 us 100.00%              4  node01\n"
		"\n"
		"          busy   share           idle        overlap        records  stream\n"
		"      4.000 us  80.00%       1.000 us           0 ns              2  node01 GPU0 "
		"pid 100 context 1 stream 7\n"
		"\n"
		"3 kernels, 4.000 us of GPU time, 100.00 % matched; nothing lost\n"
		"note: CUPTI \"13\" found\n");
	free(text);
	report_busy_destroy(busy);
}

static void the_table_is_split_by_dimensions(void **state)
{
	static const struct table_options options = {
		.by = {.nr_dimensions = 2, .dimensions = {REPORT_BY_HOST, REPORT_BY_GPU}}};
	(void)state;
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, &options), 0);
	fclose(out);
	assert_non_null(strstr(
		text,
		"          time   share          count        average  kind                 name\n"
		"      3.000 us  75.00%              3       1.000 us  kernel  node01;GPU0  gemm\n"
		"      1.000 us  25.00%              1       1.000 us  memcpy  node01;GPU0  HtoD\n"
		"\n"
		"          time   share          count  host, gpu\n"
		"      4.000 us 100.00%              4  node01;GPU0\n"));
	free(text);
	report_busy_destroy(busy);
}

static void the_json_holds_every_leaf_and_total(void **state)
{
	(void)state;
	struct report_busy *busy;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, NULL),
			 0);
	fclose(out);
	assert_string_equal(
		text,
		"{\"schema\":2,\n\"title\":\"a \\\"job\\\"\",\n\"simulated\":false,\n"
		"\"totals\":{\"kernels\":3,\"kernel_ns\":3000,\"copies\":1,\"copy_ns\":1000,"
		"\"fills\":0,\"memset_ns\":0,"
		"\"graphs\":0,\"graph_ns\":0,"
		"\"matched\":4,\"launches\":0,\"launches_failed\":0,\"lost\":0},\n"
		"\"summary\":\"3 kernels, 4.000 us of GPU time, 100.00 % matched; nothing lost\","
		"\"state\":\"complete\",\"verdict\":\"nothing lost\",\n"
		"\"ledger\":[],\n"
		"\"cost\":{\"guest_ns\":0,\"threads\":0,\"threads_ns\":0,\"busiest_ns\":0,"
		"\"busiest_launches\":0,\"busiest_thread_ns\":0,\"processes\":0,\"processes_ns\":0,"
		"\"estimated\":false,\"launches\":0,\"launches_ns\":0,"
		"\"metered\":0,\"entry_ns\":0,\"native_ns\":0,\"python_ns\":0,\"intern_ns\":0,"
		"\"exit_ns\":0,\"outliers\":0,\"outliers_ns\":0,\"stacks\":0,\"stacks_ns\":0,"
		"\"table_bytes\":0,\"tables_ns\":0,\"flushes\":0,\"flushes_ns\":0,\"buffers\":0,"
		"\"buffers_ns\":0,\"windows\":0,\"windows_ns\":0,\"agents\":0,\"agents_cpu_ns\":0,"
		"\"agents_run_ns\":0,\"agent_peak_bytes\":0},\n"
		"\"planes\":[\n{\"plane\":\"gpu\",\"count\":4,\"ns\":4000,\"bytes\":4096,\"shown\":"
		"true}],\n"
		"\"notices\":[\n{\"text\":\"CUPTI \\\"13\\\" found\",\"processes\":1}],\n"
		"\"processes\":[\n{\"job\":\"\",\"host\":\"node01\",\"pid\":100,\"rank\":3,"
		"\"command\":"
		"\"./train\",\"unclean\":false}],\n"
		"\"devices\":[\n{\"host\":\"node01\",\"gpu\":0,\"name\":\"NVIDIA H100\","
		"\"records\":2,\"busy_ns\":5000,\"idle_ns\":0,\"uncaptured_ns\":0,\"overlap_ns\":"
		"1000,"
		"\"first_ns\":1000,\"last_ns\":6000,\"late\":0,\"late_ns\":0,\"inexact\":false,"
		"\"telemetry\":null,\"counters\":null}],\n"
		"\"streams\":[\n{\"host\":\"node01\",\"gpu\":0,\"rank\":3,\"pid\":100,\"context\":"
		"1,"
		"\"stream\":7,\"stream_name\":\"\",\"stream_default\":false,"
		"\"stream_priority\":null,\"records\":2,\"busy_ns\":4000,\"idle_ns\":1000,\"uncaptured_ns\":0,"
		"\"overlap_ns\":0,"
		"\"first_ns\":1000,\"last_ns\":6000,\"late\":0,\"late_ns\":0}],\n"
		"\"durations\":[],\n"
		"\"leaves\":[\n"
		"{\"host\":\"node01\",\"process\":0,\"rank\":3,\"gpu\":0,\"context\":1,\"stream\":"
		"7,"
		"\"tid\":1234,\"kind\":\"kernel\",\"count\":3,\"ns\":3000,\"bytes\":0,"
		"\"frames\":[\"main\",\"ste\\\"p,\",\"[GPU0_Kernel]gemm\"],\"plane\":\"gpu\"},\n"
		"{\"host\":\"node01\",\"process\":0,\"rank\":3,\"gpu\":0,\"context\":1,\"stream\":"
		"7,"
		"\"tid\":1234,\"kind\":\"memcpy\",\"count\":1,\"ns\":1000,\"bytes\":4096,"
		"\"frames\":[\"main\",\"ste\\\"p,\",\"[GPU0_Memcpy]HtoD\"],\"plane\":\"gpu\"}]}\n");
	free(text);
	report_busy_destroy(busy);
}

static void the_csv_quotes_what_needs_it(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_sample();
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_string_equal(
		text,
		"host,rank,pid,gpu,context,stream,thread,kind,name,count,ns,bytes,stack,plane\n"
		"node01,3,100,0,1,7,1234,kernel,gemm,3,3000,0,\"main;ste\"\"p,\",gpu\n"
		"node01,3,100,0,1,7,1234,memcpy,HtoD,1,1000,4096,\"main;ste\"\"p,\",gpu\n");
	free(text);
}

static void fill_graphs(void)
{
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), "gemm");

	key.capture_stack_id = report_fixture_stack("capture", NULL);
	report_fixture_add_row(key, 3, 3000, 0);
	key.capture_stack_id = 0;
	key.name_id = 0;
	key.kind = RECORD_GPU_GRAPH;
	report_fixture_add_row(key, 2, 1000, 0);
	report_fixture_build(DEMANGLE_FULL);
}

static void the_csv_shows_captures_and_graphs(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fill_graphs();
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_string_equal(
		text,
		"host,rank,pid,gpu,context,stream,thread,kind,name,count,ns,bytes,stack,plane\n"
		"node01,3,100,0,1,7,1234,kernel,gemm,3,3000,0,\"main;[captured at];capture\",gpu\n"
		"node01,3,100,0,1,7,1234,graph,,2,1000,0,\"main\",gpu\n");
	free(text);
}

static void the_json_and_the_table_show_captures_and_graphs(void **state)
{
	(void)state;
	struct report_busy *busy;
	char *json, *table;
	size_t size;
	FILE *out = open_memstream(&json, &size);

	fill_graphs();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, NULL),
			 0);
	fclose(out);
	assert_non_null(strstr(json, "\"graphs\":2,\"graph_ns\":1000,"));
	assert_non_null(strstr(json, "\"frames\":[\"main\",\"[captured at]\",\"capture\","
				     "\"[GPU0_Kernel]gemm\"]"));
	assert_non_null(strstr(json, "\"kind\":\"graph\",\"count\":2,\"ns\":1000,\"bytes\":0,"
				     "\"frames\":[\"main\",\"[GPU0_Graph]\"]"));
	out = open_memstream(&table, &size);
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
	assert_non_null(strstr(
		table, "      1.000 us  25.00%              2         500 ns  graph   graph\n"));
	free(json);
	free(table);
	report_busy_destroy(busy);
}

static void rows_lack_what_leaves_were_too_many_for(void **state)
{
	const struct report_options options = {.leaves_most = 1};
	(void)state;
	struct report_busy *busy;
	char *json, *csv;
	size_t size;
	FILE *out = open_memstream(&json, &size);

	fill_sample();
	report_fixture_build_with(&options);
	assert_true(report_fixture.tree->leaves_given_up & 1u << REPORT_BY_RANK);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, NULL),
			 0);
	fclose(out);
	assert_non_null(strstr(json, "\"leaves_given_up\":[\"host\",\"rank\",\"context\","
				     "\"stream\",\"thread\",\"job\"],\n"));
	assert_non_null(strstr(json, "{\"host\":\"\",\"process\":null,\"rank\":null,\"gpu\":0,"
				     "\"context\":null,\"stream\":null,\"tid\":null,"
				     "\"kind\":\"kernel\",\"count\":3,\"ns\":3000,"));
	out = open_memstream(&csv, &size);
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_non_null(strstr(csv, "\n,,,0,,,,kernel,gemm,3,3000,"));
	free(json);
	free(csv);
	report_busy_destroy(busy);
}

static void a_full_disk_is_an_error(void **state)
{
	(void)state;
	struct report_busy *busy;
	FILE *full = fopen("/dev/full", "w");

	report_fixture_add_row(report_fixture_key(report_fixture_stack("main", NULL), "k"), 1, 5000,
			       0);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_non_null(full);
	assert_int_equal(folded_writer_write(full, report_fixture.tree, NULL), -ENOSPC);
	clearerr(full);
	assert_int_equal(csv_writer_write(full, report_fixture.tree, NULL), -ENOSPC);
	clearerr(full);
	assert_int_equal(json_writer_write(full, report_fixture.tree, busy, NULL, NULL, NULL, NULL),
			 -ENOSPC);
	clearerr(full);
	assert_int_equal(table_writer_write(full, report_fixture.tree, busy, NULL), -ENOSPC);
	fclose(full);
	report_busy_destroy(busy);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_table_shows_activities_hosts_devices_and_streams),
		TEST(the_table_is_split_by_dimensions),
		TEST(the_json_holds_every_leaf_and_total),
		TEST(the_csv_quotes_what_needs_it),
		TEST(the_csv_shows_captures_and_graphs),
		TEST(the_json_and_the_table_show_captures_and_graphs),
		TEST(rows_lack_what_leaves_were_too_many_for),
		TEST(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

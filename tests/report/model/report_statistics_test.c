#include "report/model/report_statistics.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_table.h"
#include "proto/definition.h"
#include "proto/memory_kind.h"
#include "report/names/cuda_error.h"
#include "report/writers/statistics_writer.h"
#include "report/writers/table_writer.h"
#include "report/writers/text_table.h"
#include "report_fixture.h"

static const struct device_limits h200 = {9,      0,    132,   32,    2048,   32,  65536,
					  233472, 1024, 65536, 49152, 232448, 1024};
static struct report_statistics *statistics;

static int tear_down(void **state)
{
	report_statistics_destroy(statistics);
	statistics = NULL;
	return report_fixture_tear_down(state);
}

static struct roster_process *process(uint32_t id)
{
	struct roster_process *found = roster_process(report_fixture.collection->roster, id);

	if (!found->statistics)
		found->statistics = statistics_table_create();
	assert_non_null(found->statistics);
	return found;
}

static void add_call(uint32_t id, uint32_t cbid, uint32_t error, const char *name, uint64_t count,
		     uint64_t min_ns, uint64_t max_ns)
{
	const struct message_api_call call = {
		.domain = name[2] == 'd' ? STATISTICS_RUNTIME : STATISTICS_DRIVER,
		.cbid = cbid,
		.error = error,
		.name = report_fixture_string(name),
		.count = count,
		.total_ns = count * min_ns,
		.min_ns = min_ns,
		.max_ns = max_ns,
		.errors = error ? 0 : count / 10,
	};

	assert_int_equal(statistics_table_put_call(process(id)->statistics, &call), 0);
}

static void add_config(uint32_t id, const char *name, uint32_t grid_x, uint64_t count)
{
	const struct message_kernel_config config = {
		.config = {.name_id = name ? report_fixture_string(name) : 0,
			   .grid_x = grid_x,
			   .grid_y = 1,
			   .grid_z = 1,
			   .block_x = 256,
			   .block_y = 1,
			   .block_z = 1,
			   .dynamic_shared_bytes = 2048,
			   .registers = 64},
		.count = count,
		.total_ns = count * 1000,
		.min_ns = 500,
		.max_ns = 2000 + count,
	};

	assert_int_equal(statistics_table_put_config(process(id)->statistics, &config), 0);
}

static void make(void)
{
	report_statistics_destroy(statistics);
	assert_int_equal(
		report_statistics_create(&report_fixture.profile, DEMANGLE_SIMPLE, &statistics), 0);
}

/* What the writer writes; owns: free(). */
static char *written(void (*write)(FILE *out))
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	write(out);
	fclose(out);
	return text;
}

static void calls_of_all_processes_are_one_row(void **state)
{
	uint32_t other = report_fixture_process("node02", 100, 3, 0);

	(void)state;
	add_call(report_fixture.process_id, 20, 0, "cudaMalloc", 10, 100, 900);
	add_call(other, 20, 0, "cudaMalloc", 30, 50, 700);
	/* Two versions of one function. */
	add_call(other, 21, 0, "cudaMalloc", 5, 60, 1000);
	add_call(other, 20, 0, "cuMemAlloc_v2", 30, 50, 700);
	add_call(other, 22, 0, "cudaFree", 1, 50000, 50000);
	make();
	assert_int_equal(statistics->nr_calls, 3);
	assert_string_equal(statistics->calls[0].name, "cudaFree");
	assert_string_equal(statistics->calls[1].name, "cudaMalloc");
	assert_int_equal(statistics->calls[1].count, 45);
	assert_int_equal(statistics->calls[1].total_ns, 1000 + 1500 + 300);
	assert_int_equal(statistics->calls[1].min_ns, 50);
	assert_int_equal(statistics->calls[1].max_ns, 1000);
	assert_int_equal(statistics->calls[1].errors, 4);
	assert_string_equal(statistics->calls[2].name, "cuMemAlloc_v2");
	assert_int_equal(statistics->calls[2].domain, STATISTICS_DRIVER);
}

static void marked_steps_are_those_of_the_process_with_most_and_no_call(void **state)
{
	const uint32_t ids[] = {report_fixture.process_id,
				report_fixture_process("node02", 100, 3, 0)};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		const struct message_api_call steps = {.domain = DEFINITION_STEP_DOMAIN,
						       .cbid = DEFINITION_STEP_CBID,
						       .name = report_fixture_string("step"),
						       .count = 200 - i};

		assert_int_equal(statistics_table_put_call(process(ids[i])->statistics, &steps), 0);
	}
	make();
	assert_int_equal(statistics->marked_steps, 200);
	assert_int_equal(statistics->least_marked, 199);
	assert_int_equal(statistics->all_marked, 399);
	assert_int_equal(statistics->nr_marking, 2);
	assert_int_equal(statistics->nr_calls, 0);
	assert_false(statistics->is_marking_cut);
}

static void steps_of_a_killed_process_are_cut(void **state)
{
	const struct message_api_call steps = {.domain = DEFINITION_STEP_DOMAIN,
					       .cbid = DEFINITION_STEP_CBID,
					       .name = report_fixture_string("step"),
					       .count = 7};
	const uint32_t other = report_fixture_process("node02", 100, 3, 0);

	(void)state;
	process(other)->state = PROCESS_UNCLEAN;
	assert_int_equal(
		statistics_table_put_call(process(report_fixture.process_id)->statistics, &steps),
		0);
	make();
	assert_false(statistics->is_marking_cut);
	assert_int_equal(statistics_table_put_call(process(other)->statistics, &steps), 0);
	make();
	assert_true(statistics->is_marking_cut);
}

static void failed_calls_say_which_process(void **state)
{
	uint32_t other = report_fixture_process("node02", 100, 3, 0);

	(void)state;
	add_call(report_fixture.process_id, 20, 2, "cudaMalloc", 4, 0, 0);
	add_call(other, 20, 2, "cudaMalloc", 7, 0, 0);
	add_call(other, 30, 12345, "cuLaunchKernel", 1, 0, 0);
	make();
	assert_int_equal(statistics->nr_calls, 0);
	assert_int_equal(statistics->nr_failures, 3);
	assert_int_equal(statistics->failures[0].count, 7);
	assert_int_equal(statistics->failures[0].rank, 3);
	assert_int_equal(statistics->failures[0].pid, 100);
	assert_string_equal(statistics->failures[0].host, "node02");
	assert_string_equal(statistics->failures[0].error_name, "cudaErrorMemoryAllocation");
	assert_int_equal(statistics->failures[1].count, 4);
	assert_string_equal(statistics->failures[2].error_name, "");
}

static void set_limits(uint32_t id, const char *name)
{
	struct roster *roster = report_fixture.collection->roster;
	uint32_t device = roster_process_device(process(id), 0);
	struct roster_device changed = *roster_device(roster, device);
	uint32_t again;

	changed.limits = h200;
	changed.name = report_fixture_string(name);
	assert_int_equal(roster_add_device(roster, &changed, &again), 0);
	assert_int_equal(again, device);
}

static void configurations_on_like_gpus_are_one_row(void **state)
{
	uint32_t other = report_fixture_process("node02", 100, 3, 0);
	uint32_t third = report_fixture_process("node03", 100, 4, 0);

	(void)state;
	set_limits(report_fixture.process_id, "NVIDIA H200");
	set_limits(other, "NVIDIA H200");
	add_config(report_fixture.process_id, "_Z4gemmIfEvPT_i", 8, 10);
	add_config(other, "_Z4gemmIfEvPT_i", 8, 100);
	add_config(third, "_Z4gemmIfEvPT_i", 8, 5);
	add_config(other, "_Z4gemmIfEvPT_i", 9, 1);
	add_config(other, NULL, 9, 2);
	make();
	assert_int_equal(statistics->nr_configs, 4);
	const struct report_config *first = &statistics->configs[0];
	assert_string_equal(first->name, "gemm");
	assert_string_equal(first->device, "NVIDIA H200");
	assert_int_equal(first->count, 110);
	assert_int_equal(first->total_ns, 110000);
	assert_int_equal(first->max_ns, 2100);
	assert_true(first->has_occupancy);
	assert_int_equal(first->occupancy.blocks, 4);
	assert_int_equal(first->occupancy.limits, OCCUPANCY_REGISTERS);
	assert_true(report_statistics_percent(first) == 50.0);
	assert_int_equal(statistics->configs[1].count, 5);
	assert_false(statistics->configs[1].has_occupancy);
	assert_string_equal(statistics->configs[2].name, "");
}

static void write_tables(FILE *out)
{
	assert_int_equal(statistics_writer_configs(out, statistics, NULL, 2), 0);
	assert_int_equal(statistics_writer_calls(out, statistics, NULL, 2), 0);
}

static void tables_have_their_titles_and_say_what_they_leave_out(void **state)
{
	(void)state;
	make();
	char *text = written(write_tables);
	assert_string_equal(text, "");
	free(text);

	set_limits(report_fixture.process_id, "NVIDIA H200");
	for (uint32_t i = 0; i < 4; i++)
		add_config(report_fixture.process_id, "gemm", 8 + i, 10 + i);
	add_call(report_fixture.process_id, 20, 0, "cudaMalloc", 10, 100, 900);
	add_call(report_fixture.process_id, 20, 2, "cudaMalloc", 1, 0, 0);
	add_call(report_fixture.process_id, 20, 0, "cuMemAlloc_v2", 10, 100, 900);
	make();
	text = written(write_tables);
	assert_non_null(strstr(text, "\nKernels: launch configurations\n"));
	assert_non_null(strstr(text, "11x1x1"));
	assert_non_null(strstr(text, "50.0%  registers"));
	assert_non_null(strstr(text, " 2 more\n"));
	assert_non_null(strstr(text, "\nCUDA Runtime API calls\n"));
	assert_non_null(strstr(text, "\nCUDA Driver API calls\n"));
	assert_non_null(strstr(text, "\nFailed CUDA calls\n"));
	assert_non_null(strstr(text, "cudaErrorMemoryAllocation (2)"));
	free(text);
}

static uint32_t nr_tables, failing_table; /* by its number from 1 on; 0: none */

int __real_text_table_end(struct text_table *table);
int __wrap_text_table_end(struct text_table *table);
int __wrap_text_table_end(struct text_table *table)
{
	const int error = __real_text_table_end(table);

	return ++nr_tables == failing_table ? -ENOMEM : error;
}

static int write_report(FILE *out, const struct report_busy *busy, uint32_t failing)
{
	const struct table_options options = {
		.statistics = statistics,
		.by = {.nr_dimensions = 1, .dimensions = {REPORT_BY_HOST}}};

	nr_tables = 0;
	failing_table = failing;
	return table_writer_write(out, report_fixture.tree, busy, &options);
}

/* A profile that has all tables. */
static void fill_tables(void)
{
	const struct memory_event event = {
		.time_ns = 2000, .address = 0x1000, .bytes = 1024, .kind = MEMORY_KIND_DEVICE};
	const struct timeline_key stream = {TIMELINE_STREAM, report_fixture.process_id, 0, 1, 7};
	const struct timeline_key device = {TIMELINE_DEVICE, ROSTER_WRITER, 1, 0, 0};
	struct timeline_table *timelines = report_fixture.collection->timelines;

	add_config(report_fixture.process_id, "gemm", 8, 10);
	add_call(report_fixture.process_id, 20, 0, "cudaMalloc", 10, 100, 900);
	add_call(report_fixture.process_id, 20, 2, "cudaMalloc", 1, 0, 0);
	add_call(report_fixture.process_id, 20, 0, "cuMemAlloc_v2", 10, 100, 900);
	report_fixture_add_kernel(report_fixture_stack("[NVTX]step", "main", NULL), "gemm", 1000);
	assert_int_equal(timeline_table_add(timelines, &stream, 1000, 3000), 0);
	assert_int_equal(timeline_table_add(timelines, &device, 1000, 3000), 0);
	process(report_fixture.process_id)->memory = memory_account_create(NULL);
	assert_int_equal(memory_account_add(process(report_fixture.process_id)->memory, &event), 0);
	assert_int_equal(memory_account_finish(process(report_fixture.process_id)->memory), 0);
	make();
	report_fixture_build(DEMANGLE_FULL);
}

static void no_table_is_missing_silently(void **state)
{
	struct report_busy *busy;
	FILE *out = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(out);
	fill_tables();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(write_report(out, busy, 0), 0);
	/* Activities, their split, lines, GPUs, ranges, hosts, streams, configurations, calls of both, failures, memory. */
	assert_int_equal(nr_tables, 12);
	for (uint32_t i = nr_tables; i > 0; i--)
		assert_int_equal(write_report(out, busy, i), -ENOMEM);
	report_busy_destroy(busy);
	fclose(out);
}

static void write_csv(FILE *out)
{
	for (int rows = STATISTICS_ROWS_CALLS; rows <= STATISTICS_ROWS_CONFIGS; rows++)
		assert_int_equal(statistics_writer_csv(out, statistics, (enum statistics_rows)rows),
				 0);
}

static void csv_has_a_line_a_row(void **state)
{
	(void)state;
	add_config(report_fixture.process_id, "gemm", 8, 10);
	add_call(report_fixture.process_id, 20, 0, "cudaMalloc", 10, 100, 900);
	add_call(report_fixture.process_id, 20, 2, "cudaMalloc", 1, 0, 0);
	make();
	char *text = written(write_csv);
	assert_non_null(strstr(text, "api,function,count,total_ns,min_ns,max_ns,errors\n"
				     "runtime,cudaMalloc,10,1000,100,900,1\n"
				     "api,function,error,error_name,host,rank,pid,count\n"
				     "runtime,cudaMalloc,2,cudaErrorMemoryAllocation,"));
	assert_non_null(strstr(text, ",8,1,1,256,1,1,0,2048,64,0,10,10000,500,2010,,,,\n"));
	free(text);
	FILE *full = fopen("/dev/full", "w");
	assert_non_null(full);
	assert_int_equal(statistics_writer_csv(full, statistics, STATISTICS_ROWS_CALLS), -ENOSPC);
	fclose(full);
}

static void a_name_that_is_not_held_is_damage(void **state)
{
	const struct message_api_call call = {.domain = STATISTICS_DRIVER, .name = 100000};

	(void)state;
	assert_int_equal(
		statistics_table_put_call(process(report_fixture.process_id)->statistics, &call),
		0);
	assert_int_equal(
		report_statistics_create(&report_fixture.profile, DEMANGLE_FULL, &statistics),
		-EPROTO);
	assert_null(statistics);
}

static void errors_have_cudas_names(void **state)
{
	(void)state;
	assert_string_equal(cuda_error_name(STATISTICS_DRIVER, 1), "CUDA_ERROR_INVALID_VALUE");
	assert_string_equal(cuda_error_name(STATISTICS_RUNTIME, 1), "cudaErrorInvalidValue");
	assert_string_equal(cuda_error_name(STATISTICS_DRIVER, 999), "CUDA_ERROR_UNKNOWN");
	assert_string_equal(cuda_error_name(STATISTICS_RUNTIME, 700), "cudaErrorIllegalAddress");
	assert_null(cuda_error_name(STATISTICS_DRIVER, 0));
	assert_null(cuda_error_name(STATISTICS_RUNTIME, UINT32_MAX));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, report_fixture_set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(calls_of_all_processes_are_one_row),
		TEST(marked_steps_are_those_of_the_process_with_most_and_no_call),
		TEST(steps_of_a_killed_process_are_cut),
		TEST(failed_calls_say_which_process),
		TEST(configurations_on_like_gpus_are_one_row),
		TEST(tables_have_their_titles_and_say_what_they_leave_out),
		TEST(no_table_is_missing_silently),
		TEST(csv_has_a_line_a_row),
		TEST(a_name_that_is_not_held_is_damage),
		cmocka_unit_test(errors_have_cudas_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Reports of memory: leaves, rows, lines and sections. */
#include "report/model/report_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/writers/csv_writer.h"
#include "report/writers/json_writer.h"
#include "aggregator/core/memory_account.h"
#include "report/model/report_busy.h"
#include "report/model/report_summary.h"
#include "aggregator/profile/roster.h"
#include "report/writers/table_writer.h"
#include "aggregator/core/timeline_table.h"
#include "proto/memory_kind.h"
#include "report_fixture.h"

static uint32_t load, train;

static struct roster_process *process(void)
{
	return roster_process(report_fixture.collection->roster, report_fixture.process_id);
}

static void add(uint64_t time_ns, uint64_t address, uint64_t bytes, uint32_t stack_id, uint8_t kind)
{
	const struct memory_event event = {
		.time_ns = time_ns,
		.address = address,
		.bytes = bytes,
		.stack_id = stack_id,
		.tid = 9,
		.kind = kind,
		.is_free = bytes == 0,
		.matched = stack_id != 0,
	};

	if (!process()->memory)
		process()->memory = memory_account_create(NULL);
	assert_int_equal(memory_account_add(process()->memory, &event), 0);
}

/* 3 KiB at the peak, of which 2 are freed; some pinned, some of nobody. */
static void fill(void)
{
	struct timeline_key stream = {TIMELINE_STREAM, report_fixture.process_id, 0, 1, 7};

	load = report_fixture_stack("main", "load", NULL);
	train = report_fixture_stack("main", "train", NULL);
	assert_int_equal(
		timeline_table_add(report_fixture.collection->timelines, &stream, 1000, 3000), 0);
	add(2000, 0x1000, 1024, load, MEMORY_KIND_DEVICE);
	add(3000, 0x2000, 2048, train, MEMORY_KIND_POOL);
	add(4000, 0x2000, 0, train, MEMORY_KIND_POOL);
	add(5000, 0x3000, 100, 0, MEMORY_KIND_ARRAY);
	add(6000, 0x4000, 4096, train, MEMORY_KIND_PINNED);
	add(7000, 0x4000, 0, train, MEMORY_KIND_PINNED);
	add(8000, 0x5000, 64, load, MEMORY_KIND_MANAGED);
	assert_int_equal(memory_account_finish(process()->memory), 0);
}

static void build(enum report_memory memory)
{
	report_fixture_build_with(&(struct report_options){.memory = memory});
}

static void assert_bytes(const char *expected)
{
	report_fixture_assert_folded_with(&(struct folded_options){.weight = FOLDED_BYTES},
					  expected);
}

static void the_peak_is_by_stack_each_space_at_its_own(void **state)
{
	(void)state;
	fill();
	build(REPORT_MEMORY_PEAK);
	assert_bytes("main;load;[GPU0_Managed]managed 64\n"
		     "main;load;[GPU0_Memory]device 1024\n"
		     "main;train;[GPU0_Memory]pool 2048\n"
		     "main;train;[Host_Memory]pinned 4096\n");
}

static void what_lives_is_by_stack_also_without_one(void **state)
{
	(void)state;
	fill();
	build(REPORT_MEMORY_LIVE);
	assert_bytes("[unknown stack];[GPU0_Memory]array 100\n"
		     "main;load;[GPU0_Managed]managed 64\n"
		     "main;load;[GPU0_Memory]device 1024\n");
}

static void allocations_and_frees_are_totals_and_no_gpu_work(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(report_fixture_stack("main", "load", NULL), "k");

	report_fixture_add_row(key, 2, 1000, 0);
	key.kind = RECORD_GPU_ALLOC;
	key.copy_kind = MEMORY_KIND_DEVICE;
	key.name_id = 0;
	report_fixture_add_row(key, 5, 0, 500);
	key.kind = RECORD_GPU_FREE;
	report_fixture_add_row(key, 4, 0, 400);
	key.matched = 0;
	report_fixture_add_row(key, 1, 0, 100);
	build(REPORT_MEMORY_NONE);
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_NS},
					  "main;load;[GPU0_Kernel]k 1000\n");
	assert_int_equal(report_fixture.tree->copies, 0);
	build(REPORT_MEMORY_ALLOCS);
	assert_bytes("main;load;[GPU0_Memory]device 500\n");
	assert_int_equal(report_fixture.tree->kernels, 2);
	assert_int_equal(report_fixture.tree->matched, 2);
	build(REPORT_MEMORY_FREES);
	assert_bytes(
		"[unknown stack];[GPU0_Memory]device 100\nmain;load;[GPU0_Memory]device 400\n");
}

static char *text_of(int (*write)(FILE *out))
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out), 0);
	fclose(out);
	return text;
}

static int write_summary(FILE *out)
{
	report_summary_memory(out, report_fixture.tree, "> ");
	return 0;
}

static void the_lines_say_peak_time_and_what_was_never_freed(void **state)
{
	(void)state;
	fill();
	build(REPORT_MEMORY_NONE);
	char *text = text_of(write_summary);
	assert_string_equal(
		text,
		"> GPU0 memory: peak 3.0 KiB after 2.000 us; 1.0 KiB in 2 allocations never freed\n"
		"> GPU0 managed memory: peak 64 B after 7.000 us; 64 B in 1 allocation never "
		"freed\n"
		"> host memory: peak 4.0 KiB after 5.000 us; all freed\n"
		"> memory is what CUDA's calls allocate: allocators that cache (PyTorch's) show as "
		"the segments they take\n");
	free(text);
}

static void the_lines_say_what_is_not_exact_and_whose_it_is(void **state)
{
	(void)state;
	fill();
	add(9000, 0, 1, load, MEMORY_KIND_DEVICE); /* has no address */
	assert_int_equal(memory_account_finish(process()->memory), 0);
	process()->state = PROCESS_RUNNING;
	report_fixture_process("node02", 200, 1, 1);
	build(REPORT_MEMORY_NONE);
	char *text = text_of(write_summary);
	assert_non_null(strstr(text,
			       "> GPU0 memory of node01 pid 100: peak 3.0 KiB after 2.000 us; "
			       "1.0 KiB in 2 allocations live; not exact: 1 event left out "
			       "or out of order\n"));
	free(text);
	assert_int_equal(report_fixture.tree->lost, 1); /* memory_inexact */
}

static void nothing_is_said_where_nothing_was_recorded(void **state)
{
	(void)state;
	build(REPORT_MEMORY_PEAK);
	char *text = text_of(write_summary);
	assert_string_equal(text, "");
	free(text);
	assert_bytes("");
}

static int write_table(FILE *out)
{
	struct report_busy *busy;

	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	int error = table_writer_write(out, report_fixture.tree, busy, NULL);
	report_busy_destroy(busy);
	return error;
}

static int write_json(FILE *out)
{
	struct report_busy *busy;

	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	int error = json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, NULL);
	report_busy_destroy(busy);
	return error;
}

static int write_csv(FILE *out)
{
	return csv_writer_write(out, report_fixture.tree, NULL);
}

static void table_json_and_csv_have_a_place_for_it(void **state)
{
	(void)state;
	fill();
	build(REPORT_MEMORY_PEAK);
	char *text = text_of(write_table);
	assert_non_null(strstr(text, "          peak          after    live at end         allocs  "
				     "    allocated  memory\n"
				     "       3.0 KiB       2.000 us        1.0 KiB              3  "
				     "      3.0 KiB  node01 "
				     "GPU0 memory pid 100\n"));
	free(text);
	text = text_of(write_json);
	assert_non_null(strstr(
		text, "\"memory\":[\n{\"host\":\"node01\",\"pid\":100,\"rank\":3,\"gpu\":0,"
		      "\"space\":\"device\",\"ended\":true,\"allocs\":3,\"alloc_bytes\":3172,"
		      "\"frees\":1,\"free_bytes\":2048,\"live\":2,\"live_bytes\":1124,"
		      "\"peak_bytes\":3072,\"peak_after_ns\":2000,\"unknown_frees\":0,"
		      "\"left_out\":0},\n"));
	assert_non_null(strstr(text, "\"gpu\":null,\"space\":\"host\""));
	free(text);
	text = text_of(write_csv);
	assert_non_null(
		strstr(text, "node01,3,100,0,0,0,9,alloc,pool,1,0,2048,\"main;train\",memory\n"));
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_GPU].count, 0);
	assert_int_equal(report_fixture.tree->planes, 1u << REPORT_PLANE_MEMORY);
	free(text);
}

static void bytes_are_said_in_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{(1u << 20) - 1, "1023.9 KiB"},
		{5ull << 30, "5.0 GiB"},
		{UINT64_MAX, "15.9 EiB"},
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(report_summary_bytes(cases[i].bytes, text), cases[i].text);
}

static void every_kind_has_a_word_and_a_space(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < MEMORY_KINDS; kind++) {
		assert_true(strlen(memory_kind_name(kind)) > 3);
		assert_true(memory_kind_space(kind) < MEMORY_SPACES);
		for (uint32_t other = 0; other < kind; other++)
			assert_string_not_equal(memory_kind_name(kind), memory_kind_name(other));
	}
	assert_string_equal(memory_kind_name(UINT32_MAX), "unknown");
	assert_int_equal(memory_kind_space(MEMORY_KINDS), MEMORY_SPACE_HOST);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_by_stack_each_space_at_its_own),
		TEST(what_lives_is_by_stack_also_without_one),
		TEST(allocations_and_frees_are_totals_and_no_gpu_work),
		TEST(the_lines_say_peak_time_and_what_was_never_freed),
		TEST(the_lines_say_what_is_not_exact_and_whose_it_is),
		TEST(nothing_is_said_where_nothing_was_recorded),
		TEST(table_json_and_csv_have_a_place_for_it),
		TEST(bytes_are_said_in_the_unit_that_fits),
		TEST(every_kind_has_a_word_and_a_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

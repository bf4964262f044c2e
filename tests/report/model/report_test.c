#include "report/model/report_build.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

/* --- leaves ----------------------------------------------------------------------------------- */

static void copies_and_sets_have_leaves_of_their_own(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(report_fixture_stack("main", NULL), NULL);

	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 1;
	report_fixture_add_row(key, 1, 5, 10);
	key.copy_kind = 10;
	report_fixture_add_row(key, 1, 6, 10);
	key.copy_kind = 77;
	report_fixture_add_row(key, 1, 7, 10);
	key.kind = RECORD_GPU_MEMSET;
	key.copy_kind = 0;
	report_fixture_add_row(key, 1, 8, 10);
	report_fixture_assert_folded("main;[GPU0_Memcpy]HtoD 5\n"
				     "main;[GPU0_Memcpy]PtoP 6\n"
				     "main;[GPU0_Memcpy]Unknown 7\n"
				     "main;[GPU0_Memset] 8\n");
}

static void what_is_not_known_is_said(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(0, NULL);

	report_fixture_add_row(key, 1, 5, 0);
	key.matched = 0;
	key.stack_id = report_fixture_stack("main", NULL);
	key.device_id = 9;
	report_fixture_add_row(key, 1, 6, 0);
	report_fixture_assert_folded("[unknown stack];[GPU0_Kernel][unknown] 5\n"
				     "[unknown stack];[GPU?_Kernel][unknown] 6\n");
	assert_int_equal(report_fixture.tree->matched, 1);
	assert_int_equal(report_fixture.tree->kernels, 2);
}

static void rows_that_are_called_the_same_become_one(void **state)
{
	(void)state;
	uint32_t first = report_fixture_push(
		0, report_fixture_frame(report_fixture.program, 0x1000, "step"));
	uint32_t second = report_fixture_push(
		0, report_fixture_frame(report_fixture.program, 0x2000, "step"));

	report_fixture_add_row(report_fixture_key(first, "k"), 1, 5, 0);
	report_fixture_add_row(report_fixture_key(second, "k"), 2, 7, 0);
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(report_fixture.tree->nr_leaves, 1);
	assert_int_equal(report_fixture.tree->leaves[0].count, 3);
	assert_int_equal(report_fixture.tree->leaves[0].ns, 12);
}

static void rows_that_name_nothing_are_an_error(void **state)
{
	(void)state;
	struct fold_key key = report_fixture_key(4000, "k");

	report_fixture_add_row(key, 1, 5, 0);
	assert_int_equal(report_tree_build(&report_fixture.profile, NULL, &report_fixture.tree),
			 -EPROTO);
	assert_null(report_fixture.tree);
	fold_table_clear(report_fixture.collection->totals);
	key = report_fixture_key(report_fixture_stack("main", NULL), "k");
	key.capture_stack_id = 4000;
	report_fixture_add_row(key, 1, 5, 0);
	assert_int_equal(report_tree_build(&report_fixture.profile, NULL, &report_fixture.tree),
			 -EPROTO);
	assert_null(report_fixture.tree);
}

/* --- folded ----------------------------------------------------------------------------------- */

static void dimensions_stand_at_the_root_in_their_order(void **state)
{
	(void)state;
	struct folded_options options = {.unit = FOLDED_NS};
	uint32_t node = report_fixture_stack("main", NULL);

	report_fixture_add_row(report_fixture_key(node, "k"), 1, 5, 0);
	report_fixture.process_id = report_fixture_process("node02", 100, MESSAGE_RANK_NONE, 4);
	struct fold_key key = report_fixture_key(node, "k");
	key.tid = 0;
	key.stream_id = 13;
	report_fixture_add_row(key, 1, 6, 0);
	report_fixture_build(DEMANGLE_FULL);
	report_fixture_assert_folded_with(&options,
					  "main;[GPU0_Kernel]k 5\nmain;[GPU4_Kernel]k 6\n");
	assert_int_equal(report_by_parse("host,rank,gpu,stream,thread", &options.by), 0);
	report_fixture_assert_folded_with(
		&options, "node01;rank3;GPU0;stream7;thread1234;main;[GPU0_Kernel]k 5\n"
			  "node02;rank?;GPU4;stream13;thread?;main;[GPU4_Kernel]k 6\n");
	assert_int_equal(report_by_parse("rank,host", &options.by), 0);
	report_fixture_assert_folded_with(&options, "rank3;node01;main;[GPU0_Kernel]k 5\n"
						    "rank?;node02;main;[GPU4_Kernel]k 6\n");
}

static void words_that_are_no_dimensions_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = {"hosts",     "host,",    ",host", "host,host",
					    "host,,gpu", "host gpu", "Host"};
	struct report_by by;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(report_by_parse(wrong[i], &by), -EINVAL);
		assert_int_equal(by.nr_dimensions, 0);
	}
	assert_int_equal(report_by_parse("", &by), 0);
	assert_int_equal(by.nr_dimensions, 0);
}

static void microseconds_are_rounded_once_a_line(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack("main", NULL);
	struct fold_key key = report_fixture_key(node, "sum");

	for (key.stream_id = 1; key.stream_id <= 10; key.stream_id++)
		report_fixture_add_row(key, 1, 150, 0);
	report_fixture_add_row(report_fixture_key(node, "half"), 1, 500, 0);
	report_fixture_add_row(report_fixture_key(node, "less"), 1, 499, 0);
	report_fixture_add_row(report_fixture_key(node, "none"), 1, 0, 0);
	report_fixture_build(DEMANGLE_FULL);
	report_fixture_assert_folded_with(&(struct folded_options){.unit = FOLDED_US},
					  "main;[GPU0_Kernel]half 1\n"
					  "main;[GPU0_Kernel]less 0\n"
					  "main;[GPU0_Kernel]sum 2\n");
	report_fixture_assert_folded_with(NULL, "main;[GPU0_Kernel]half 500\n"
						"main;[GPU0_Kernel]less 499\n"
						"main;[GPU0_Kernel]sum 1500\n");
}

static void counts_and_bytes_are_weights_too(void **state)
{
	(void)state;
	uint32_t node = report_fixture_stack("main", NULL);
	struct fold_key key = report_fixture_key(node, NULL);

	report_fixture_add_row(report_fixture_key(node, "k"), 3, 5000, 0);
	key.kind = RECORD_GPU_MEMCPY;
	key.copy_kind = 2;
	report_fixture_add_row(key, 2, 7000, 4096);
	report_fixture_build(DEMANGLE_FULL);
	report_fixture_assert_folded_with(&(struct folded_options){.weight = FOLDED_COUNT},
					  "main;[GPU0_Kernel]k 3\nmain;[GPU0_Memcpy]DtoH 2\n");
	report_fixture_assert_folded_with(&(struct folded_options){.weight = FOLDED_BYTES},
					  "main;[GPU0_Memcpy]DtoH 4096\n");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copies_and_sets_have_leaves_of_their_own),
		TEST(what_is_not_known_is_said),
		TEST(rows_that_are_called_the_same_become_one),
		TEST(rows_that_name_nothing_are_an_error),
		TEST(dimensions_stand_at_the_root_in_their_order),
		TEST(words_that_are_no_dimensions_are_refused),
		TEST(microseconds_are_rounded_once_a_line),
		TEST(counts_and_bytes_are_weights_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

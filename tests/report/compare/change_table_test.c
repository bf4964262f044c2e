#include "report/compare/change_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/compare/change_writer.h"
#include "report/compare/pair_tree.h"
#include "report/compare/run_item.h"
#include "report/compare/run_lines.h"
#include "report/compare/run_scale.h"
#include "report/writers/diff_writer.h"

/* The profile before: 100 steps on GPU 0, from a build whose library has no symbols. */
static const char *const before_strings[] = {
	"",
	"train.py:main:3",
	"torch/linear.py:forward:9",
	"libmodel.so+0x1000",
	"[GPU0_Kernel]sm90_gemm",
	"[GPU0_Kernel]vectorized_elementwise_kernel",
	"[GPU0_Memcpy]HtoD",
};
static const uint32_t before_frameworks[] = {0, 0, 1, 0, 0, 0, 0};
static const struct report_node before_nodes[] = {{0, 0}, {0, 1}, {1, 2}, {2, 3}};
static const struct report_leaf before_leaves[] = {
	{.node = 3, .name = 4, .rank = -1, .count = 100, .ns = 10000},
	{.node = 1, .name = 5, .rank = -1, .count = 200, .ns = 4000},
	{.node = 1, .name = 6, .rank = -1, .kind = REPORT_KIND_MEMCPY, .count = 1, .ns = 700},
};

/* After: 200 steps on GPU 3, of another build: the library's address is another one, and the copy is gone. */
static const char *const after_strings[] = {
	"",
	"[GPU3_Kernel]sm90_gemm",
	"train.py:main:3",
	"[GPU3_Kernel]vectorized_elementwise_kernel",
	"libmodel.so+0x2230",
	"torch/linear.py:forward:9",
	"[GPU3_Kernel]flash_fwd_kernel",
};
static const uint32_t after_frameworks[] = {0, 0, 0, 0, 0, 2, 0};
static const struct report_node after_nodes[] = {{0, 0}, {0, 2}, {1, 5}, {2, 4}};
static const struct report_leaf after_leaves[] = {
	{.node = 3, .name = 1, .rank = -1, .gpu = 3, .count = 200, .ns = 22000},
	{.node = 1, .name = 3, .rank = -1, .gpu = 3, .count = 400, .ns = 8000},
	{.node = 2, .name = 6, .rank = -1, .gpu = 3, .count = 200, .ns = 100},
};

#define TREE(side)                                                                                 \
	{                                                                                          \
		.strings = side##_strings,                                                         \
		.nr_strings = sizeof(side##_strings) / sizeof(*side##_strings),                    \
		.frameworks = side##_frameworks, .nodes = side##_nodes,                            \
		.nr_nodes = sizeof(side##_nodes) / sizeof(*side##_nodes), .leaves = side##_leaves, \
		.nr_leaves = sizeof(side##_leaves) / sizeof(*side##_leaves)                        \
	}
static const struct report_tree before = TREE(before), after = TREE(after);

/* a > c and b > c, and below it a chain to the kernel. */
static const char *const chain_strings[] = {"",  "a", "b", "c", "d",
					    "e", "f", "g", "h", "[GPU0_Kernel]k"};
static const struct report_node chain_nodes[] = {{0, 0}, {0, 1},  {0, 2},  {1, 3},  {3, 4},
						 {4, 5}, {5, 6},  {6, 7},  {7, 8},  {2, 3},
						 {9, 4}, {10, 5}, {11, 6}, {12, 7}, {13, 8}};
static const struct report_leaf chain_leaves[] = {
	{.node = 8, .name = 9, .rank = -1, .count = 1, .ns = 20},
	{.node = 14, .name = 9, .rank = -1, .count = 1, .ns = 10},
};
static const struct report_tree chain_tree = {
	.strings = chain_strings,
	.nr_strings = 10,
	.nodes = chain_nodes,
	.nr_nodes = 15,
	.leaves = chain_leaves,
	.nr_leaves = 2,
};

/* A job that idled three times as often, and made twice as many copies. */
static const char *const idle_strings[] = {"", "[GPU0_Idle]", "[GPU0_Memcpy]HtoD"};
static const struct report_node idle_nodes[] = {{0, 0}};
static const struct report_leaf idle_leaves[][2] = {
	{{.name = 1, .rank = -1, .kind = REPORT_KIND_IDLE, .count = 100, .ns = 5000},
	 {.name = 2, .rank = -1, .kind = REPORT_KIND_MEMCPY, .count = 10, .ns = 10}},
	{{.name = 1, .rank = -1, .kind = REPORT_KIND_IDLE, .count = 300, .ns = 5000},
	 {.name = 2, .rank = -1, .kind = REPORT_KIND_MEMCPY, .count = 20, .ns = 20}},
};

/* Samples of a kernel: shared out over launches before, and not after, when it ran on another GPU. */
static const char *const stall_strings[] = {"",
					    "hot.cu:17",
					    "[stall]\u2248long scoreboard",
					    "[stall]long scoreboard",
					    "[GPU0_Kernel]k",
					    "[GPU13_Kernel]k"};
static const struct report_node stall_nodes[][3] = {{{0, 0}, {0, 4}, {1, 1}},
						    {{0, 0}, {0, 5}, {1, 1}}};
static const struct report_leaf stall_leaves[][1] = {
	{{.node = 2, .name = 2, .rank = -1, .kind = REPORT_KIND_STALL, .count = 10, .ns = 500}},
	{{.node = 2, .name = 3, .rank = -1, .kind = REPORT_KIND_STALL, .count = 30, .ns = 700}},
};

static struct pair_tree *pair;
static struct report_diff *diff;
static struct change_table *table;

static void pair_up(double factor)
{
	assert_int_equal(pair_tree_create(&before, &after, factor, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
}

static void list_by(enum change_by by, double factor)
{
	const struct source_frameworks frameworks = {pair->is_framework, pair->tree.nr_strings};

	assert_int_equal(change_table_create(diff, by, &frameworks, factor, &table), 0);
}

static void part(void)
{
	change_table_destroy(table);
	table = NULL;
	report_diff_destroy(diff);
	pair_tree_destroy(pair);
}

static void assert_row(uint32_t at, const char *name, uint64_t before_ns, uint64_t after_ns)
{
	assert_true(at < table->nr_rows);
	assert_string_equal(table->rows[at].name, name);
	assert_int_equal(table->rows[at].before.ns, before_ns);
	assert_int_equal(table->rows[at].after.ns, after_ns);
}

static void kernels_match_whatever_the_gpu(void **state)
{
	double launches;

	(void)state;
	pair_up(1);
	list_by(CHANGE_BY_KERNEL, 2);
	assert_int_equal(table->nr_rows, 4);
	assert_row(0, "sm90_gemm", 10000, 22000);
	assert_row(1, "[GPU_Memcpy]HtoD", 700, 0);
	assert_row(2, "flash_fwd_kernel", 0, 100);
	assert_row(3, "vectorized_elementwise_kernel", 4000, 8000);
	assert_int_equal(table->before.ns, 14700);
	assert_int_equal(table->after.ns, 30100);
	assert_int_equal(change_table_launches(table, &launches), 0);
	assert_true(launches == 2);
	part();
}

static void only_kernels_tell_how_much_longer_a_run_is(void **state)
{
	struct report_tree sides[2];
	double launches = 1;

	(void)state;
	for (int i = 0; i < 2; i++)
		sides[i] = (struct report_tree){.strings = idle_strings,
						.nr_strings = 3,
						.nodes = idle_nodes,
						.nr_nodes = 1,
						.leaves = idle_leaves[i],
						.nr_leaves = 2};
	assert_int_equal(pair_tree_create(&sides[0], &sides[1], 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	list_by(CHANGE_BY_KERNEL, 1);
	assert_int_equal(table->nr_rows, 2);
	assert_int_equal(change_table_launches(table, &launches), 0);
	assert_true(launches == 0);
	part();
}

static void a_function_without_a_symbol_matches_by_its_file(void **state)
{
	(void)state;
	pair_up(1);
	list_by(CHANGE_BY_FRAME, 2);
	assert_int_equal(table->nr_rows, 3);
	assert_row(0, "torch/linear.py:forward:9", 10000, 22100);
	assert_row(1, "libmodel.so", 10000, 22000);
	assert_row(2, "train.py:main:3", 14700, 30100);
	part();
}

static void frames_with_the_same_work_become_one_row(void **state)
{
	(void)state;
	assert_int_equal(pair_tree_create(&chain_tree, &chain_tree, 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	list_by(CHANGE_BY_FRAME, 2);
	assert_int_equal(table->nr_rows, 8);
	assert_int_equal(change_table_fold(table), 0);
	assert_int_equal(table->nr_rows, 3);
	/* c has two callers, so it stays alone; the frames below it have one each. */
	assert_row(0, "c > 3 more > g > h", 30, 30);
	assert_row(1, "a", 20, 20);
	assert_row(2, "b", 10, 10);
	part();
}

static void a_line_is_the_users_even_below_a_framework(void **state)
{
	(void)state;
	pair_up(1);
	list_by(CHANGE_BY_LINE, 2);
	assert_int_equal(table->nr_rows, 1);
	assert_row(0, "train.py:main:3", 14700, 30100);
	part();
}

static void assert_line(const struct run_item *item, uint32_t i, const char *text,
			const char *function, uint64_t ns)
{
	assert_true(i < item->nr_lines);
	assert_string_equal(item->lines[i].text, text);
	assert_string_equal(item->lines[i].function, function);
	assert_int_equal(item->lines[i].ns, ns);
	assert_ptr_equal(strstr(text, item->lines[i].own_text) + strlen(item->lines[i].own_text),
			 text + strlen(text));
	assert_non_null(strstr(item->lines[i].own_text, item->lines[i].own_function));
}

static void free_lines(struct run_item *item)
{
	for (uint32_t i = 0; i < item->nr_lines; i++) {
		free(item->lines[i].text);
		free(item->lines[i].function);
	}
	free(item->lines);
}

static void a_kernel_has_the_lines_that_launch_it(void **state)
{
	struct run_item items[] = {
		{.kind = RUN_KIND_ALL, .name = (char *)"all kernels"},
		{.kind = RUN_KIND_KERNEL, .name = (char *)"sm90_gemm"},
		{.kind = RUN_KIND_KERNEL, .name = (char *)"vectorized_elementwise_kernel"}};
	const struct run_item *by_name[] = {&items[0], &items[1], &items[2]};
	struct run_work work = {.items = items, .nr_items = 3, .by_name = by_name};

	(void)state;
	assert_int_equal(run_lines_find(&before, &work), 0);
	assert_int_equal(items[0].nr_lines, 0);
	assert_int_equal(items[1].nr_lines, 1);
	assert_line(&items[1], 0, "train.py:main:3", "train.py:main", 10000);
	assert_int_equal(items[2].nr_lines, 1);
	assert_line(&items[2], 0, "train.py:main:3", "train.py:main", 4000);
	free_lines(&items[1]);
	free_lines(&items[2]);
}

/* All launches go through one helper. */
static const char *const helper_strings[] = {"",
					     "fit.py:norm:18",
					     "fit.py:mlp:16",
					     "gpu.py:launch:21",
					     "[GPU0_Kernel]layer_norm",
					     "[GPU0_Kernel]gemm"};
static const struct report_node helper_nodes[] = {{0, 0}, {0, 1}, {1, 3}, {0, 2}, {3, 3}};
static const struct report_leaf helper_leaves[][2] = {
	{{.node = 2, .name = 4, .rank = -1, .count = 10, .ns = 100},
	 {.node = 4, .name = 5, .rank = -1, .count = 20, .ns = 1000}},
	{{.node = 2, .name = 4, .rank = -1, .count = 10, .ns = 150},
	 {.node = 4, .name = 5, .rank = -1, .count = 20, .ns = 1000}},
};

static struct report_tree helper_tree(int side)
{
	return (struct report_tree){.strings = helper_strings,
				    .nr_strings = 6,
				    .nodes = helper_nodes,
				    .nr_nodes = 5,
				    .leaves = helper_leaves[side],
				    .nr_leaves = 2};
}

static void a_helpers_line_is_divided_by_its_callers(void **state)
{
	const struct report_tree sides[] = {helper_tree(0), helper_tree(1)};

	(void)state;
	assert_int_equal(pair_tree_create(&sides[0], &sides[1], 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	list_by(CHANGE_BY_LINE, 1);
	assert_int_equal(table->nr_rows, 2);
	assert_row(0, "fit.py:norm:18 > gpu.py:launch:21", 100, 150);
	assert_row(1, "fit.py:mlp:16 > gpu.py:launch:21", 1000, 1000);
	assert_int_equal(change_table_fold(table), 0);
	assert_int_equal(table->nr_rows, 2);
	part();
}

static void a_kernel_of_a_helper_has_the_line_that_calls_it(void **state)
{
	struct run_item items[] = {{.kind = RUN_KIND_ALL, .name = (char *)"all kernels"},
				   {.kind = RUN_KIND_KERNEL, .name = (char *)"gemm"},
				   {.kind = RUN_KIND_KERNEL, .name = (char *)"layer_norm"}};
	const struct run_item *by_name[] = {&items[0], &items[1], &items[2]};
	struct run_work work = {.items = items, .nr_items = 3, .by_name = by_name};
	const struct report_tree tree = helper_tree(1);

	(void)state;
	assert_int_equal(run_lines_find(&tree, &work), 0);
	assert_line(&items[1], 0, "fit.py:mlp:16 > gpu.py:launch:21", "fit.py:mlp > gpu.py:launch",
		    1000);
	assert_line(&items[2], 0, "fit.py:norm:18 > gpu.py:launch:21",
		    "fit.py:norm > gpu.py:launch", 150);
	free_lines(&items[1]);
	free_lines(&items[2]);
}

static void without_a_users_line_it_is_the_frameworks(void **state)
{
	static const bool is_framework[16] = {false, true, true, true, true, true, true, true};
	const struct source_frameworks all = {is_framework, 8};

	(void)state;
	pair_up(1);
	assert_int_equal(change_table_create(diff, CHANGE_BY_LINE, &all, 1, &table), 0);
	assert_row(0, "torch/linear.py:forward:9", 10000, 22100);
	part();
}

static struct report_tree stall_tree(int side)
{
	return (struct report_tree){.strings = stall_strings,
				    .nr_strings = 6,
				    .nodes = stall_nodes[side],
				    .nr_nodes = 3,
				    .leaves = stall_leaves[side],
				    .nr_leaves = 1};
}

static void a_reason_is_one_row_whether_or_not_it_is_shared_out(void **state)
{
	const struct report_tree sides[] = {stall_tree(0), stall_tree(1)};

	(void)state;
	assert_int_equal(pair_tree_create(&sides[0], &sides[1], 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	assert_int_equal(diff->tree.nr_leaves, 1);
	list_by(CHANGE_BY_KERNEL, 1);
	assert_int_equal(table->nr_rows, 1);
	assert_row(0, "k > [stall]long scoreboard", 500, 700);
	change_table_destroy(table);
	list_by(CHANGE_BY_CLASS, 1);
	assert_int_equal(table->nr_rows, 1);
	assert_row(0, "[stall]long scoreboard", 500, 700);
	part();
}

/* Two kernels that took as long before and after. k waits at two lines for one reason, and once before its first one.
 * The last leaf has no kernel. */
static void a_change_of_reasons_shows_in_its_kernel(void **state)
{
	static const char *const strings[] = {
		"",          "[GPU_Kernel]k", "[GPU_Kernel]other", "hot.cu:17",
		"hot.cu:18", "[stall]wait",   "[stall]barrier"};
	static const struct report_node nodes[] = {{0, 0}, {0, 1}, {0, 2}, {1, 3}, {1, 4}};
	struct report_leaf leaves[2][5] = {
		{{.node = 3, .name = 5, .ns = 600},
		 {.node = 4, .name = 5, .ns = 300},
		 {.node = 1, .name = 6, .ns = 100},
		 {.node = 2, .name = 5, .ns = 50},
		 {.node = 0, .name = 5, .ns = 7}},
	};
	struct report_tree sides[2];

	(void)state;
	for (int i = 0; i < 5; i++) {
		leaves[0][i].rank = -1;
		leaves[0][i].kind = REPORT_KIND_STALL;
		leaves[1][i] = leaves[0][i];
	}
	leaves[1][0].ns = 200;
	leaves[1][2].ns = 500;
	for (int i = 0; i < 2; i++)
		sides[i] = (struct report_tree){.strings = strings,
						.nr_strings = 7,
						.nodes = nodes,
						.nr_nodes = 5,
						.leaves = leaves[i],
						.nr_leaves = 5};
	assert_int_equal(pair_tree_create(&sides[0], &sides[1], 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	list_by(CHANGE_BY_KERNEL, 1);
	assert_int_equal(table->nr_rows, 4);
	assert_row(0, "k > [stall]barrier", 100, 500);
	assert_row(1, "k > [stall]wait", 900, 500);
	assert_row(2, "[stall]wait", 7, 7);
	assert_row(3, "other > [stall]wait", 50, 50);
	part();
}

static void a_kernel_with_samples_is_one_frame_on_all_gpus(void **state)
{
	const struct report_tree sides[] = {stall_tree(0), stall_tree(1)};

	(void)state;
	assert_int_equal(pair_tree_create(&sides[0], &sides[1], 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	assert_int_equal(diff->tree.nr_nodes, 3);
	list_by(CHANGE_BY_FRAME, 1);
	assert_int_equal(table->nr_rows, 2);
	assert_row(0, "[GPU_Kernel]k", 500, 700);
	assert_row(1, "hot.cu:17", 500, 700);
	part();
}

static void classes_sum_all_work(void **state)
{
	(void)state;
	pair_up(1);
	list_by(CHANGE_BY_CLASS, 2);
	assert_int_equal(table->nr_rows, 4);
	assert_row(0, "gemm", 10000, 22000);
	assert_row(1, "memcpy", 700, 0);
	assert_row(2, "attention", 0, 100);
	assert_row(3, "elementwise", 4000, 8000);
	part();
}

static void folded_stacks_have_equal_lengths_of_run(void **state)
{
	const struct folded_options options = {.unit = FOLDED_NS};
	char *text = NULL;
	size_t size;

	(void)state;
	pair_up(2);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(diff_writer_folded(out, diff, &options), 0);
	fclose(out);
	assert_string_equal(
		text,
		"train.py:main:3;[GPU_Kernel]vectorized_elementwise_kernel 8000 8000\n"
		"train.py:main:3;[GPU_Memcpy]HtoD 1400 0\n"
		"train.py:main:3;torch/linear.py:forward:9;[GPU_Kernel]flash_fwd_kernel 0 100\n"
		"train.py:main:3;torch/linear.py:forward:9;libmodel.so;[GPU_Kernel]sm90_gemm 20000 "
		"22000\n");
	free(text);
	part();
}

static void a_profile_against_itself_has_no_change(void **state)
{
	(void)state;
	assert_int_equal(pair_tree_create(&before, &before, 1, &pair), 0);
	assert_int_equal(report_diff_create(&pair->tree, PAIR_AFTER, PAIR_BEFORE, &diff), 0);
	list_by(CHANGE_BY_FRAME, 1);
	assert_int_equal(table->nr_rows, 3);
	for (uint32_t i = 0; i < table->nr_rows; i++)
		assert_int_equal(table->rows[i].before.ns, table->rows[i].after.ns);
	part();
}

static void steps_count_before_collectives_and_these_before_launches(void **state)
{
	const struct run_counts steps = {.steps = 1000, .collectives = 5000, .nr_ranks = 4};
	const struct run_counts calls = {.collectives = 6000, .nr_ranks = 4}, none = {0};
	struct run_scale scale = run_scale_choose(
		&steps, &(struct run_counts){.steps = 1501, .collectives = 9000}, 1.5);

	(void)state;
	assert_int_equal(scale.unit, RUN_STEPS);
	assert_true(scale.factor == 1.5); /* the pattern of calls is counted to about one step */
	scale = run_scale_choose(&steps, &(struct run_counts){.steps = 2000, .collectives = 9000},
				 1.5);
	assert_true(scale.factor == 2);
	scale = run_scale_choose(&steps, &calls, 0);
	assert_int_equal(scale.unit, RUN_COLLECTIVES);
	assert_true(scale.factor == 1.2);
	scale = run_scale_choose(&none, &calls, 3);
	assert_int_equal(scale.unit, RUN_LAUNCHES);
	assert_true(scale.factor == 3);
	scale = run_scale_choose(&none, &none, 0);
	assert_int_equal(scale.unit, RUN_WHOLE);
	assert_true(scale.factor == 1);
}

static void marked_steps_count_before_patterns(void **state)
{
	const struct run_counts first = {.steps = 400, .nr_ranks = 4, .marks = 100, .nr_marked = 2};
	const struct run_counts second = {
		.steps = 400, .nr_ranks = 4, .marks = 300, .nr_marked = 2};
	const struct run_counts unmarked = {.steps = 800, .nr_ranks = 4};
	struct run_scale scale = run_scale_choose(&first, &second, 0);

	(void)state;
	assert_int_equal(scale.unit, RUN_MARKS);
	assert_true(scale.factor == 3);
	assert_int_equal(run_counts_ranks(&first, scale.unit), 2);
	scale = run_scale_choose(&first, &unmarked, 0);
	assert_int_equal(scale.unit, RUN_STEPS);
	assert_true(scale.factor == 2);
	assert_int_equal(run_counts_ranks(&first, scale.unit), 4);
	assert_int_equal(run_counts_ranks(&first, RUN_LAUNCHES), 0);
	scale = run_scale_of_ranks(&first);
	assert_int_equal(scale.unit, RUN_MARKS);
	assert_true(scale.before == 50 && scale.after == 50 && scale.factor == 1);
	scale = run_scale_of_ranks(&unmarked);
	assert_int_equal(scale.unit, RUN_STEPS);
	assert_true(scale.before == 200);
	struct run_counts uneven = first;
	uneven.differ = true;
	assert_int_equal(run_scale_of_ranks(&uneven).unit, RUN_WHOLE);
}

static void the_table_lists_new_and_vanished_rows(void **state)
{
	char *text = NULL;
	size_t size;

	(void)state;
	pair_up(1);
	list_by(CHANGE_BY_KERNEL, 2);
	const struct change_report report = {.table = table,
					     .before = {.label = "old"},
					     .after = {.label = "new"},
					     .scale = {RUN_LAUNCHES, 1, 2, 2},
					     .by = "kernel"};
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(change_writer_table(out, &report, NULL, 1), 0);
	fclose(out);
	assert_non_null(strstr(text, "2.0000 times as many launches"));
	assert_non_null(strstr(text, "+10.00 %"));
	assert_non_null(strstr(text, "2 more rows (--top)"));
	assert_non_null(strstr(text, " 1 row without a difference\n"));
	assert_non_null(strstr(text, "New:\n      100 ns  flash_fwd_kernel\n"));
	assert_non_null(strstr(text, "Vanished:\n      700 ns  [GPU_Memcpy]HtoD\n"));
	free(text);
	part();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_match_whatever_the_gpu),
		cmocka_unit_test(only_kernels_tell_how_much_longer_a_run_is),
		cmocka_unit_test(a_function_without_a_symbol_matches_by_its_file),
		cmocka_unit_test(frames_with_the_same_work_become_one_row),
		cmocka_unit_test(a_line_is_the_users_even_below_a_framework),
		cmocka_unit_test(a_kernel_has_the_lines_that_launch_it),
		cmocka_unit_test(a_helpers_line_is_divided_by_its_callers),
		cmocka_unit_test(a_kernel_of_a_helper_has_the_line_that_calls_it),
		cmocka_unit_test(without_a_users_line_it_is_the_frameworks),
		cmocka_unit_test(a_reason_is_one_row_whether_or_not_it_is_shared_out),
		cmocka_unit_test(a_change_of_reasons_shows_in_its_kernel),
		cmocka_unit_test(a_kernel_with_samples_is_one_frame_on_all_gpus),
		cmocka_unit_test(classes_sum_all_work),
		cmocka_unit_test(folded_stacks_have_equal_lengths_of_run),
		cmocka_unit_test(a_profile_against_itself_has_no_change),
		cmocka_unit_test(steps_count_before_collectives_and_these_before_launches),
		cmocka_unit_test(marked_steps_count_before_patterns),
		cmocka_unit_test(the_table_lists_new_and_vanished_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

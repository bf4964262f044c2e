#include "report/model/frame_ranks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/writers/csv_writer.h"
#include "report/writers/json_writer.h"
#include "report_fixture.h"

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static uint32_t allocations_left = UINT32_MAX;

static bool may_allocate(void)
{
	if (allocations_left == 0)
		return false;
	allocations_left -= allocations_left != UINT32_MAX;
	return true;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
	return may_allocate() ? __real_realloc(memory, size) : NULL;
}

static void add(uint32_t process_id, uint32_t stack_id, const char *kernel)
{
	struct fold_key key = report_fixture_key(stack_id, kernel);

	key.process_id = process_id;
	report_fixture_add_row(key, 1, 1000, 0);
}

/* Rank 3 is there; 4 has two processes and its own GPU. */
static void fill(void)
{
	uint32_t rank_3 = report_fixture.process_id;
	uint32_t rank_4 = report_fixture_process("node02", 200, 4, 1);
	uint32_t beside = report_fixture_process("node03", 300, 4, 1);
	uint32_t unknown = report_fixture_process("node04", 400, -1, 0);
	uint32_t step = report_fixture_stack("main", "step", NULL);
	uint32_t load = report_fixture_stack("main", "load", NULL);

	add(rank_3, step, "gemm");
	add(rank_3, load, "copy");
	add(rank_4, step, "gemm");
	add(rank_4, step, "only");
	add(beside, load, "copy");
	add(beside, step, "gemm");
	add(unknown, load, "copy");
	add(unknown, report_fixture_stack("main", "other", NULL), "gemm");
	report_fixture_build(DEMANGLE_FULL);
}

/* Of a leaf, "rank path ranks-of-each-frame", a line each. */
static void check(const char *by_words, const char *wanted)
{
	const struct report_tree *tree = report_fixture.tree;
	struct frame_ranks *ranks;
	struct report_by by;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_by_parse(by_words, &by), 0);
	assert_int_equal(frame_ranks_create(tree, &by, &ranks), 0);
	assert_non_null(ranks);
	assert_int_equal(frame_ranks_all(ranks), 2);
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		fprintf(out, "%d", (int)leaf->rank);
		for (uint32_t node = leaf->node; node != REPORT_NODE_ROOT;
		     node = tree->nodes[node].parent)
			fprintf(out, " %s=%u", tree->strings[tree->nodes[node].name],
				(unsigned)frame_ranks_of_node(ranks, leaf, node));
		fprintf(out, " %s=%u\n", tree->strings[leaf->name],
			(unsigned)frame_ranks_of_leaf(ranks, leaf));
	}
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
	frame_ranks_destroy(ranks);
}

static void equal_paths_and_activities_of_all_ranks_are_one(void **state)
{
	(void)state;
	fill();
	check("", "3 step=2 main=2 [GPU0_Kernel]gemm=2\n"
		  "3 load=2 main=2 [GPU0_Kernel]copy=2\n"
		  "4 step=2 main=2 [GPU1_Kernel]gemm=2\n"
		  "4 step=2 main=2 [GPU1_Kernel]only=1\n"
		  "4 load=2 main=2 [GPU1_Kernel]copy=2\n"
		  "4 step=2 main=2 [GPU1_Kernel]gemm=2\n"
		  "-1 load=2 main=2 [GPU0_Kernel]copy=2\n"
		  "-1 other=0 main=2 [GPU0_Kernel]gemm=0\n");
}

static void what_is_kept_apart_is_counted_apart(void **state)
{
	(void)state;
	fill();
	check("gpu", "3 step=1 main=1 [GPU0_Kernel]gemm=1\n"
		     "3 load=1 main=1 [GPU0_Kernel]copy=1\n"
		     "4 step=1 main=1 [GPU1_Kernel]gemm=1\n"
		     "4 step=1 main=1 [GPU1_Kernel]only=1\n"
		     "4 load=1 main=1 [GPU1_Kernel]copy=1\n"
		     "4 step=1 main=1 [GPU1_Kernel]gemm=1\n"
		     "-1 load=1 main=1 [GPU0_Kernel]copy=1\n"
		     "-1 other=0 main=1 [GPU0_Kernel]gemm=0\n");
}

static void there_is_nothing_to_tell_of_one_rank_or_of_ranks_apart(void **state)
{
	struct frame_ranks *ranks;
	struct report_by by;

	(void)state;
	assert_int_equal(report_by_parse("host,rank", &by), 0);
	add(report_fixture.process_id, report_fixture_stack("main", NULL), "gemm");
	report_fixture_build(DEMANGLE_FULL);
	assert_int_equal(frame_ranks_create(report_fixture.tree, NULL, &ranks), 0);
	assert_null(ranks);
	fill();
	assert_int_equal(frame_ranks_create(report_fixture.tree, NULL, &ranks), 0);
	assert_non_null(ranks);
	frame_ranks_destroy(ranks);
	assert_int_equal(frame_ranks_create(report_fixture.tree, &by, &ranks), 0);
	assert_null(ranks);
}

static char *json(const char *by_words)
{
	struct report_busy *busy;
	struct report_by by;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_by_parse(by_words, &by), 0);
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	assert_int_equal(json_writer_write(out, report_fixture.tree, busy, NULL, NULL, NULL, &by), 0);
	fclose(out);
	report_busy_destroy(busy);
	return text;
}

static void the_json_has_a_number_for_each_frame(void **state)
{
	(void)state;
	uint32_t step = report_fixture_stack("main", "step", NULL);
	uint32_t rank_4 = report_fixture_process("node02", 200, 4, 1);

	add(report_fixture.process_id, step, "gemm");
	add(rank_4, step, "only");
	report_fixture_build(DEMANGLE_FULL);
	char *text = json("");
	const char *leaves = strstr(text, "\"rank_count\"");
	assert_non_null(leaves);
	assert_string_equal(
		leaves,
		"\"rank_count\":2,\n"
		"\"durations\":[],\n"
		"\"leaves\":[\n"
		"{\"host\":\"node01\",\"process\":0,\"rank\":3,\"gpu\":0,\"context\":1,\"stream\":"
		"7,\"tid\":1234,\"kind\":\"kernel\",\"count\":1,\"ns\":1000,\"bytes\":0,"
		"\"frames\":[\"main\",\"step\",\"[GPU0_Kernel]gemm\"],\"frame_ranks\":[2,2,1],"
		"\"plane\":\"gpu\"},\n"
		"{\"host\":\"node02\",\"process\":1,\"rank\":4,\"gpu\":1,\"context\":1,\"stream\":"
		"7,\"tid\":1234,\"kind\":\"kernel\",\"count\":1,\"ns\":1000,\"bytes\":0,"
		"\"frames\":[\"main\",\"step\",\"[GPU1_Kernel]only\"],\"frame_ranks\":[2,2,1],"
		"\"plane\":\"gpu\"}]}\n");
	free(text);
	text = json("rank,host");
	assert_null(strstr(text, "rank_count"));
	assert_null(strstr(text, "frame_ranks"));
	free(text);
}

static void the_csv_has_the_ranks_of_each_row(void **state)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	fill();
	assert_int_equal(csv_writer_write(out, report_fixture.tree, NULL), 0);
	fclose(out);
	assert_string_equal(
		text, "host,rank,pid,gpu,context,stream,thread,kind,name,count,ns,bytes,stack,"
		      "plane,ranks\n"
		      "node01,3,100,0,1,7,1234,kernel,gemm,1,1000,0,\"main;step\",gpu,2\n"
		      "node01,3,100,0,1,7,1234,kernel,copy,1,1000,0,\"main;load\",gpu,2\n"
		      "node02,4,200,1,1,7,1234,kernel,gemm,1,1000,0,\"main;step\",gpu,2\n"
		      "node02,4,200,1,1,7,1234,kernel,only,1,1000,0,\"main;step\",gpu,1\n"
		      "node03,4,300,1,1,7,1234,kernel,copy,1,1000,0,\"main;load\",gpu,2\n"
		      "node03,4,300,1,1,7,1234,kernel,gemm,1,1000,0,\"main;step\",gpu,2\n"
		      "node04,,400,0,1,7,1234,kernel,copy,1,1000,0,\"main;load\",gpu,2\n"
		      "node04,,400,0,1,7,1234,kernel,gemm,1,1000,0,\"main;other\",gpu,0\n");
	free(text);

	const struct report_by by = {1, {REPORT_BY_RANK}};
	out = open_memstream(&text, &size);
	assert_int_equal(csv_writer_write(out, report_fixture.tree, &by), 0);
	fclose(out);
	assert_null(strstr(text, "ranks"));
	free(text);
}

static void without_memory_there_is_none(void **state)
{
	struct frame_ranks *ranks;
	uint32_t failures = 0;
	int error;

	(void)state;
	fill();
	do {
		allocations_left = failures;
		error = frame_ranks_create(report_fixture.tree, NULL, &ranks);
		allocations_left = UINT32_MAX;
		if (error) {
			assert_int_equal(error, -ENOMEM);
			assert_null(ranks);
			failures++;
		}
	} while (error && failures < 100);
	assert_in_range(failures, 4, 99);
	assert_non_null(ranks);
	frame_ranks_destroy(ranks);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_paths_and_activities_of_all_ranks_are_one),
		TEST(what_is_kept_apart_is_counted_apart),
		TEST(there_is_nothing_to_tell_of_one_rank_or_of_ranks_apart),
		TEST(the_json_has_a_number_for_each_frame),
		TEST(the_csv_has_the_ranks_of_each_row),
		TEST(without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which calls of the ranks' are compared, and what is said of the others. */
#include "report/straggler/report_straggler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_build.h"
#include "report/writers/straggler/straggler_rows.h"
#include "report/writers/straggler/straggler_text.h"
#include "report/writers/straggler/straggler_writer.h"
#include "straggler_fixture.h"

#define HOUR_NS 3600000000000ll

static void call_ranks(uint32_t communicator, uint64_t sequence, const uint32_t *processes,
		       uint32_t count, const uint64_t *durations)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Clocks that are hours apart, and the other way round. */
		const struct collective call = job_all_reduce(
			communicator, sequence, 0,
			(uint64_t)(count - i) * 7 * HOUR_NS + 1000 * sequence, durations[i]);

		if (durations[i])
			job_call(processes[i], &call);
	}
}

static void begin(uint32_t *processes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, count);
	}
}

static void what_is_missing_is_counted_and_named(void **state)
{
	static const uint64_t all[] = {10, 40, 30}, two[] = {10, 0, 30}, one[] = {0, 0, 30};
	uint32_t processes[3];
	char *text = NULL;
	size_t size;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 50, i, 4);
	}
	call_ranks(1, 2, processes, 3, all);
	call_ranks(1, 3, processes, 3, two);
	call_ranks(1, 5, processes, 3, all);
	call_ranks(1, 8, processes, 3, one);
	call_ranks(1, 8, processes, 3, one);
	job_commit();
	struct report_straggler *found = job_straggler();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(found->nr_communicators, 1);
	assert_int_equal(of->fold->nr_members, 3);
	assert_int_equal(of->fold->nr_ranks, 4);
	assert_int_equal(of->fold->collectives, 4);
	assert_int_equal(of->fold->complete, 0);
	assert_int_equal(of->fold->used, 2);
	assert_int_equal(of->fold->by_gpu, 0);
	assert_int_equal(of->fold->duplicates, 1);
	assert_int_equal(of->fold->members[0].missing, 1);
	assert_int_equal(of->fold->members[1].missing, 2);
	assert_int_equal(of->fold->members[2].missing, 0);
	assert_int_equal(of->members[0].found.last, 2);
	assert_int_equal(of->members[0].found.others_ns, 100);
	/* From 2000 on to 5000 and the last one's duration. */
	assert_int_equal(of->members[1].span_ns, 3040);
	assert_int_equal(of->span_ns, 3030);

	struct profile *profile = job_profile();
	struct report_tree *tree;
	assert_int_equal(report_tree_build(profile, NULL, &tree), 0);
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(straggler_writer_table(out, found, tree, NULL, 0, false), 0);
	assert_int_equal(straggler_rows_csv(out, found), 0);
	fclose(out);
	assert_non_null(strstr(text, "; not here: rank 3; missing: rank 0 in 1, rank 1 in 2; 1 "
				     "twice\n"));
	assert_non_null(strstr(text, "\nlate: no rank stands out beyond chance"));
	assert_non_null(strstr(text, "\n0000000000000032,profiler,4,0,0,node01,1001,4,0,2,0,1,3030,"
				     "2,100,0,20,25,"));
	free(text);
	report_tree_destroy(tree);
	profile_destroy(profile);
	report_straggler_destroy(found);
}

static void sends_and_what_has_a_root_are_left_out(void **state)
{
	static const uint64_t all[] = {10, 40};
	uint32_t processes[2];

	(void)state;
	begin(processes, 2);
	call_ranks(1, 2, processes, 2, all);
	/* Rank 0 alone sends: its next sequence is another than rank 1's, the all_reduce's own number is not. */
	struct collective call = job_all_reduce(1, 3, 0, 5000, 1);
	call.function = COLLECTIVE_SEND;
	call.function_sequence = 1;
	job_call(processes[0], &call);
	call = job_all_reduce(1, 4, 0, 6000, 25);
	call.function_sequence = 3;
	job_call(processes[0], &call);
	call = job_all_reduce(1, 3, 0, 6000, 5);
	job_call(processes[1], &call);
	for (uint32_t i = 0; i < 2; i++) {
		call = job_all_reduce(1, 5 - i, 0, 7000, 100 - i);
		call.function = COLLECTIVE_BROADCAST;
		call.function_sequence = 1;
		job_call(processes[i], &call);
	}
	job_commit();
	struct report_straggler *found = job_straggler();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(of->fold->collectives, 2);
	assert_int_equal(of->fold->complete, 2);
	assert_int_equal(of->fold->used, 2);
	assert_int_equal(of->fold->others, 3);
	assert_int_equal(of->members[0].found.others_ns, 30);
	assert_int_equal(of->members[1].found.others_ns, 20);
	report_straggler_destroy(found);
}

/* Ranks start before the first collective of a function: it has waits, and nobody is late in it. */
static void the_first_of_a_function_names_nobody(void **state)
{
	static const uint64_t start[] = {10, 9000}, next[] = {40, 10};
	uint32_t processes[2];

	(void)state;
	begin(processes, 2);
	call_ranks(1, 1, processes, 2, start);
	call_ranks(1, 2, processes, 2, next);
	for (uint32_t i = 0; i < 2; i++) {
		struct collective call = job_all_reduce(1, 3, 0, 9000, 100 + 700 * i);
		call.function = COLLECTIVE_ALL_GATHER;
		call.function_sequence = 1;
		job_call(processes[i], &call);
	}
	job_commit();
	struct report_straggler *found = job_straggler();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(of->fold->collectives, 3);
	assert_int_equal(of->fold->used, 1);
	assert_int_equal(of->members[0].found.last, 0);
	assert_int_equal(of->members[0].found.others_ns, 0);
	assert_int_equal(of->members[0].found.waited_ns, 30);
	assert_int_equal(of->members[1].found.last, 1);
	assert_int_equal(of->members[1].found.others_ns, 30);
	assert_int_equal(of->members[1].found.waited_ns, 8990 + 700);
	report_straggler_destroy(found);
}

static void a_group_in_one_kernel_counts_once(void **state)
{
	uint32_t processes[2];

	(void)state;
	begin(processes, 2);
	for (uint32_t i = 0; i < 2; i++) {
		for (uint64_t sequence = 2; sequence <= 5; sequence++) {
			struct collective call = job_all_reduce(1, sequence, sequence < 5 ? 5 : 0,
								1000 * sequence, 10 + i);

			call.group = 1;
			job_call(processes[i], &call);
		}
		const struct job_kernel kernel = {.name = "ncclDevKernel_A",
						  .correlation_id = 5,
						  .start_ns = 9000,
						  .ns = 700 + 100 * i,
						  .clock_unknown = true};
		job_kernel(processes[i], &kernel);
	}
	job_commit();
	struct report_straggler *found = job_straggler();
	const struct report_straggler_communicator *of = &found->communicators[0];

	assert_int_equal(of->fold->collectives, 4);
	assert_int_equal(of->fold->used, 1);
	assert_int_equal(of->fold->by_gpu, 1);
	assert_int_equal(of->fold->joint, 2);
	assert_int_equal(of->fold->grouped, 1);
	assert_int_equal(of->members[0].found.others_ns, 100);
	report_straggler_destroy(found);
}

/* Four ranks, in pairs, and pairs of the pairs: rank 3 is late in its own, and makes its partner late in the other. */
static void communicators_are_looked_at_one_by_one(void **state)
{
	uint32_t processes[4];

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		processes[i] = job_process((int32_t)i);
		job_communicator(processes[i], 1, 100 + i / 2, i % 2, 2);
		job_communicator(processes[i], 2, 200 + i % 2, i / 2, 2);
	}
	for (uint64_t sequence = 1; sequence <= 40; sequence++)
		for (uint32_t i = 0; i < 4; i++) {
			const struct collective inner =
				job_all_reduce(1, sequence, 0, 1000 * sequence,
					       i == 2 ? 300 : 100 + (sequence + i) % 2);
			const struct collective outer =
				job_all_reduce(2, sequence, 0, 1000 * sequence + 500,
					       i < 2 ? 200 : 100 + (sequence + i) % 2);

			job_call(processes[i], &inner);
			job_call(processes[i], &outer);
		}
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_communicators, 4);
	assert_int_equal(found->nr_ranks, 4);
	assert_int_equal(found->nr_named, 2);
	assert_int_equal(found->ranks[0].rank, 3);
	assert_int_equal(found->ranks[0].named, 2);
	assert_int_equal(found->ranks[1].rank, 2);
	assert_int_equal(found->ranks[1].named, 1);
	assert_int_equal(found->communicators[found->ranks[0].communicator].fold->key, 101);
	report_straggler_destroy(found);
}

static void what_is_not_known_is_said(void **state)
{
	static const uint64_t all[] = {10, 40};
	uint32_t processes[2];
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	begin(processes, 2);
	job_communicator(processes[0], 2, 0, 0, 2);
	job_communicator(processes[0], 3, 99, 0, 2);
	call_ranks(2, 1, processes, 1, all);
	call_ranks(3, 1, processes, 1, all);
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->nr_communicators, 0);
	assert_int_equal(found->nr_alone, 1);
	assert_int_equal(found->unknown, 1);
	assert_string_equal(
		straggler_text_line(found, line, sizeof(line)),
		"late: not known: no collective of which all ranks are here: record all "
		"ranks of the job into one profile");
	report_straggler_destroy(found);
}

static void one_collective_of_all_ranks_is_too_few(void **state)
{
	static const uint64_t start[] = {10, 9000};
	uint32_t processes[2];
	char line[STRAGGLER_TEXT_SIZE];

	(void)state;
	begin(processes, 2);
	call_ranks(1, 1, processes, 2, start);
	job_commit();
	struct report_straggler *found = job_straggler();

	assert_int_equal(found->communicators[0].fold->complete, 1);
	assert_int_equal(found->communicators[0].fold->used, 0);
	assert_string_equal(straggler_text_line(found, line, sizeof(line)),
			    "late: not known: too few collectives: the first one of each "
			    "function, and those without a time, are not compared");
	report_straggler_destroy(found);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, job_set_up, job_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_missing_is_counted_and_named),
		TEST(sends_and_what_has_a_root_are_left_out),
		TEST(the_first_of_a_function_names_nobody),
		TEST(a_group_in_one_kernel_counts_once),
		TEST(communicators_are_looked_at_one_by_one),
		TEST(what_is_not_known_is_said),
		TEST(one_collective_of_all_ranks_is_too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

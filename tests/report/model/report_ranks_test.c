/* What ranks did, and which stand out. */
#include "report/model/report_ranks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "aggregator/core/launch_delay.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/placement_log.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/message.h"
#include "proto/memory_kind.h"
#include "proto/record.h"
#include "report/writers/ranks_writer.h"
#include "report_fixture.h"

#define NCCL "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"

static struct report_ranks *ranks;
static uint32_t processes[64]; /* by rank */

static int tear_down(void **state)
{
	report_ranks_destroy(ranks);
	ranks = NULL;
	return report_fixture_tear_down(state);
}

static void build(void)
{
	report_ranks_destroy(ranks);
	assert_int_equal(report_ranks_create(&report_fixture.profile, &ranks), 0);
	report_fixture_build(DEMANGLE_FULL);
}

/* With its duration in the row's histogram. */
static void add_one(const struct fold_key *key, uint64_t ns)
{
	struct fold_table *totals = report_fixture.collection->totals;
	const uint32_t hash = fold_table_hash(key);
	struct fold_row *row = fold_table_find(totals, key, hash);

	if (!row)
		row = fold_table_append(totals, key, hash);
	assert_non_null(row);
	assert_int_equal(fold_row_add_one(row, ns, 0), 0);
}

/* A record, in its process's timelines and in the totals. */
static void add(uint32_t process_id, uint8_t kind, const char *name, uint64_t start_ns,
		uint64_t end_ns)
{
	struct timeline_table *timelines = report_fixture.collection->timelines;
	const struct timeline_key work = {.level = TIMELINE_WORK, .process_id = process_id};
	struct fold_key key = report_fixture_key(0, name);

	key.process_id = process_id;
	key.kind = kind;
	add_one(&key, end_ns - start_ns);
	assert_int_equal(timeline_table_add(timelines, &work, start_ns, end_ns), 0);
	if (kind == RECORD_GPU_KERNEL)
		assert_int_equal(timeline_table_add_kernel(timelines, process_id, 0,
							   strstr(name, "nccl") != NULL, start_ns,
							   end_ns),
				 0);
}

static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % limit;
}

/* 100 rounds of 10 ms: 6 ms of computation, and 2 ms of communication of which 1 ms lies beside it; each up to a
 * hundredth longer or shorter. Rank slow's kernels take permille of that. Every node's clock is its own. */
static void add_job(int32_t nr_ranks, uint64_t seed, int32_t slow, uint64_t permille)
{
	for (int32_t rank = 0; rank < nr_ranks; rank++) {
		char node[16];
		snprintf(node, sizeof(node), "node%d", rank / 2);
		uint32_t id = report_fixture_process(node, (uint32_t)(500 + rank), rank, rank % 2);
		processes[rank] = id;
		uint64_t at_ns = 1 + (uint64_t)rank * 1000000000000u;

		for (int round = 0; round < 100; round++, at_ns += 10000000) {
			uint64_t compute_ns = 5940000 + random_below(&seed, 120000);
			uint64_t nccl_ns = 1980000 + random_below(&seed, 40000);

			if (rank == slow)
				compute_ns = compute_ns * permille / 1000;
			add(id, RECORD_GPU_KERNEL, "gemm", at_ns, at_ns + compute_ns);
			add(id, RECORD_GPU_KERNEL, NCCL, at_ns + compute_ns - 1000000,
			    at_ns + compute_ns - 1000000 + nccl_ns);
		}
		add(id, RECORD_GPU_MEMSET, NULL, at_ns, at_ns + 1000);
	}
}

static const char *line(void)
{
	static char text[RANKS_WRITER_LINE_SIZE];

	return ranks_writer_line(ranks, text, sizeof(text));
}

static uint32_t nr_outliers(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		count += ranks->rows[i].outliers != 0;
	return count;
}

static void a_row_has_all_that_a_rank_did(void **state)
{
	(void)state;
	uint32_t id = report_fixture_process("node02", 7, 5, 1);

	add(id, RECORD_GPU_KERNEL, "gemm", 1000, 2000);
	add(id, RECORD_GPU_KERNEL, "gemm", 1500, 2500); /* of another stream */
	add(id, RECORD_GPU_KERNEL, NCCL, 2200, 3000);
	add(id, RECORD_GPU_MEMCPY, NULL, 4000, 4100);
	add(id, RECORD_GPU_MEMSET, NULL, 4950, 5000);
	add(id, RECORD_GPU_GRAPH, NULL, 4500, 4600);
	build();
	assert_int_equal(ranks->nr_rows, 1);

	const struct report_ranks_row *row = &ranks->rows[0];
	assert_string_equal(row->host, "node02");
	assert_string_equal(row->device_name, "NVIDIA H100");
	assert_int_equal(row->rank, 5);
	assert_int_equal(row->gpu, 1);
	assert_int_equal(row->pid, 7);
	assert_int_equal(row->records, 6);
	assert_int_equal(row->window_ns, 4000);
	assert_int_equal(row->busy_ns, 2000 + 100 + 50 + 100);
	assert_int_equal(row->compute.count, 2);
	assert_int_equal(row->compute.ns, 2000);
	assert_int_equal(row->nccl.count, 1);
	assert_int_equal(row->nccl.ns, 800);
	assert_int_equal(row->nccl_busy_ns, 800);
	assert_int_equal(row->overlap_ns, 300);
	assert_int_equal(row->copies.ns, 100);
	assert_int_equal(row->fills.ns, 50);
	assert_int_equal(row->graphs.ns, 100);
	assert_int_equal(row->late, 0);
	assert_false(row->has_memory);
	assert_int_equal(report_ranks_value(row, REPORT_RANKS_IDLE), 4000 - 2250);
	assert_non_null(ranks->why_not);
	assert_string_equal(line(), "fewer than 4 ranks: not compared");
}

static void rows_are_in_the_order_of_ranks_those_without_one_last(void **state)
{
	(void)state;
	static const int32_t order[] = {7, -1, 0, 12, 2};

	for (uint32_t i = 0; i < 5; i++)
		add(report_fixture_process("node01", 10 + i, order[i], 0), RECORD_GPU_MEMSET, NULL,
		    100, 200);
	build();
	assert_int_equal(ranks->nr_rows, 5);
	assert_int_equal(ranks->rows[0].rank, 0);
	assert_int_equal(ranks->rows[1].rank, 2);
	assert_int_equal(ranks->rows[2].rank, 7);
	assert_int_equal(ranks->rows[3].rank, 12);
	assert_int_equal(ranks->rows[4].rank, REPORT_RANK_NONE);
	assert_null(ranks->why_not);
}

static void one_that_is_a_tenth_less_busy_is_named(void **state)
{
	(void)state;
	add_job(8, 1, 5, 867); /* 6 of 7 ms busy a round are computation */
	build();
	assert_int_equal(ranks->nr_rows, 8);
	assert_int_equal(nr_outliers(), 1);
	assert_true(ranks->rows[5].outliers & 1u << REPORT_RANKS_BUSY);
	assert_true(ranks->rows[5].outliers & 1u << REPORT_RANKS_COMPUTE);
	assert_true(ranks->rows[5].outliers & 1u << REPORT_RANKS_IDLE);
	assert_false(ranks->rows[5].outliers & 1u << REPORT_RANKS_NCCL);
	assert_memory_equal(line(), "stands out: rank 5 on node2 GPU1 (busy -1", 41);
	assert_non_null(strstr(line(), ", compute -13."));
	assert_non_null(strstr(line(), ", idle 3"));
	assert_non_null(strstr(line(), " %, others 30 %)"));
	assert_null(strstr(line(), "; "));
}

static void none_is_named_where_all_are_alike(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		add_job(8, seed * 7919, -1, 0);
		build();
		assert_int_equal(ranks->nr_rows, 8);
		assert_int_equal(nr_outliers(), 0);
		assert_string_equal(line(), "no rank stands out");
		report_ranks_destroy(ranks);
		ranks = NULL;
		assert_int_equal(report_fixture_tear_down(state), 0);
		assert_int_equal(report_fixture_set_up(state), 0);
	}
}

/* Rank 5 has so many more kernels of that length, beside its others. */
static void add_long_kernels(uint32_t count, uint64_t ns)
{
	const uint64_t start_ns = 1 + 5 * 1000000000000u;

	add_job(8, 1, -1, 1000);
	for (uint32_t i = 0; i < count; i++)
		add(processes[5], RECORD_GPU_KERNEL, "gemm", start_ns + i * ns,
		    start_ns + (i + 1) * ns);
	build();
}

/* Five kernels in a hundred are a twentieth: without them its compute time is the others'. */
static void a_few_long_kernels_make_nobody_stand_out(void **state)
{
	(void)state;
	add_long_kernels(5, 16000000);
	assert_int_equal(ranks->rows[5].compute.count, 105);
	assert_true(ranks->rows[5].compute.ns * 10 > ranks->medians_ns[REPORT_RANKS_COMPUTE] * 11);
	assert_int_equal(nr_outliers(), 0);
}

/* As much time in more kernels. */
static void more_long_kernels_than_a_twentieth_stand_out(void **state)
{
	(void)state;
	add_long_kernels(20, 4000000);
	assert_int_equal(nr_outliers(), 1);
	assert_int_equal(ranks->rows[5].outliers, 1u << REPORT_RANKS_COMPUTE);
}

/* Rank 5 pauses so many times, behind its other work: the others wait that long in a kernel of NCCL's. */
static void add_pauses(uint32_t count, uint64_t ns)
{
	const uint64_t start_ns = 1000000001;

	add_job(8, 1, -1, 1000);
	for (uint32_t rank = 0; rank < 8; rank++)
		for (uint32_t i = 0; i < count; i++) {
			const uint64_t from_ns = start_ns + rank * 1000000000000u + i * ns;
			const uint64_t length_ns = rank == 5 ? 2000000 : ns;

			add(processes[rank], RECORD_GPU_KERNEL, NCCL, from_ns + ns - length_ns,
			    from_ns + ns);
		}
	build();
}

/* Five in a hundred kernels are a twentieth. */
static void a_pause_makes_nobody_stand_out(void **state)
{
	(void)state;
	add_pauses(4, 20000000);
	assert_true(ranks->rows[5].nccl.ns * 5 < ranks->medians_ns[REPORT_RANKS_NCCL] * 4);
	assert_true(ranks->rows[5].busy_ns * 20 < ranks->medians_ns[REPORT_RANKS_BUSY] * 19);
	assert_int_equal(nr_outliers(), 0);
}

static void more_pauses_than_a_twentieth_stand_out(void **state)
{
	(void)state;
	add_pauses(40, 5000000);
	assert_int_equal(nr_outliers(), 1);
	assert_true(ranks->rows[5].outliers & 1u << REPORT_RANKS_NCCL);
}

static void three_ranks_are_not_compared(void **state)
{
	(void)state;
	add_job(3, 1, 1, 300);
	build();
	assert_non_null(ranks->why_not);
	assert_int_equal(nr_outliers(), 0);
	assert_string_equal(line(), "fewer than 4 ranks: not compared");
}

static void several_programs_of_a_rank_are_no_more_ranks(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		add(report_fixture_process("node01", 10 + i, (int32_t)(i % 3), 0),
		    RECORD_GPU_MEMSET, NULL, 100, 200 + 1000 * i);
	build();
	assert_int_equal(ranks->nr_rows, 6);
	assert_int_equal(ranks->rows[0].rank, 0);
	assert_int_equal(ranks->rows[1].rank, 0);
	assert_int_equal(ranks->rows[1].pid, 13);
	assert_non_null(ranks->why_not);
}

static void the_peak_is_that_of_device_memory(void **state)
{
	(void)state;
	uint32_t id = report_fixture_process("node01", 7, 0, 0);
	struct memory_event event = {
		.time_ns = 10, .address = 0x1000, .bytes = 4096, .kind = MEMORY_KIND_DEVICE};
	struct roster_process *process = roster_process(report_fixture.collection->roster, id);

	add(id, RECORD_GPU_MEMSET, NULL, 100, 200);
	process->memory = memory_account_create(NULL);
	assert_int_equal(memory_account_add(process->memory, &event), 0);
	event = (struct memory_event){
		.time_ns = 20, .address = 0x9000, .bytes = 1u << 20, .kind = MEMORY_KIND_PINNED};
	assert_int_equal(memory_account_add(process->memory, &event), 0);
	assert_int_equal(memory_account_finish(process->memory), 0);
	build();
	assert_true(ranks->rows[0].has_memory);
	assert_int_equal(ranks->rows[0].peak_bytes, 4096);
}

static void the_one_whose_kernels_wait_longest_is_named(void **state)
{
	(void)state;
	static const uint64_t delays_ns[] = {5000, 5300, 4900, 5200, 21000, 5100};

	for (uint32_t i = 0; i < 6; i++) {
		uint32_t id = report_fixture_process("node01", 10 + i, (int32_t)i, 0);
		struct roster_process *process =
			roster_process(report_fixture.collection->roster, id);

		add(id, RECORD_GPU_KERNEL, "gemm", 1000, 2000);
		process->delays = calloc(1, sizeof(*process->delays));
		assert_non_null(process->delays);
		launch_delays_add(process->delays, 0, 1000, 1000 + delays_ns[i] - 1000);
		launch_delays_add(process->delays, 0, 1000, 1000 + delays_ns[i] + 1001);
	}
	build();
	assert_int_equal(ranks->rows[4].delays, 2);
	assert_int_equal(ranks->rows[4].delay_ns, 21000);
	assert_int_equal(ranks->rows[4].delay_max_ns, 22001);
	assert_int_equal(nr_outliers(), 1);
	assert_int_equal(ranks->rows[4].outliers, 1u << REPORT_RANKS_DELAY);
	assert_string_equal(line(), "stands out: rank 4 on node01 GPU0 (delay +307.8 %)");
}

static void a_process_that_is_not_there_is_an_error(void **state)
{
	(void)state;
	const struct timeline_key key = {.level = TIMELINE_WORK, .process_id = 99};

	assert_int_equal(timeline_table_add(report_fixture.collection->timelines, &key, 100, 200),
			 0);
	assert_int_equal(report_ranks_create(&report_fixture.profile, &ranks), -EPROTO);
	assert_null(ranks);
}

/* --- writers --- */

typedef int write_ranks(FILE *out, const struct report_ranks *ranks,
			const struct report_tree *tree);

static int write_table(FILE *out, const struct report_ranks *of, const struct report_tree *tree)
{
	return ranks_writer_table(out, of, tree, NULL);
}

/* Not inlined, so that the compiler does not take the text for the pointer to it. */
__attribute__((noinline)) static char *text_of(write_ranks *write)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, ranks, report_fixture.tree), 0);
	fclose(out);
	return text;
}

static int write_csv(FILE *out, const struct report_ranks *of, const struct report_tree *tree)
{
	(void)tree;
	return ranks_writer_csv(out, of);
}

static void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void csv_has_integers(void **state)
{
	(void)state;
	uint32_t id = report_fixture_process("node02", 7, -1, 1);

	add(id, RECORD_GPU_KERNEL, "gemm", 1000, 2000);
	add(id, RECORD_GPU_KERNEL, NCCL, 1700, 3000);
	build();
	char *text = text_of(write_csv);
	assert_holds(
		text,
		"rank,host,gpu,pid,records,window_ns,busy_ns,idle_ns,compute_kernels,"
		"compute_ns,nccl_kernels,nccl_ns,copies,memcpy_ns,fills,memset_ns,"
		"graphs,graph_ns,nccl_busy_ns,overlap_ns,nccl_waits_ns,nccl_moves_ns,"
		"nccl_bus_bytes,link,link_bytes_per_second,delays,delay_ns,delay_max_ns,peak_bytes,"
		"late,outliers,job\n"
		",node02,1,7,2,2000,2000,0,1,1000,1,1300,0,0,0,0,0,0,1300,300,0,0,0,,,0,0,0,,0,,"
		"\n");
	free(text);
}

static void json_has_integers_too(void **state)
{
	(void)state;
	add_job(8, 1, 5, 700);
	build();
	char *text = text_of(ranks_writer_json);
	assert_holds(text, "{\"schema\":2,\n\"title\":");
	assert_holds(text, "\n\"outliers\":\"stands out: rank 5 on node2 GPU1 (busy -");
	assert_holds(text, "\n\"compared\":true,\n\"median_ns\":{\"busy\":");
	assert_holds(text, "\n\"ranks\":[\n{\"rank\":0,\"host\":\"node0\",\"gpu\":0,\"name\":"
			   "\"NVIDIA H100\",\"pid\":500,\"records\":201,\"window_ns\":");
	assert_holds(text, "\"peak_bytes\":null,\"late\":0,\"outliers\":[],\"job\":\"\"}");
	assert_holds(text, "\"outliers\":[\"busy\",\"compute\",\"idle\"],\"job\":\"\"}");
	free(text);
}

/* The link of a process's device. */
static void add_link(uint32_t process_id, uint32_t link, uint64_t bytes_per_second)
{
	const struct roster_process *process =
		roster_process(report_fixture.collection->roster, process_id);
	uint32_t device = roster_process_device(process, 0);

	assert_int_equal(
		placement_log_add_link(report_fixture.collection->placements,
				       &(struct placement_link){device, link, bytes_per_second}),
		0);
	build();
}

static void assert_table_holds(const char *part)
{
	char *text = text_of(write_table);

	assert_holds(text, part);
	free(text);
}

static void the_peak_of_the_gpus_link_stands_beside_the_bandwidth(void **state)
{
	(void)state;
	uint32_t id = report_fixture_process("node02", 7, -1, 1);

	add(id, RECORD_GPU_KERNEL, NCCL, 1700, 3000);
	build();
	assert_null(ranks->rows[0].link);
	assert_table_holds(" bus GB/s peak GB/s        overlap ");
	assert_table_holds("        -         -          0.00%");
	add_link(id, DEVICE_LINK_PCIE, 64000000000);
	assert_table_holds("        -     64.00 PCIe     0.00%");
	add_link(id, DEVICE_LINK_NVLINK, 478116000000); /* a later row counts */
	assert_table_holds("        -    478.12 NVLink   0.00%");
	char *text = text_of(ranks_writer_json);
	assert_holds(text, "\"link\":\"NVLink\",\"link_bytes_per_second\":478116000000,");
	free(text);
	text = text_of(write_csv);
	assert_holds(text, ",NVLink,478116000000,0,0,0,,0,,\n");
	free(text);
}

static void a_link_that_is_not_known_here_has_no_peak(void **state)
{
	(void)state;
	uint32_t id = report_fixture_process("node02", 7, -1, 1);

	add(id, RECORD_GPU_KERNEL, NCCL, 1700, 3000);
	add_link(id, 77, 1);
	assert_null(ranks->rows[0].link);
	assert_int_equal(ranks->rows[0].link_bytes_per_second, 0);
	char *text = text_of(ranks_writer_json);
	assert_holds(text, "\"link\":null,\"link_bytes_per_second\":null,");
	free(text);
}

static void the_table_marks_who_stands_out(void **state)
{
	(void)state;
	add_job(8, 1, 5, 700);
	build();
	char *text = text_of(write_table);
	assert_holds(text, " rank       window         busy    share      compute");
	assert_holds(text, "* "); /* behind the value */
	assert_holds(text, "\nstands out: rank 5 on node2 GPU1 (busy -");
	char *row = strstr(text, "\n    5 "), *other = strstr(text, "\n    4 ");
	assert_non_null(row);
	assert_non_null(other);
	assert_true(memchr(row + 1, '*', strcspn(row + 1, "\n")) != NULL);
	assert_true(memchr(other + 1, '*', strcspn(other + 1, "\n")) == NULL);
	assert_true(row < strstr(text, "\n    0 "));
	assert_holds(other, "  node2 GPU0 pid 504\n");
	free(text);
}

static void sixteen_rows_that_are_alike_are_rows(void **state)
{
	(void)state;
	add_job(17, 1, 5, 700);
	build();
	char *text = text_of(write_table);
	assert_holds(text, "\n   16 ");
	free(text);
}

static void more_rows_that_are_alike_are_one_line(void **state)
{
	(void)state;
	add_job(18, 1, 5, 700);
	build();
	char *text = text_of(write_table);
	assert_holds(text, "\n    5 ");
	assert_null(strstr(text, "\n   16 "));
	assert_holds(text, "  17 alike, 1 not: the medians of all\n");
	free(text);
	text = text_of(write_csv);
	assert_holds(text, "\n16,");
	free(text);
}

static void ranks_of_several_jobs_are_not_compared(void **state)
{
	(void)state;
	add_job(18, 1, 5, 700);
	assert_int_equal(
		catalog_add_string(report_fixture.collection->catalog, "27", 2,
				   &roster_process(report_fixture.collection->roster, 3)->job),
		0);
	build();
	assert_true(ranks->has_jobs);
	assert_int_equal(nr_outliers(), 0);
	assert_string_equal(line(), "ranks of several jobs: not compared");
	char *text = text_of(write_table);
	assert_holds(text, " pid 501 job 27\n");
	assert_holds(text, " pid 502 job ?\n");
	assert_null(strstr(text, "alike"));
	free(text);
}

static void a_profile_without_gpu_work_has_no_rows(void **state)
{
	(void)state;
	build();
	assert_int_equal(ranks->nr_rows, 0);
	char *text = text_of(ranks_writer_json);
	assert_holds(text, "\"ranks\":[]}");
	free(text);
	text = text_of(write_table);
	assert_holds(text, "not compared");
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, report_fixture_set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_has_all_that_a_rank_did),
		TEST(rows_are_in_the_order_of_ranks_those_without_one_last),
		TEST(one_that_is_a_tenth_less_busy_is_named),
		TEST(none_is_named_where_all_are_alike),
		TEST(a_few_long_kernels_make_nobody_stand_out),
		TEST(more_long_kernels_than_a_twentieth_stand_out),
		TEST(a_pause_makes_nobody_stand_out),
		TEST(more_pauses_than_a_twentieth_stand_out),
		TEST(three_ranks_are_not_compared),
		TEST(several_programs_of_a_rank_are_no_more_ranks),
		TEST(the_peak_is_that_of_device_memory),
		TEST(the_one_whose_kernels_wait_longest_is_named),
		TEST(a_process_that_is_not_there_is_an_error),
		TEST(csv_has_integers),
		TEST(json_has_integers_too),
		TEST(the_peak_of_the_gpus_link_stands_beside_the_bandwidth),
		TEST(a_link_that_is_not_known_here_has_no_peak),
		TEST(the_table_marks_who_stands_out),
		TEST(sixteen_rows_that_are_alike_are_rows),
		TEST(more_rows_that_are_alike_are_one_line),
		TEST(ranks_of_several_jobs_are_not_compared),
		TEST(a_profile_without_gpu_work_has_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

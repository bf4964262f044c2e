#include "tests/support/cmocka_test.h"

#include <stdint.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "report/profile/profile.h"
#include "timeline/steps/step_running.h"
#include "timeline/steps/step_sums.h"
#include "timeline/steps/step_sweep.h"

#define MS 1000000u

/* A process with its events, as timeline_events_read() makes them. */
struct fixture {
	struct profile profile;
	uint32_t process_id, gemm, nccl_name;
	struct timeline_launch launches[32];
	struct timeline_work work[32];
	struct timeline_events events;
	struct nccl_waits_kernel kernels[4];
	struct nccl_waits nccl;
	struct step_row row_list[8];
	struct step_rows rows;
};

static int set_up(void **state)
{
	static struct fixture made;
	struct fixture *f = &made;
	const char *name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
	uint32_t host;

	memset(f, 0, sizeof(*f));
	f->profile.collection = collection_create();
	if (!f->profile.collection ||
	    roster_add_host(f->profile.collection->roster, &(struct roster_host){0}, &host) ||
	    roster_add_process(f->profile.collection->roster,
			       &(struct roster_identity){.host = host, .pid = 7}, &f->process_id) ||
	    catalog_add_string(f->profile.collection->catalog, "gemm", 4, &f->gemm) ||
	    catalog_add_string(f->profile.collection->catalog, name, (uint32_t)strlen(name),
			       &f->nccl_name))
		return -1;
	f->events.launches = f->launches;
	f->events.work = f->work;
	f->nccl.kernels = f->kernels;
	f->rows.rows = f->row_list;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	collection_destroy(f->profile.collection);
	return 0;
}

static struct step_row *add_step(struct fixture *f, uint32_t tid, uint64_t begin_ns,
				 uint64_t end_ns)
{
	struct step_row *row = &f->row_list[f->rows.nr_rows++];

	*row = (struct step_row){.begin_ns = begin_ns,
				 .end_ns = end_ns,
				 .process_id = f->process_id,
				 .tid = tid,
				 .number = f->rows.nr_rows};
	return row;
}

/* launched_ns 0: the launch is not known. Its stack is its number, from 1. */
static struct timeline_work *add(struct fixture *f, uint64_t launched_ns, uint64_t start_ns,
				 uint64_t end_ns)
{
	struct timeline_work *work = &f->work[f->events.nr_work++];

	*work = (struct timeline_work){.start_ns = start_ns,
				       .end_ns = end_ns,
				       .process_id = f->process_id,
				       .name_id = f->gemm,
				       .correlation_id = f->events.nr_work,
				       .kind = RECORD_GPU_KERNEL,
				       .launch = TIMELINE_SOURCE_NONE};
	if (launched_ns) {
		work->launch = f->events.nr_launches++;
		f->launches[work->launch] =
			(struct timeline_launch){.time_ns = launched_ns,
						 .process_id = f->process_id,
						 .tid = 7,
						 .stack_id = f->events.nr_launches,
						 .correlation_id = work->correlation_id};
	}
	return work;
}

/* Sweeps in stretches of this length, and asserts that the parts sum to the steps. */
static void sweep(struct fixture *f, uint64_t length_ns, uint64_t end_ns)
{
	struct step_sweep *sweep = step_sweep_create(&f->rows, &f->profile, &f->nccl);

	assert_non_null(sweep);
	for (uint64_t from_ns = 1; from_ns < end_ns; from_ns += length_ns)
		assert_int_equal(step_sweep_add(sweep, &f->events, from_ns, from_ns + length_ns),
				 0);
	step_sweep_end(sweep);
	step_sweep_destroy(sweep);
	for (uint32_t i = 0; i < f->rows.nr_rows; i++) {
		uint64_t sum_ns = 0;

		for (uint32_t part = 0; part < STEP_PARTS; part++)
			sum_ns += f->row_list[i].parts_ns[part];
		assert_int_equal(sum_ns, f->row_list[i].end_ns - f->row_list[i].begin_ns);
	}
}

static void the_first_of_several_parts_counts(void **state)
{
	struct fixture *f = *state;
	const struct step_row *row = add_step(f, 7, 1000, 2000);

	add(f, 900, 1000, 1100);
	add(f, 910, 1050, 1200)->kind = RECORD_GPU_MEMCPY;
	add(f, 920, 1150, 1300)->name_id = f->nccl_name;
	add(f, 930, 1250, 1400)->kind = RECORD_GPU_GRAPH;
	add(f, 940, 1390, 1500)->kind = RECORD_GPU_MEMSET;
	add(f, 950, 1450, 2100);
	sweep(f, 10000, 3000);
	assert_int_equal(row->parts_ns[STEP_COMPUTE], 100 + 550);
	assert_int_equal(row->parts_ns[STEP_COPIES], 50 + 50);
	assert_int_equal(row->parts_ns[STEP_NCCL], 100);
	assert_int_equal(row->parts_ns[STEP_GRAPHS], 150);
	assert_int_equal(step_rows_idle(row), 0);
}

static void nccl_waits_before_it_moves(void **state)
{
	struct fixture *f = *state;
	const struct step_row *row = add_step(f, 7, 1000, 2000);

	add(f, 900, 1000, 1700)->name_id = f->nccl_name;
	add(f, 910, 1800, 2500)->name_id = f->nccl_name;
	f->kernels[0] = (struct nccl_waits_kernel){700, 300, f->process_id, 1};
	f->nccl.nr_kernels = 1;
	sweep(f, 10000, 3000);
	assert_int_equal(row->parts_ns[STEP_NCCL_WAITS], 300);
	assert_int_equal(row->parts_ns[STEP_NCCL_MOVES], 400);
	assert_int_equal(row->parts_ns[STEP_NCCL], 200); /* of another number: not known */
	assert_int_equal(row->parts_ns[STEP_IDLE_START], 100);
}

static void idle_time_has_a_reason(void **state)
{
	struct fixture *f = *state;
	const struct step_row *row = add_step(f, 7, 10 * MS, 30 * MS);

	add(f, 9 * MS, 10 * MS, 11 * MS);
	add(f, 11 * MS + 400, 11 * MS + 1000, 12 * MS); /* 400 ns late, then 600 ns */
	add(f, 11 * MS + 500, 12 * MS + 300, 13 * MS);  /* launched before the gap */
	add(f, 18 * MS, 18 * MS + 50, 19 * MS);         /* 5 ms late */
	add(f, 0, 20 * MS, 21 * MS);
	sweep(f, 100 * MS, 100 * MS);
	assert_int_equal(row->parts_ns[STEP_IDLE_LAUNCHES], 400);
	assert_int_equal(row->parts_ns[STEP_IDLE_HOST], 5 * MS);
	assert_int_equal(row->parts_ns[STEP_IDLE_START], 600 + 300 + 50);
	assert_int_equal(row->parts_ns[STEP_IDLE_UNKNOWN],
			 1 * MS + 9 * MS); /* the last gap never ends */
	assert_int_equal(row->gap.begin_ns, 13 * MS);
	assert_int_equal(row->gap.end_ns, 18 * MS);
	assert_int_equal(row->gap.tid, 7);
	assert_int_equal(row->gap.before, 3);
	assert_int_equal(row->gap.after, 4);
}

static void a_gap_is_shared_by_the_steps_in_it(void **state)
{
	struct fixture *f = *state;

	add_step(f, 7, 10 * MS, 14 * MS);
	add_step(f, 7, 14 * MS, 20 * MS);
	add_step(f, 8, 12 * MS, 30 * MS); /* of another thread */
	add(f, 9 * MS, 10 * MS, 11 * MS);
	add(f, 18 * MS, 18 * MS, 40 * MS);
	sweep(f, 100 * MS, 100 * MS);
	assert_int_equal(f->row_list[0].parts_ns[STEP_IDLE_HOST], 3 * MS);
	assert_int_equal(f->row_list[1].parts_ns[STEP_IDLE_HOST], 4 * MS);
	assert_int_equal(f->row_list[2].parts_ns[STEP_IDLE_HOST], 6 * MS);
	assert_int_equal(f->row_list[2].parts_ns[STEP_COMPUTE], 12 * MS);
}

/* The host was ahead, and then waited: the second step has the work of the first one. */
static void work_of_earlier_launches_is_told_apart(void **state)
{
	struct fixture *f = *state;
	const struct step_row *first = add_step(f, 7, 1000, 2000),
			      *second = add_step(f, 7, 2000, 9000);

	add(f, 1100, 1200, 4000);
	add(f, 1200, 3500, 5000)->kind = RECORD_GPU_MEMCPY;
	add(f, 2000, 5000, 6000); /* the step's own, as is what it runs beside */
	add(f, 1300, 5500, 6500);
	add(f, 0, 7000, 7500);
	add(f, 1400, 8000, 8100);
	sweep(f, 10000, 10000);
	assert_int_equal(step_rows_earlier(first), 0);
	assert_int_equal(second->parts_ns[STEP_COMPUTE], 2000 + 1000 + 500 + 500 + 100);
	assert_int_equal(second->earlier_ns[STEP_COMPUTE], 2000 + 500 + 100);
	assert_int_equal(second->earlier_ns[STEP_COPIES], 1000);
	assert_int_equal(step_rows_earlier(second), 3600);
}

/* So much work at a time has no launches that are known one by one. */
static void crowds_of_work_are_no_earlier_launches(void **state)
{
	struct step_running running = {0};
	uint64_t launched_ns;

	(void)state;
	for (uint32_t i = 0; i < STEP_RUNNING_KEPT; i++)
		step_running_begin(&running, STEP_COPIES, i, i);
	assert_int_equal(step_running_part(&running, &launched_ns), STEP_COPIES);
	assert_int_equal(launched_ns, STEP_RUNNING_KEPT - 1);
	step_running_begin(&running, STEP_COPIES, 1000, 5);
	step_running_part(&running, &launched_ns);
	assert_true(launched_ns == STEP_RUNNING_UNKNOWN);
	step_running_end(&running, STEP_COPIES, 1000);
	step_running_end(&running, STEP_COPIES, STEP_RUNNING_KEPT - 1);
	step_running_part(&running, &launched_ns);
	assert_int_equal(launched_ns, STEP_RUNNING_KEPT - 2);
}

/* One stretch, and stretches that cut kernels and gaps, say the same. */
static void stretches_do_not_matter(void **state)
{
	struct fixture *f = *state;
	struct step_row whole[2];

	for (uint64_t length_ns = 1000000; length_ns; length_ns /= 10) {
		f->rows.nr_rows = f->events.nr_work = f->events.nr_launches = 0;
		add_step(f, 7, 1000, 5000);
		add_step(f, 7, 5000, 9000);
		add(f, 900, 1010, 1300);
		add(f, 1350, 1400, 2233)->kind = RECORD_GPU_MEMCPY;
		add(f, 1360, 1700, 5100);
		add(f, 5200, 5207, 5208);
		add(f, 6200, 6207, 7208)->name_id = f->nccl_name;
		add(f, 6300, 7100, 7300);
		sweep(f, length_ns, 20000);
		if (length_ns == 1000000)
			memcpy(whole, f->row_list, sizeof(whole));
		assert_memory_equal(whole, f->row_list, sizeof(whole));
	}
	assert_int_equal(whole[0].parts_ns[STEP_COMPUTE], 290 + 3300);
	assert_int_equal(whole[1].parts_ns[STEP_IDLE_LAUNCHES], 100 + 992);
}

static void waits_of_the_host_are_no_work(void **state)
{
	struct fixture *f = *state;
	const struct step_row *row = add_step(f, 7, 1000, 2000);

	add(f, 900, 1000, 1900)->kind = RECORD_GPU_SYNC;
	sweep(f, 10000, 3000);
	assert_int_equal(row->parts_ns[STEP_IDLE_UNKNOWN], 1000);
}

/* Times that make no sense, and ids that come again: the parts still sum (sweep()). */
static void hostile_events_keep_the_sum(void **state)
{
	static const uint64_t odd_ns[] = {0, 1, 4999, 5000, 1ull << 40, UINT64_MAX - 1, UINT64_MAX};
	struct fixture *f = *state;
	uint64_t random = 1;

	for (uint32_t round = 0; round < 2000; round++) {
		f->rows.nr_rows = f->events.nr_work = f->events.nr_launches = 0;
		add_step(f, 7, 100, 3000);
		add_step(f, 7, 3000, 9000);
		add_step(f, 9, 200, 8000);
		f->nccl.nr_kernels = 1;
		f->kernels[0] = (struct nccl_waits_kernel){500, 500, f->process_id, 3};
		for (uint32_t i = 0; i < 24; i++) {
			uint64_t values[3];

			for (uint32_t k = 0; k < 3; k++) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				values[k] = random >> 61 ? (random >> 33) % 10000
							 : odd_ns[(random >> 33) % 7];
			}
			struct timeline_work *work = add(f, values[0], values[1], values[2]);

			work->kind = (uint8_t)(random >> 40) % (RECORD_GPU_SYNC + 1);
			work->correlation_id = (uint32_t)(random >> 45) % 4;
			work->name_id = (uint32_t)(random >> 50) % 4;
		}
		sweep(f, 1 + (random >> 33) % 4000, 12000);
	}
}

static void sums_leave_the_first_step_out(void **state)
{
	struct fixture *f = *state;
	struct step_sums sums;

	for (uint64_t i = 0; i < 8; i++)
		add_step(f, 7, 100 * i, 100 * i + (i ? 10 + i : 90));
	f->row_list[0].is_first = true;
	f->row_list[7].parts_ns[STEP_COPIES] = 3;
	assert_int_equal(step_sums_init(&sums, &f->rows, &f->profile), 0);
	assert_int_equal(sums.nr_sums, 1);
	assert_int_equal(sums.sums[0].nr_steps, 7);
	assert_int_equal(sums.sums[0].least_ns, 11);
	assert_int_equal(sums.sums[0].median_ns, 14);
	assert_int_equal(sums.sums[0].p99_ns, 17);
	assert_int_equal(sums.sums[0].most_ns, 17);
	assert_int_equal(sums.sums[0].sum_ns, 98);
	assert_int_equal(sums.sums[0].parts_ns[STEP_COPIES], 3);
	assert_int_equal(sums.sums[0].part_medians_ns[STEP_COPIES], 0);
	step_sums_fini(&sums);
}

static void a_single_step_counts(void **state)
{
	struct fixture *f = *state;
	struct step_sums sums;

	add_step(f, 7, 100, 200)->is_first = true;
	assert_int_equal(step_sums_init(&sums, &f->rows, &f->profile), 0);
	assert_int_equal(sums.sums[0].nr_steps, 1);
	assert_int_equal(sums.sums[0].p99_ns, 100);
	step_sums_fini(&sums);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_of_several_parts_counts),
		TEST(nccl_waits_before_it_moves),
		TEST(idle_time_has_a_reason),
		TEST(a_gap_is_shared_by_the_steps_in_it),
		TEST(work_of_earlier_launches_is_told_apart),
		TEST(crowds_of_work_are_no_earlier_launches),
		TEST(stretches_do_not_matter),
		TEST(waits_of_the_host_are_no_work),
		TEST(hostile_events_keep_the_sum),
		TEST(sums_leave_the_first_step_out),
		TEST(a_single_step_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

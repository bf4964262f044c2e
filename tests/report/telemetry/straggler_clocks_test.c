/* Whether a lower clock explains that a rank's kernels take longer. */
#include "tests/support/cmocka_test.h"

#include "aggregator/profile/placement_log.h"
#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "report/telemetry/straggler_clocks.h"
#include "tests/report/model/report_fixture.h"

#define RANKS 4u
#define NCCL  "_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define MS    1000000ull

static uint32_t processes[RANKS];
static struct straggler_clocks clocks;

static void add_kernels(uint32_t rank, const char *name, uint64_t count, uint64_t ns)
{
	struct fold_key key = report_fixture_key(0, name);

	key.process_id = processes[rank];
	key.kind = RECORD_GPU_KERNEL;
	assert_int_equal(fold_table_add(report_fixture.collection->totals, &key, count, ns, 0), 0);
}

static void add_clock_at(uint32_t rank, uint64_t begin_ns, uint32_t mhz,
			 enum telemetry_reason reason, uint32_t percent)
{
	const struct roster_process *process =
		roster_process(report_fixture.collection->roster, processes[rank]);
	struct device_telemetry row = {
		.device_id = roster_process_device(process, 0),
		.begin_ns = begin_ns,
		.last_ns = begin_ns + 10,
		.readings = 10,
		.clock_ns = 100 * MS,
		.sm_cycles = 100000ull * mhz,
	};

	row.reason_ns[reason] = percent * MS;
	row.reason_ns[TELEMETRY_FREE] += (100 - percent) * MS;
	assert_int_equal(placement_log_add_telemetry(report_fixture.collection->placements, &row),
			 0);
}

static void add_clock(uint32_t rank, uint32_t mhz, enum telemetry_reason reason, uint32_t percent)
{
	add_clock_at(rank, 1, mhz, reason, percent);
}

static double longer;
static uint64_t start_ns, end_ns;

/* Rank 0 is late: its kernels take permille of the others' time. All have the same NCCL kernels. */
static void make_ranks(uint64_t permille)
{
	longer = ((double)permille - 1000) / 1000;
	start_ns = end_ns = 0;
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		processes[rank] = report_fixture_process(rank ? "node1" : "node0", 500 + rank,
							 (int32_t)rank, (int32_t)rank);
		add_kernels(rank, "gemm", 100, 100 * MS);
		add_kernels(rank, NCCL, 100, 900 * MS);
	}
}

static const char *find(void)
{
	static char text[256];
	const struct straggler_clocks_question question = {.processes = processes,
							   .nr = RANKS,
							   .longer = longer,
							   .start_ns = start_ns,
							   .end_ns = end_ns};

	assert_int_equal(straggler_clocks_find(&report_fixture.profile, &question, &clocks), 0);
	*text = '\0';
	straggler_clocks_text(&clocks, text, sizeof(text));
	return text;
}

static void a_lower_clock_is_named_with_its_reason(void **state)
{
	(void)state;
	make_ranks(1400);
	add_clock(0, 1410, TELEMETRY_SW_POWER_CAP, 62);
	for (uint32_t rank = 1; rank < RANKS; rank++)
		add_clock(rank, 1980, TELEMETRY_SW_POWER_CAP, 3);
	assert_string_equal(find(),
			    ", its GPU ran at 1,410 MHz, the others at 1,980 (power cap 62 % "
			    "of the time)");
}

static void a_reason_that_the_others_have_too_is_none(void **state)
{
	(void)state;
	make_ranks(1400);
	add_clock(0, 945, TELEMETRY_SET_CLOCKS, 100);
	for (uint32_t rank = 1; rank < RANKS; rank++)
		add_clock(rank, 1350, TELEMETRY_SET_CLOCKS, 100);
	assert_string_equal(find(), ", its GPU ran at 945 MHz, the others at 1,350");
}

/* A GPU that works draws more power than those that wait for it. */
static void a_clock_that_explains_less_than_half_is_none(void **state)
{
	(void)state;
	make_ranks(2000);
	add_clock(0, 1410, TELEMETRY_SW_POWER_CAP, 62);
	for (uint32_t rank = 1; rank < RANKS; rank++)
		add_clock(rank, 1980, TELEMETRY_FREE, 0);
	assert_string_equal(find(), "");
	assert_int_equal(clocks.late_mhz, 0);
}

/* From 21 to 30 it is late. Before and after that its clock is the others', and then even lower. */
static void the_clock_is_that_of_the_time_in_which_the_rank_is_late(void **state)
{
	(void)state;
	make_ranks(1400);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		add_clock_at(rank, 11, 1980, TELEMETRY_FREE, 0);
		add_clock_at(rank, 21, rank ? 1980 : 1410, TELEMETRY_SW_POWER_CAP, rank ? 0 : 62);
		add_clock_at(rank, 31, rank ? 1980 : 300, TELEMETRY_SW_THERMAL, rank ? 0 : 100);
	}
	start_ns = 22;
	end_ns = 30;
	assert_string_equal(find(),
			    ", its GPU ran at 1,410 MHz, the others at 1,980 (power cap 62 % "
			    "of the time)");
	start_ns = 12;
	end_ns = 20;
	assert_string_equal(find(), "");
}

/* Its kernels do not take longer. */
static void a_lower_clock_without_longer_kernels_is_none(void **state)
{
	(void)state;
	make_ranks(1000);
	for (uint32_t rank = 0; rank < RANKS; rank++)
		add_clock(rank, rank ? 1980 : 1410, TELEMETRY_SW_POWER_CAP, rank ? 0 : 62);
	assert_string_equal(find(), "");
}

static void the_same_clock_is_none(void **state)
{
	(void)state;
	make_ranks(1020);
	add_clock(0, 1960, TELEMETRY_SW_POWER_CAP, 62);
	for (uint32_t rank = 1; rank < RANKS; rank++)
		add_clock(rank, 1980, TELEMETRY_FREE, 0);
	assert_string_equal(find(), "");
}

static void what_was_not_read_is_not_claimed(void **state)
{
	(void)state;
	make_ranks(1400);
	assert_string_equal(find(), "");
	add_clock(0, 1410, TELEMETRY_SW_POWER_CAP, 62);
	assert_string_equal(find(), ""); /* of the others nothing is known */
	add_clock(2, 1980, TELEMETRY_FREE, 0);
	assert_string_equal(find(),
			    ", its GPU ran at 1,410 MHz, the others at 1,980 (power cap 62 % "
			    "of the time)");
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, report_fixture_set_up, report_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lower_clock_is_named_with_its_reason),
		TEST(a_reason_that_the_others_have_too_is_none),
		TEST(a_clock_that_explains_less_than_half_is_none),
		TEST(the_clock_is_that_of_the_time_in_which_the_rank_is_late),
		TEST(a_lower_clock_without_longer_kernels_is_none),
		TEST(the_same_clock_is_none),
		TEST(what_was_not_read_is_not_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

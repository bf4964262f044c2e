/* What ran between readings: pieces of work in stretches of time. */
#include "report/resource/resource_stretches.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define S  1000000000ull
#define NR 6u

static struct placement_log *rows;
static struct resource_stretches stretches;

static void add_row(uint64_t begin_ns, uint64_t last_ns, uint64_t energy_ns)
{
	const struct device_telemetry row = {
		.device_id = 1,
		.begin_ns = begin_ns,
		.last_ns = last_ns,
		.readings = 4,
		.observed_ns = last_ns - begin_ns,
		.energy_ns = energy_ns,
		.energy_mj = 100,
	};

	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
}

/* Six seconds from 10 s on. */
static int set_up(void **state)
{
	(void)state;
	rows = placement_log_create();
	assert_non_null(rows);
	for (uint64_t i = 0; i < NR; i++)
		add_row((10 + i) * S, (11 + i) * S, S);
	return resource_stretches_init(&stretches, rows, 1, 0);
}

static int tear_down(void **state)
{
	(void)state;
	resource_stretches_fini(&stretches);
	placement_log_destroy(rows);
	return 0;
}

static uint64_t ns_of(uint32_t i)
{
	return stretches.list[i].class_ns[1];
}

static void a_piece_counts_in_each_stretch_in_which_it_ran(void **state)
{
	(void)state;
	assert_int_equal(stretches.count, NR);
	resource_stretches_add(&stretches, 1, 9 * S, 10 * S + 7, NULL);
	resource_stretches_add(&stretches, 1, 10 * S + 5, 10 * S + 9, NULL);
	resource_stretches_add(&stretches, 1, 11 * S + S / 4, 14 * S + S / 2, NULL);
	resource_stretches_add(&stretches, 1, 15 * S + S / 2, 99 * S, NULL);
	resource_stretches_add(&stretches, 1, 40 * S, 50 * S, NULL);
	resource_stretches_settle(&stretches, NULL);
	assert_int_equal(ns_of(0), 7 + 4);
	assert_int_equal(ns_of(1), S - S / 4);
	assert_int_equal(ns_of(2), S);
	assert_int_equal(ns_of(3), S);
	assert_int_equal(ns_of(4), S / 2);
	assert_int_equal(ns_of(5), S / 2);
}

/* The same as if each second of each piece had been added by itself. */
static void random_pieces_count_as_their_parts(void **state)
{
	uint64_t truth[NR] = {0}, seed = 3;

	(void)state;
	for (uint32_t n = 0; n < 500; n++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		const uint64_t start_ns = 8 * S + (seed >> 33) % (9 * S);
		const uint64_t end_ns = start_ns + (seed >> 20) % (8 * S);

		resource_stretches_add(&stretches, 1, start_ns, end_ns, NULL);
		for (uint64_t i = 0; i < NR; i++) {
			const uint64_t from_ns = start_ns > (10 + i) * S ? start_ns : (10 + i) * S;
			const uint64_t to_ns = end_ns < (11 + i) * S ? end_ns : (11 + i) * S;

			truth[i] += to_ns > from_ns ? to_ns - from_ns : 0;
		}
	}
	resource_stretches_settle(&stretches, NULL);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(ns_of(i), truth[i]);
}

static void scales_count_for_the_pieces_before_them(void **state)
{
	const double scales[NR] = {1, 2, 4, 1e18, 1, 1};

	(void)state;
	resource_stretches_add(&stretches, 1, 11 * S + S / 2, 14 * S, scales);
	resource_stretches_settle(&stretches, scales);
	resource_stretches_settle(&stretches, scales);
	assert_int_equal(ns_of(1), S);
	assert_int_equal(ns_of(2), 4 * S);
	assert_int_equal(ns_of(3), UINT64_MAX);
	resource_stretches_clear(&stretches);
	assert_int_equal(ns_of(2), 0);
}

/* The counter was not known for more than a tenth of a row. */
static void a_row_with_a_pause_is_no_stretch(void **state)
{
	(void)state;
	resource_stretches_fini(&stretches);
	add_row(20 * S, 22 * S, S);
	add_row(22 * S, 23 * S, S - S / 20);
	assert_int_equal(resource_stretches_init(&stretches, rows, 1, 0), 0);
	assert_int_equal(stretches.count, NR + 1);
	assert_int_equal(stretches.list[NR].begin_ns, 22 * S + S / 20);
	assert_int_equal(stretches.list[NR].end_ns, 23 * S);
}

static void stretches_of_which_nothing_is_known_are_not_fitted(void **state)
{
	struct resource_fit fit;

	(void)state;
	for (uint64_t i = 0; i < NR; i++)
		resource_stretches_add(&stretches, 1, (10 + i) * S, (10 + i) * S + S / 2, NULL);
	resource_stretches_settle(&stretches, NULL);
	resource_stretches_begin(&stretches, 12 * S);
	assert_int_equal(resource_stretches_fit(&stretches, RESOURCE_ENERGY, &fit), 0);
	assert_int_equal(fit.nr_intervals, NR - 2);
	resource_stretches_end(&stretches, stretches.list[stretches.count - 2].end_ns);
	assert_true(stretches.list[stretches.count - 1].is_thin);
	assert_false(stretches.list[stretches.count - 2].is_thin);
}

/* The first row lacks tensor cores, and has memory for most of its time: that counts as all of it. */
static void each_resource_has_the_stretches_in_which_it_is_known(void **state)
{
	struct device_telemetry row = {.device_id = 1,
				       .begin_ns = 30 * S,
				       .last_ns = 31 * S,
				       .observed_ns = S,
				       .energy_ns = S,
				       .energy_mj = 100};
	struct resource_fit fit;

	(void)state;
	row.use_known_ns[TELEMETRY_TENSOR] = S / 2;
	row.traffic_known_ns[TELEMETRY_DRAM_BYTES] = S / 20 * 19;
	row.traffic_bytes[TELEMETRY_DRAM_BYTES] = 1900;
	row.traffic_known_ns[TELEMETRY_PCIE_SENT] = S;
	assert_int_equal(placement_log_add_telemetry(rows, &row), 0);
	resource_stretches_fini(&stretches);
	assert_int_equal(resource_stretches_init(&stretches, rows, 1, 0), 0);
	assert_int_equal(stretches.count, NR + 1);
	const struct resource_stretch *last = &stretches.list[NR];
	assert_int_equal(last->known, 1u << RESOURCE_ENERGY | 1u << RESOURCE_DRAM);
	assert_int_equal(last->amounts[RESOURCE_ENERGY], 100);
	assert_int_equal(last->amounts[RESOURCE_DRAM], 2000);
	assert_int_equal(resource_stretches_fit(&stretches, RESOURCE_DRAM, &fit), 0);
	assert_int_equal(fit.idle, RESOURCE_IDLE_MEASURED);
	assert_int_equal(fit.nr_idle, 1);
	assert_int_equal(fit.idle_rate, 2000);
	assert_int_equal(resource_stretches_fit(&stretches, RESOURCE_TENSOR, &fit), 0);
	assert_int_equal(fit.nr_idle + fit.nr_intervals, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_resource_has_the_stretches_in_which_it_is_known),
		TEST(a_piece_counts_in_each_stretch_in_which_it_ran),
		TEST(random_pieces_count_as_their_parts),
		TEST(scales_count_for_the_pieces_before_them),
		TEST(a_row_with_a_pause_is_no_stretch),
		TEST(stretches_of_which_nothing_is_known_are_not_fitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Use of a GPU that NVML tells late is that of the work by which it was. */
#include "report/resource/resource_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define S      1000000000ull
#define MS     1000000ull
#define NR     40u
#define PIECES 400u
#define BEGIN  (100 * S)

/* Kernels of two classes in turns. The first one keeps all multiprocessors at work, and the second one none. */
struct piece {
	uint64_t start_ns, end_ns;
	uint32_t class;
};

static struct placement_log *telemetry;
static struct resource_delay_rows rows;
static struct resource_usage_device device;
static struct piece pieces[PIECES];

static int set_up(void **state)
{
	uint64_t at_ns = BEGIN - S;

	(void)state;
	srand(7);
	for (uint32_t i = 0; i < PIECES; i++) {
		pieces[i] =
			(struct piece){at_ns, at_ns + ((uint64_t)rand() % 200 + 20) * MS, i % 2};
		at_ns = pieces[i].end_ns;
	}
	device = (struct resource_usage_device){.device = 1, .nr_classes = 2};
	device.resources[RESOURCE_SM].ns = NR * S;
	rows = (struct resource_delay_rows){0};
	telemetry = placement_log_create();
	return telemetry ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	resource_delay_fini(&rows);
	placement_log_destroy(telemetry);
	return 0;
}

static uint64_t used_ns(uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < PIECES; i++) {
		const uint64_t from_ns =
			pieces[i].start_ns > begin_ns ? pieces[i].start_ns : begin_ns;
		const uint64_t to_ns = pieces[i].end_ns < end_ns ? pieces[i].end_ns : end_ns;

		if (pieces[i].class == 0 && to_ns > from_ns)
			ns += to_ns - from_ns;
	}
	return ns;
}

/* Rows of which a part of the use was told delay_ns late, and the rest at once. Energy is never late. */
struct told {
	uint32_t nr_rows;
	uint64_t row_ns, delay_ns;
	double late;
	bool by_samples; /* of counters, in place of GPM */
	bool noise;      /* traffic that has nothing to do with the work */
};

static void init(const struct told *told)
{
	const uint64_t row_ns = told->row_ns;

	for (uint64_t i = 0; i < told->nr_rows; i++) {
		struct device_telemetry row = {.device_id = 1,
					       .begin_ns = BEGIN + i * row_ns,
					       .last_ns = BEGIN + (i + 1) * row_ns,
					       .observed_ns = row_ns,
					       .energy_ns = row_ns};
		const uint64_t at_once_ns = used_ns(row.begin_ns, row.last_ns);
		const uint64_t late_ns =
			used_ns(row.begin_ns - told->delay_ns, row.last_ns - told->delay_ns);

		row.use_known_ns[TELEMETRY_COMPUTING] = told->by_samples ? 0 : row_ns;
		if (told->noise) {
			row.traffic_known_ns[TELEMETRY_PCIE_SENT] =
				row.traffic_known_ns[TELEMETRY_PCIE_RECEIVED] = row_ns;
			row.traffic_bytes[TELEMETRY_PCIE_SENT] =
				i % 3 == 0 ? (uint64_t)rand() * 1000 : 0;
		}
		row.use_known_ns[TELEMETRY_SM] = row_ns;
		row.use_ns[TELEMETRY_SM] = (uint64_t)(told->late * (double)late_ns +
						      (1 - told->late) * (double)at_once_ns);
		row.energy_mj = at_once_ns / MS;
		assert_int_equal(placement_log_add_telemetry(telemetry, &row), 0);
	}
	assert_int_equal(resource_delay_init(&rows, &device, telemetry), 0);
}

static void start_anew(void)
{
	resource_delay_fini(&rows);
	placement_log_destroy(telemetry);
	telemetry = placement_log_create();
	assert_non_null(telemetry);
}

/* Returns the chosen list; *fit is that of the multiprocessors over it. */
static uint32_t choose(struct resource_fit *fit)
{
	const struct resource_stretches *chosen;

	for (uint32_t i = 0; i < rows.count; i++) {
		for (uint32_t j = 0; j < PIECES; j++)
			resource_stretches_add(&rows.list[i], pieces[j].class, pieces[j].start_ns,
					       pieces[j].end_ns, NULL);
		resource_stretches_settle(&rows.list[i], NULL);
	}
	assert_int_equal(resource_delay_choose(&rows, &device, &chosen), 0);
	assert_int_equal(resource_stretches_fit(chosen, RESOURCE_SM, fit), 0);
	return (uint32_t)(chosen - rows.list);
}

static void use_that_is_told_late_is_that_of_its_work(void **state)
{
	struct resource_fit fit;

	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(rows.count, RESOURCE_DELAYS);
	assert_int_equal(choose(&fit), 2);
	assert_in_range(fit.class_rate[0], S / 100 * 99, S / 100 * 101);
	assert_in_range(fit.class_rate[1], 0, S / 100);
	/* As it was read it seems to be that of others, too. */
	assert_int_equal(resource_stretches_fit(&rows.list[0], RESOURCE_SM, &fit), 0);
	assert_true(fit.residual > 0.02);
}

static void any_delay_is_near_one_of_those(void **state)
{
	struct resource_fit fit;

	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 189 * MS, .late = 1});
	assert_int_equal(choose(&fit), 3);
	assert_in_range(fit.class_rate[0], S / 100 * 97, S / 100 * 103);
	assert_in_range(fit.class_rate[1], 0, S / 100 * 3);
}

static void use_that_is_told_at_once_stays_where_it_is(void **state)
{
	struct resource_fit fit;

	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 0});
	assert_int_equal(choose(&fit), 0);
	assert_in_range(fit.class_rate[0], S / 100 * 99, S / 100 * 101);
}

/* What a delay leaves unexplained is a bit less than four fifths of what is so without one, and a bit more. */
static void a_delay_leaves_a_fifth_less_unexplained(void **state)
{
	struct resource_fit fit;

	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 0.54});
	assert_int_not_equal(choose(&fit), 0);
	start_anew();
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 0.52});
	assert_int_equal(choose(&fit), 0);
}

/* Two kinds of work: in three rows they explain any use. */
static void few_rows_stay_where_they_are(void **state)
{
	struct resource_fit fit;

	(void)state;
	init(&(struct told){.nr_rows = 3, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(choose(&fit), 0);
	start_anew();
	init(&(struct told){.nr_rows = 4, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	assert_int_not_equal(choose(&fit), 0);
}

static void energy_does_not_choose(void **state)
{
	struct resource_fit fit;

	(void)state;
	device.resources[RESOURCE_ENERGY].ns = NR * S;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(choose(&fit), 2);
}

static void traffic_of_others_does_not_hide_the_delay(void **state)
{
	struct resource_fit fit;

	(void)state;
	device.resources[RESOURCE_PCIE].ns = NR * S;
	init(&(struct told){
		.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 1, .noise = true});
	assert_int_equal(choose(&fit), 2);
}

/* Bursts at the ends of rows. Late rows would have their use where no work is, as that of an idle GPU. */
static void no_delay_moves_all_use_to_idle_time(void **state)
{
	static const double parts[] = {1, 0.5, 0.75};
	struct resource_fit fit;

	(void)state;
	for (uint32_t i = 0; i < PIECES; i++) {
		const uint64_t end_ns = BEGIN + (i * 5 + 1) * S - 10 * MS;

		pieces[i] = (struct piece){end_ns - 80 * MS, end_ns, 0};
	}
	for (uint64_t i = 0; i < NR; i++) {
		struct device_telemetry row = {.device_id = 1,
					       .begin_ns = BEGIN + i * S,
					       .last_ns = BEGIN + (i + 1) * S,
					       .observed_ns = S};

		row.use_known_ns[TELEMETRY_COMPUTING] = row.use_known_ns[TELEMETRY_SM] = S;
		row.use_ns[TELEMETRY_SM] = i % 5 == 0 ? (uint64_t)(parts[i / 5 % 3] * 80 * MS) : 0;
		assert_int_equal(placement_log_add_telemetry(telemetry, &row), 0);
	}
	assert_int_equal(resource_delay_init(&rows, &device, telemetry), 0);
	assert_int_equal(rows.count, RESOURCE_DELAYS);
	assert_int_equal(choose(&fit), 0);
	assert_true(fit.class_rate[0] > S / 2);
}

static void use_without_known_work_stays_where_it_is(void **state)
{
	const struct resource_stretches *chosen;

	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	/* No work explains any of it at any time. */
	assert_int_equal(resource_delay_choose(&rows, &device, &chosen), 0);
	assert_ptr_equal(chosen, &rows.list[0]);
}

static void rows_that_need_no_delay_are_made_once(void **state)
{
	(void)state;
	init(&(struct told){.nr_rows = NR, .row_ns = 4 * S, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(rows.count, 1);
	start_anew();
	init(&(struct told){.nr_rows = NR, .row_ns = 4 * S - MS, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(rows.count, RESOURCE_DELAYS);
	start_anew();
	init(&(struct told){
		.nr_rows = NR, .row_ns = S, .delay_ns = 0, .late = 1, .by_samples = true});
	assert_int_equal(rows.count, 1);
	start_anew();
	init(&(struct told){.nr_rows = 4097, .row_ns = S, .delay_ns = 0, .late = 1});
	assert_int_equal(rows.count, 1);
	start_anew();
	device.resources[RESOURCE_SM].ns = 0;
	device.resources[RESOURCE_ENERGY].ns = NR * S;
	init(&(struct told){.nr_rows = NR, .row_ns = S, .delay_ns = 140 * MS, .late = 1});
	assert_int_equal(rows.count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(use_that_is_told_late_is_that_of_its_work),
		TEST(any_delay_is_near_one_of_those),
		TEST(use_that_is_told_at_once_stays_where_it_is),
		TEST(a_delay_leaves_a_fifth_less_unexplained),
		TEST(few_rows_stay_where_they_are),
		TEST(energy_does_not_choose),
		TEST(use_without_known_work_stays_where_it_is),
		TEST(traffic_of_others_does_not_hide_the_delay),
		TEST(no_delay_moves_all_use_to_idle_time),
		TEST(rows_that_need_no_delay_are_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

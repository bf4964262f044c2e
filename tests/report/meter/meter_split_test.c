/* Energy in reports: it is divided to the millijoule. */
#include "report/meter/meter_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_meter.h"
#include "report/writers/meter_writer.h"
#include "tests/report/model/report_fixture.h"

#define S 1000000000ull

static const struct folded_options mj = {.weight = FOLDED_ENERGY};

static struct metered_device device;
static const struct metered energy = {.devices = &device, .nr_devices = 1};

/* A GPU that takes 50 W without work, and 100 W more for all work but the kernel "hot", which takes 300 W more. */
static int set_up(void **state)
{
	int error = report_fixture_set_up(state);

	device = (struct metered_device){
		.device = 1,
		.process = 1,
		.ns = 10 * S,
		.mj = 2000000,
		.names = {0, error ? 0 : report_fixture_string("hot")},
		.fit = {.idle = METER_IDLE_MEASURED,
			.idle_mw = 50000,
			.nr_intervals = 9,
			.nr_classes = 2,
			.nr_idle = 3,
			.work_mw = 150000,
			.class_mw = {100000, 300000},
			.error_mw = {20000, 14000},
			.apart = {0.9, 0.8}},
	};
	return error;
}

static void build(void)
{
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_ENERGY, .energy = &energy});
}

static uint64_t sum_of(const struct report_tree *tree)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		sum += tree->leaves[i].mj;
	return sum;
}

static void each_kernel_has_its_own_power(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	build();
	/* 10 s at 50 W, 2 s at 300 W, 3 s at 100 W; the rest of 2,000 J is not explained. */
	report_fixture_assert_folded_with(&mj, "[GPU0_Energy]not explained 600000\n"
					       "[GPU0_Idle] 500000\n"
					       "main;step;[GPU0_Kernel]cold 300000\n"
					       "main;step;[GPU0_Kernel]hot 600000\n");
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_ENERGY].mj, 2000000);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_GPU].ns, 5 * S);
	assert_int_equal(report_fixture.tree->nr_metered, 1);
	assert_int_equal(report_fixture.tree->energy[0].work_mj, 900000);
	assert_string_equal(
		report_fixture.tree->strings[report_fixture.tree->energy[0].kernels[0].name],
		"hot");
}

/* Work that ran before the first reading is in the totals, too. */
static void work_that_needs_more_than_there_is_gets_less(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 8 * S);
	report_fixture_add_kernel(step, "cold", 6 * S);
	build();
	report_fixture_assert_folded_with(&mj, "[GPU0_Idle] 500000\n"
					       "main;step;[GPU0_Kernel]cold 300000\n"
					       "main;step;[GPU0_Kernel]hot 1200000\n");
}

static void without_a_fit_all_time_takes_the_same(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	device.fit = (struct meter_fit){0};
	device.unfitted = METER_NO_PIECES;
	report_fixture_add_kernel(step, "hot", 1);
	report_fixture_add_kernel(step, "cold", 3);
	build();
	report_fixture_assert_folded_with(&mj, "main;step;[GPU0_Kernel]cold 1500000\n"
					       "main;step;[GPU0_Kernel]hot 500000\n");
}

static void a_gpu_without_recorded_work_keeps_its_energy(void **state)
{
	(void)state;
	build();
	report_fixture_assert_folded_with(&mj, "[GPU0_Energy]not explained 1500000\n"
					       "[GPU0_Idle] 500000\n");
	device.mj = 400000;
	build();
	report_fixture_assert_folded_with(&mj, "[GPU0_Idle] 400000\n");
}

static void random_parts_sum_to_the_counter(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		char names[2][16];

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		snprintf(names[0], sizeof(names[0]), "step%u", i % 17);
		snprintf(names[1], sizeof(names[1]), "kernel%u", i % 29);
		report_fixture_add_kernel(report_fixture_stack("main", names[0], NULL),
					  i % 5 ? names[1] : "hot", (seed >> 33) % (S / 8));
		device.mj = (seed >> 20) % 10000000;
		build();
		assert_int_equal(sum_of(report_fixture.tree), device.mj);
		assert_int_equal(report_fixture.tree->energy[0].idle_mj +
					 report_fixture.tree->energy[0].work_mj +
					 report_fixture.tree->energy[0].rest_mj,
				 device.mj);
	}
}

static enum meter_confidence confidence_of(const char *frame)
{
	const struct report_tree *tree = report_fixture.tree;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (strcmp(tree->strings[tree->leaves[i].name], frame) == 0)
			return tree->leaves[i].confidence;
	fail_msg("no %s", frame);
	return METER_LOW;
}

static void each_value_says_how_sure_it_is(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	build();
	/* 20 W of the 150 W that all work adds, and 14 W of 300 W. */
	assert_int_equal(confidence_of("[GPU0_Kernel]cold"), METER_MEDIUM);
	assert_int_equal(confidence_of("[GPU0_Kernel]hot"), METER_HIGH);
	assert_int_equal(confidence_of("[GPU0_Idle]"), METER_HIGH);
	assert_int_equal(confidence_of("[GPU0_Energy]not explained"), METER_HIGH);
}

static void a_class_is_as_sure_as_the_least_of_its_reasons(void **state)
{
	struct meter_fit fit = device.fit;

	(void)state;
	assert_int_equal(meter_confidence_work(&device, 1), METER_HIGH);
	device.fit.apart[1] = 0.2;
	assert_int_equal(meter_confidence_work(&device, 1), METER_MEDIUM);
	device.fit.apart[1] = 0.01;
	assert_int_equal(meter_confidence_work(&device, 1), METER_LOW);
	device.fit = fit;
	device.fit.nr_intervals = 4;
	assert_int_equal(meter_confidence_work(&device, 1), METER_MEDIUM);
	device.fit = fit;
	device.fit.residual = 0.3;
	assert_int_equal(meter_confidence_work(&device, 1), METER_LOW);
	assert_int_equal(meter_confidence_rest(&device), METER_LOW);
	assert_int_equal(meter_confidence_idle(&device), METER_HIGH);
	device.fit = fit;
	device.fit.nr_idle = 1;
	assert_int_equal(meter_confidence_idle(&device), METER_MEDIUM);
	assert_int_equal(meter_confidence_work(&device, 1), METER_MEDIUM);
	device.fit.idle = METER_IDLE_FITTED;
	assert_int_equal(meter_confidence_idle(&device), METER_MEDIUM);
	device.fit.residual = 0.3;
	assert_int_equal(meter_confidence_idle(&device), METER_LOW);
	device.fit = fit;
	device.fit.idle = METER_IDLE_UNKNOWN;
	assert_int_equal(meter_confidence_work(&device, 1), METER_LOW);
	device.fit = fit;
	device.fit.error_mw[1] = UINT32_MAX;
	assert_int_equal(meter_confidence_work(&device, 1), METER_LOW);
	device.fit = fit;
	device.unfitted = METER_SEVERAL_GPUS;
	assert_int_equal(meter_confidence_work(&device, 1), METER_LOW);
}

static void a_tree_of_other_planes_has_no_energy(void **state)
{
	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 5);
	report_fixture_build_with(&(struct report_options){.energy = &energy});
	assert_int_equal(report_fixture.tree->nr_metered, 0);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_ENERGY].mj, 0);
}

static void the_table_says_how_sure_it_is(void **state)
{
	const struct text_form form = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 2 * S);
	device.fit.apart[1] = 0.75;
	device.work_ns[1] = 2 * S;
	device.lost_ns = S;
	build();
	meter_writer_table(out, report_fixture.tree, &form, 10);
	device.unfitted = METER_SEVERAL_GPUS;
	build();
	meter_writer_table(out, report_fixture.tree, &form, 10);
	fclose(out);
	assert_non_null(strstr(text, "50.0 W measured"));
	assert_non_null(strstr(text, " high "));
	assert_non_null(strstr(text, " 300.0 W "));
	assert_non_null(strstr(text, " 14.0 W "));
	assert_non_null(strstr(text, " 75.00% "));
	assert_non_null(strstr(text, "its counter was not known, or began anew, for 1.000 s"));
	assert_non_null(strstr(text, "all work counts alike, because a process worked on several"));
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, report_fixture_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_kernel_has_its_own_power),
		TEST(work_that_needs_more_than_there_is_gets_less),
		TEST(without_a_fit_all_time_takes_the_same),
		TEST(a_gpu_without_recorded_work_keeps_its_energy),
		TEST(random_parts_sum_to_the_counter),
		TEST(each_value_says_how_sure_it_is),
		TEST(a_class_is_as_sure_as_the_least_of_its_reasons),
		TEST(a_tree_of_other_planes_has_no_energy),
		TEST(the_table_says_how_sure_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Energy in reports: it is divided to the millijoule. */
#include "report/resource/resource_split.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/report_summary.h"
#include "report/model/report_usage.h"
#include "report/writers/busy_writer.h"
#include "report/writers/resource_writer.h"
#include "report/writers/table_writer.h"
#include "tests/report/model/report_fixture.h"

#define S 1000000000ull

static uint32_t failing_table; /* by its number from 1 on; 0: none */

int __real_text_table_end(struct text_table *table);
int __wrap_text_table_end(struct text_table *table);
int __wrap_text_table_end(struct text_table *table)
{
	const int error = __real_text_table_end(table);

	return failing_table && --failing_table == 0 ? -ENOMEM : error;
}

static const struct folded_options mj = {.weight = FOLDED_ENERGY};

static struct resource_usage_device device;
static const struct resource_usage usage = {
	.resources = RESOURCES_OF_ENERGY, .devices = &device, .nr_devices = 1};
static struct resource_usage_sum *const energy = &device.resources[RESOURCE_ENERGY];

/* A GPU that takes 50 W without work, and 100 W more for all work but the kernel "hot", which takes 300 W more. */
static int set_up(void **state)
{
	int error = report_fixture_set_up(state);

	device = (struct resource_usage_device){
		.device = 1,
		.process = 1,
		.classes = {{0}, {.name_id = error ? 0 : report_fixture_string("hot")}},
		.nr_classes = 2,
		.work_ns = {3 * S, 2 * S},
	};
	*energy = (struct resource_usage_sum){
		.ns = 10 * S,
		.amount = 1450000,
		.fit = {.idle = RESOURCE_IDLE_MEASURED,
			.idle_rate = 50000,
			.nr_intervals = 9,
			.nr_classes = 2,
			.nr_idle = 3,
			.work_rate = 150000,
			.class_rate = {100000, 300000},
			.error_rate = {20000, 14000},
			.apart = {0.9, 0.8}},
	};
	return error;
}

static void build(void)
{
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_ENERGY, .usage = &usage});
}

static uint64_t sum_of(const struct report_tree *tree)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		sum += tree->leaves[i].amounts[RESOURCE_ENERGY];
	return sum;
}

static void each_kernel_has_its_own_power(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	build();
	/* 10 s at 50 W, 2 s at 300 W, 3 s at 100 W; the rest of 1,450 J is not explained. */
	report_fixture_assert_folded_with(&mj, "[GPU0_Energy]not explained 50000\n"
					       "[GPU0_Idle] 500000\n"
					       "main;step;[GPU0_Kernel]cold (medium) 300000\n"
					       "main;step;[GPU0_Kernel]hot 600000\n");
	assert_int_equal(
		report_fixture.tree->plane_totals[REPORT_PLANE_ENERGY].amounts[RESOURCE_ENERGY],
		1450000);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_GPU].ns, 5 * S);
	assert_int_equal(report_fixture.tree->nr_usage, 1);
	assert_int_equal(report_fixture.tree->usage[0].resources[RESOURCE_ENERGY].work, 900000);
	assert_string_equal(
		report_fixture.tree->strings[report_fixture.tree->usage[0].classes[0].name], "hot");
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
					       "main;step;[GPU0_Kernel]cold (medium) 190000\n"
					       "main;step;[GPU0_Kernel]hot 760000\n");
}

static void without_a_fit_all_time_takes_the_same(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	energy->amount = 2000000;
	energy->fit = (struct resource_fit){0};
	energy->unfitted = RESOURCE_NO_PIECES;
	report_fixture_add_kernel(step, "hot", 1);
	report_fixture_add_kernel(step, "cold", 3);
	build();
	report_fixture_assert_folded_with(&mj, "main;step;[GPU0_Kernel]cold (low) 1500000\n"
					       "main;step;[GPU0_Kernel]hot (low) 500000\n");
}

static void a_gpu_without_recorded_work_keeps_its_energy(void **state)
{
	(void)state;
	energy->amount = 2000000;
	device.work_ns[0] = device.work_ns[1] = 0;
	build();
	report_fixture_assert_folded_with(&mj, "[GPU0_Energy]not explained (low) 1500000\n"
					       "[GPU0_Idle] 500000\n");
	energy->amount = 400000;
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
		energy->amount = (seed >> 20) % 10000000;
		build();
		assert_int_equal(sum_of(report_fixture.tree), energy->amount);
		assert_int_equal(
			report_fixture.tree->usage[0].resources[RESOURCE_ENERGY].idle +
				report_fixture.tree->usage[0].resources[RESOURCE_ENERGY].work +
				report_fixture.tree->usage[0].resources[RESOURCE_ENERGY].rest,
			energy->amount);
	}
}

static enum resource_confidence confidence_of(const char *frame)
{
	const struct report_tree *tree = report_fixture.tree;

	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (strcmp(tree->strings[tree->leaves[i].name], frame) == 0)
			return tree->leaves[i].confidence[RESOURCE_ENERGY];
	fail_msg("no %s", frame);
	return RESOURCE_LOW;
}

static void each_value_says_how_sure_it_is(void **state)
{
	const uint32_t step = report_fixture_stack("main", "step", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	build();
	/* 20 W of the 150 W that all work adds, and 14 W of 300 W. */
	assert_int_equal(confidence_of("[GPU0_Kernel]cold"), RESOURCE_MEDIUM);
	assert_int_equal(confidence_of("[GPU0_Kernel]hot"), RESOURCE_HIGH);
	assert_int_equal(confidence_of("[GPU0_Idle]"), RESOURCE_HIGH);
	assert_int_equal(confidence_of("[GPU0_Energy]not explained"), RESOURCE_HIGH);
}

static void a_class_is_as_sure_as_the_least_of_its_reasons(void **state)
{
	struct resource_fit fit = energy->fit;

	(void)state;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_HIGH);
	energy->fit.apart[1] = 0.2;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_MEDIUM);
	energy->fit.apart[1] = 0.01;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	energy->fit = fit;
	energy->fit.nr_intervals = 4;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_MEDIUM);
	energy->fit = fit;
	energy->fit.residual = 0.3;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	assert_int_equal(resource_confidence_rest(&device, RESOURCE_ENERGY), RESOURCE_LOW);
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_HIGH);
	energy->fit = fit;
	energy->fit.nr_idle = 1;
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_MEDIUM);
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_MEDIUM);
	energy->fit.idle = RESOURCE_IDLE_FITTED;
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_MEDIUM);
	energy->fit.residual = 0.3;
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_LOW);
	energy->fit = fit;
	energy->fit.idle = RESOURCE_IDLE_UNKNOWN;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	energy->fit = fit;
	energy->fit.error_rate[1] = RESOURCE_RATE_UNKNOWN;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	energy->fit = fit;
	energy->unfitted = RESOURCE_SEVERAL_GPUS;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
}

static void what_is_not_explained_makes_values_unsure(void **state)
{
	(void)state;
	energy->amount = 1700000; /* 300 J are not explained */
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_MEDIUM);
	assert_int_equal(resource_confidence_rest(&device, RESOURCE_ENERGY), RESOURCE_MEDIUM);
	energy->amount = 2100000;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	assert_int_equal(resource_confidence_rest(&device, RESOURCE_ENERGY), RESOURCE_LOW);
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_HIGH);
	energy->amount = 1300000; /* work needs more than there is */
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_HIGH);
}

static void samples_that_telemetry_contradicts_make_values_unsure(void **state)
{
	(void)state;
	energy->sample_mismatch = 0.19;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_HIGH);
	energy->sample_mismatch = 0.21;
	assert_int_equal(resource_confidence_work(&device, RESOURCE_ENERGY, 1), RESOURCE_LOW);
	assert_int_equal(resource_confidence_rest(&device, RESOURCE_ENERGY), RESOURCE_LOW);
	assert_int_equal(resource_confidence_idle(&device, RESOURCE_ENERGY), RESOURCE_LOW);
}

/* 117 GB/s of PCIe that no kernel moves. */
static void a_fit_may_say_that_work_adds_nothing(void **state)
{
	const struct resource_usage use = {
		.resources = RESOURCES_OF_USE, .devices = &device, .nr_devices = 1};

	(void)state;
	device.resources[RESOURCE_PCIE] = *energy;
	*energy = (struct resource_usage_sum){0};
	device.resources[RESOURCE_PCIE].amount = 117 * 10 * S;
	device.resources[RESOURCE_PCIE].fit.idle = RESOURCE_IDLE_NONE;
	device.resources[RESOURCE_PCIE].fit.idle_rate = 0;
	device.resources[RESOURCE_PCIE].fit.work_rate = 0;
	device.resources[RESOURCE_PCIE].fit.class_rate[0] = 0;
	device.resources[RESOURCE_PCIE].fit.class_rate[1] = 0;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 2 * S);
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_USE, .usage = &use});
	report_fixture_assert_folded_with(
		&(struct folded_options){.weight = FOLDED_RESOURCE + RESOURCE_PCIE},
		"[GPU0_Use]not explained (low) 1170000000000\n");
}

static void a_tree_of_other_planes_has_no_energy(void **state)
{
	(void)state;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 5);
	report_fixture_build_with(&(struct report_options){.usage = &usage});
	assert_int_equal(report_fixture.tree->nr_usage, 0);
	assert_int_equal(
		report_fixture.tree->plane_totals[REPORT_PLANE_ENERGY].amounts[RESOURCE_ENERGY], 0);
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
	energy->fit.apart[1] = 0.75;
	device.work_ns[1] = 2 * S;
	energy->lost_ns = S;
	build();
	resource_writer_table(out, report_fixture.tree, &form, 10);
	resource_writer_json(out, report_fixture.tree);
	energy->unfitted = RESOURCE_SEVERAL_GPUS;
	build();
	resource_writer_table(out, report_fixture.tree, &form, 10);
	fclose(out);
	assert_non_null(strstr(text, "50.0 W measured"));
	assert_non_null(strstr(text, " high "));
	assert_non_null(strstr(text, " 300.0 W "));
	assert_non_null(strstr(text, " 14.0 W "));
	assert_non_null(strstr(text, " 75.00% "));
	assert_non_null(strstr(text, "its counter was not known, or began anew, for 1.000 s"));
	assert_non_null(strstr(text, "\"resources\":["));
	assert_non_null(strstr(text, "\"lost_ns\":1000000000,\"idle_kind\":\"measured\","));
	assert_non_null(strstr(text, "\"added_per_second\":300000,\"error_per_second\":14000,"));
	assert_non_null(strstr(text, "all work counts alike, because a process worked on several"));
	free(text);
}

/* Returns the table, and JSON after it; the caller owns it. */
static char *told(void)
{
	const struct text_form form = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(resource_writer_table(out, report_fixture.tree, &form, 10), 0);
	resource_writer_json(out, report_fixture.tree);
	fclose(out);
	return text;
}

static void energy_below_power_times_time_is_explained(void **state)
{
	const char *const note = "energy is that between readings, time that of all work";
	const uint32_t step = report_fixture_stack("main", NULL);

	(void)state;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	build();
	char *text = told();
	assert_null(strstr(text, note));
	free(text);
	report_fixture_add_kernel(step, "hot", 6 * S);
	device.work_ns[1] = 8 * S;
	build();
	text = told();
	assert_non_null(strstr(text, note));
	free(text);
}

static void without_power_of_idle_time_no_error_is_claimed(void **state)
{
	(void)state;
	energy->fit.idle = RESOURCE_IDLE_UNKNOWN;
	energy->fit.idle_rate = 0;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 2 * S);
	device.work_ns[1] = 2 * S;
	build();
	char *text = told();
	assert_non_null(strstr(text, "not known          -       -  "));
	assert_null(strstr(text, " 14.0 W "));
	assert_non_null(strstr(text, "the power without work is not known, so the added power"));
	assert_non_null(strstr(text, "\"error\":null}"));
	assert_non_null(strstr(text, "\"added_per_second\":300000,\"error_per_second\":null,"));
	free(text);
}

/* There is a table of GPUs, and one of the only GPU's kernels. */
static void fail_each_table(const struct report_busy *busy)
{
	FILE *out = fopen("/dev/null", "w");

	assert_non_null(out);
	for (uint32_t i = 1; i <= 2; i++) {
		failing_table = i;
		assert_int_equal(resource_writer_table(out, report_fixture.tree, NULL, 10),
				 -ENOMEM);
		failing_table = i;
		assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), -ENOMEM);
	}
	failing_table = 0;
	assert_int_equal(table_writer_write(out, report_fixture.tree, busy, NULL), 0);
	fclose(out);
}

static void no_table_is_missing_silently(void **state)
{
	const struct resource_usage use = {
		.resources = RESOURCES_OF_USE, .devices = &device, .nr_devices = 1};
	struct report_busy *busy;

	(void)state;
	device.resources[RESOURCE_SM] = *energy;
	device.resources[RESOURCE_SM].amount = S / 2;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 2 * S);
	build();
	assert_int_equal(report_busy_create(&report_fixture.profile, &busy), 0);
	fail_each_table(busy);
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_USE, .usage = &use});
	fail_each_table(busy);
	report_busy_destroy(busy);
}

static void gpus_without_samples_of_counters_are_told(void **state)
{
	struct report_busy_row rows[] = {
		{.host = "a", .gpu = 0, .whole_device = true},
		{.host = "a", .gpu = 1, .whole_device = true},
		{.host = "a", .gpu = 1}, /* a stream */
		{.host = "b", .gpu = 0, .whole_device = true},
		{.host = "b", .gpu = 1, .whole_device = true},
	};
	const struct report_busy busy = {.rows = rows, .nr_rows = 5};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (uint32_t i = 1; i < 5; i++)
		rows[i].counters.refusal = COUNTER_NO_RIGHT;
	busy_writer_counters(out, &busy, 2);
	fclose(out);
	assert_string_equal(
		text, "\na GPU1; samples of its counters: not permitted (RmProfilingAdminOnly)\n"
		      "b GPU0; samples of its counters: not permitted (RmProfilingAdminOnly)\n"
		      "1 more GPUs lack samples of their counters\n");
	free(text);
}

/* A copying kernel moves 3 GB in a second, and "hot" uses tensor cores; the links of the GPU are not known. */
static void use_is_divided_resource_by_resource(void **state)
{
	const struct resource_usage use = {
		.resources = RESOURCES_OF_USE, .devices = &device, .nr_devices = 1};
	const uint32_t step = report_fixture_stack("main", "step", NULL);
	struct resource_usage_sum *dram = &device.resources[RESOURCE_DRAM];
	struct resource_usage_sum *tensor = &device.resources[RESOURCE_TENSOR];

	(void)state;
	*dram = *tensor = *energy;
	*energy = (struct resource_usage_sum){0};
	dram->fit.idle = tensor->fit.idle = RESOURCE_IDLE_NONE;
	dram->fit.idle_rate = tensor->fit.idle_rate = 0;
	dram->amount = 10000000000;
	dram->fit.work_rate = 1800000000;
	dram->fit.class_rate[0] = 3000000000;
	dram->fit.class_rate[1] = 0;
	dram->fit.error_rate[0] = dram->fit.error_rate[1] = 1000000;
	tensor->amount = S;
	tensor->fit.work_rate = S / 5;
	tensor->fit.class_rate[0] = 0;
	tensor->fit.class_rate[1] = S / 2;
	tensor->fit.error_rate[0] = tensor->fit.error_rate[1] = S / 10;
	report_fixture_add_kernel(step, "hot", 2 * S);
	report_fixture_add_kernel(step, "cold", 3 * S);
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_USE, .usage = &use});
	/* Nothing without work is as sure as no interval without work lets it be. */
	report_fixture_assert_folded_with(
		&(struct folded_options){.weight = FOLDED_RESOURCE + RESOURCE_DRAM},
		"[GPU0_Use]not explained (medium) 1000000000\n"
		"main;step;[GPU0_Kernel]cold (medium) 9000000000\n");
	report_fixture_assert_folded_with(
		&(struct folded_options){.weight = FOLDED_RESOURCE + RESOURCE_TENSOR},
		"main;step;[GPU0_Kernel]hot (medium) 1000000000\n");
	for (uint32_t i = 0; i < report_fixture.tree->nr_leaves; i++)
		assert_int_equal(report_fixture.tree->leaves[i].resources,
				 1u << RESOURCE_DRAM | 1u << RESOURCE_TENSOR);
	assert_int_equal(report_fixture.tree->plane_totals[REPORT_PLANE_USE].amounts[RESOURCE_DRAM],
			 10000000000);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	report_summary_planes(out, report_fixture.tree, "");
	fclose(out);
	assert_non_null(strstr(text, "use of GPUs: tensor cores 1.000 s, DRAM 9.3 GiB\n"));
	free(text);
}

static void the_table_of_use_has_all_resources_of_a_kernel(void **state)
{
	const struct resource_usage use = {
		.resources = RESOURCES_OF_USE, .devices = &device, .nr_devices = 1};
	const struct text_form form = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	device.resources[RESOURCE_SM] = device.resources[RESOURCE_PCIE] = *energy;
	device.resources[RESOURCE_SM].amount = S / 2;
	device.resources[RESOURCE_PCIE].amount = 2000000000;
	device.resources[RESOURCE_SM].fit.idle_rate =
		device.resources[RESOURCE_PCIE].fit.idle_rate = 0;
	device.resources[RESOURCE_SM].fit.class_rate[1] =
		device.resources[RESOURCE_SM].fit.work_rate = S / 4;
	device.resources[RESOURCE_PCIE].fit.class_rate[1] =
		device.resources[RESOURCE_PCIE].fit.work_rate = S;
	device.work_ns[1] = 2 * S;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 2 * S);
	report_fixture_build_with(
		&(struct report_options){.planes = 1u << REPORT_PLANE_USE, .usage = &use});
	resource_writer_table(out, report_fixture.tree, &form, 10);
	resource_writer_json(out, report_fixture.tree);
	fclose(out);
	assert_non_null(strstr(text, " 25.0% high "));
	assert_non_null(strstr(text, " 1.0 GB/s high "));
	assert_non_null(strstr(text, "\"resources\":["));
	assert_non_null(strstr(text, "\"sm\":{\"amount\":500000000,\"confidence\":\"high\","));
	assert_null(strstr(text, "\"dram\""));
	free(text);
}

static void a_use_above_all_is_no_figure(void **state)
{
	const struct resource_usage use = {
		.resources = RESOURCES_OF_USE, .devices = &device, .nr_devices = 1};
	struct resource_usage_sum *const sm = &device.resources[RESOURCE_SM];
	const struct report_options options = {.planes = 1u << REPORT_PLANE_USE, .usage = &use};

	(void)state;
	*sm = *energy;
	sm->amount = 4 * S;
	sm->fit.idle_rate = 0;
	sm->fit.error_rate[1] = 1;
	sm->fit.class_rate[1] = S + S / 50;
	sm->fit.work_rate = S;
	device.work_ns[0] = 0;
	device.work_ns[1] = 4 * S;
	report_fixture_add_kernel(report_fixture_stack("main", NULL), "hot", 4 * S);
	report_fixture_build_with(&options);
	char *text = told();
	assert_non_null(strstr(text, " 100.0% high")); /* within the error of a sure fit */
	assert_null(strstr(text, ">100%"));
	free(text);
	sm->fit.class_rate[1] = 2 * S;
	report_fixture_build_with(&options);
	text = told();
	assert_non_null(strstr(text, " >100% low"));
	assert_non_null(strstr(text, ">100%: counters say more than this work can use"));
	free(text);
	assert_false(resource_confidence_is_above(RESOURCE_DRAM, 2e12));
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
		TEST(what_is_not_explained_makes_values_unsure),
		TEST(samples_that_telemetry_contradicts_make_values_unsure),
		TEST(a_fit_may_say_that_work_adds_nothing),
		TEST(a_tree_of_other_planes_has_no_energy),
		TEST(the_table_says_how_sure_it_is),
		TEST(energy_below_power_times_time_is_explained),
		TEST(without_power_of_idle_time_no_error_is_claimed),
		TEST(no_table_is_missing_silently),
		TEST(gpus_without_samples_of_counters_are_told),
		TEST(use_is_divided_resource_by_resource),
		TEST(the_table_of_use_has_all_resources_of_a_kernel),
		TEST(a_use_above_all_is_no_figure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

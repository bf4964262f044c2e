/* The configuration with the fake CUPTI's host part, some of whose functions answer as a test wants. */
#include "inject/metrics/metrics_config.h"

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/metrics_library.h"

#define CHIP          "GH100"
#define OUT_OF_MEMORY 8 /* CUptiResult */
#define REFUSED       35

static struct metrics_library cupti;

static struct {
	struct metrics_library library;
	struct metrics_config config;
	struct metric_options options;
	int nr_hosts; /* that are open */
	const uint8_t *availability;
	bool no_memory, no_passes;
	struct metrics_evaluate evaluated;
} fixture;

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fixture.no_memory)
		return MAP_FAILED;
	return __real_mmap(address, size, protection, flags, fd, offset);
}

static int open_host(void *params)
{
	struct metrics_host *call = params;
	const int result = cupti.call[METRICS_HOST_INITIALIZE](params);

	fixture.availability = call->availability;
	fixture.nr_hosts += result == CUPTI_ABI_SUCCESS;
	return result;
}

static int close_host(void *params)
{
	fixture.nr_hosts--;
	return cupti.call[METRICS_HOST_DEINITIALIZE](params);
}

static int count_passes(void *params)
{
	struct metrics_passes *call = params;
	const int result = cupti.call[METRICS_HOST_PASSES](params);

	if (fixture.no_passes)
		call->passes = 0;
	return result;
}

static int evaluate(void *params)
{
	struct metrics_evaluate *call = params;

	fixture.evaluated = *call;
	for (size_t i = 0; i < call->count; i++)
		call->values[i] = 1.5 + (double)i;
	return CUPTI_ABI_SUCCESS;
}

static int refuse(void *params)
{
	(void)params;
	return REFUSED;
}

static int load(void **state)
{
	void *handle = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	assert_non_null(handle);
	metrics_library_resolve(handle, &cupti);
	assert_true(cupti.is_whole);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fixture.library = cupti;
	fixture.library.call[METRICS_HOST_INITIALIZE] = open_host;
	fixture.library.call[METRICS_HOST_DEINITIALIZE] = close_host;
	fixture.library.call[METRICS_HOST_PASSES] = count_passes;
	fixture.library.call[METRICS_HOST_EVALUATE] = evaluate;
	return 0;
}

static int make(const char *list)
{
	fixture.options.nr_names = 0;
	assert_int_equal(metric_options_add(&fixture.options, list), 0);
	memset(&fixture.config, 0xff, sizeof(fixture.config)); /* make() asks nothing of it */
	return metrics_config_make(&fixture.config, &fixture.library, CHIP, NULL, &fixture.options);
}

static void fini(void)
{
	metrics_config_fini(&fixture.config, &fixture.library);
	assert_int_equal(fixture.nr_hosts, 0);
}

static void assert_none(void)
{
	assert_null(fixture.config.host);
	assert_null(fixture.config.image);
	assert_int_equal(fixture.config.nr_names, 0);
	assert_int_equal(fixture.config.nr_passes, 0);
	assert_int_equal(fixture.nr_hosts, 0);
}

static void a_configuration_has_all_metrics_in_order(void **state)
{
	(void)state;
	assert_int_equal(make("lts__t_bytes.sum,dram__bytes_read.sum"), CUPTI_ABI_SUCCESS);
	assert_non_null(fixture.config.host);
	assert_non_null(fixture.config.image);
	assert_int_not_equal(fixture.config.image_size, 0);
	assert_int_equal(fixture.config.nr_names, 2);
	assert_ptr_equal(fixture.config.names[0], fixture.options.names[0]);
	assert_ptr_equal(fixture.config.names[1], fixture.options.names[1]);
	assert_int_equal(fixture.config.nr_passes, 1);
	assert_int_equal(fixture.config.unknown, 0);
	assert_int_equal(fixture.nr_hosts, 1);
	fini();
	assert_none();
}

static void passes_are_those_of_all_metrics(void **state)
{
	(void)state;
	assert_int_equal(
		make("dram__bytes_read.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed"),
		CUPTI_ABI_SUCCESS);
	assert_int_equal(fixture.config.nr_passes, 3);
	fini();
}

static void metrics_that_the_chip_lacks_are_left_out(void **state)
{
	(void)state;
	assert_int_equal(make("sm__no_such.sum,dram__bytes_read.sum,no.sum,lts__t_bytes.sum"),
			 CUPTI_ABI_SUCCESS);
	assert_int_equal(fixture.config.unknown, 1u << 0 | 1u << 2);
	assert_int_equal(fixture.config.nr_names, 2);
	assert_string_equal(fixture.config.names[0], "dram__bytes_read.sum");
	assert_string_equal(fixture.config.names[1], "lts__t_bytes.sum");
	assert_int_equal(fixture.nr_hosts, 1);
	fini();
	assert_int_equal(fixture.config.unknown, 1u << 0 | 1u << 2);
}

static void the_last_metric_has_a_bit_as_well(void **state)
{
	(void)state;
	fixture.options.nr_names = METRIC_OPTIONS_MAX;
	for (uint32_t i = 0; i < METRIC_OPTIONS_MAX; i++)
		strcpy(fixture.options.names[i], i ? "no.sum" : "dram__bytes_read.sum");
	assert_int_equal(metrics_config_make(&fixture.config, &fixture.library, CHIP, NULL,
					     &fixture.options),
			 CUPTI_ABI_SUCCESS);
	assert_true(fixture.config.unknown == (UINT64_C(1) << METRIC_OPTIONS_MAX) - 2);
	fini();
}

static void a_chip_that_has_none_of_the_metrics_is_an_error(void **state)
{
	(void)state;
	fixture.library.call[METRICS_HOST_CONFIG] = refuse; /* it is not asked */
	assert_int_equal(make("sm__no_such.sum,no.sum"), CUPTI_ABI_INVALID_PARAMETER);
	assert_none();
	assert_int_equal(fixture.config.unknown, 3);
	fini(); /* of none */
}

static void an_unknown_chip_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(metric_options_add(&fixture.options, "dram__bytes_read.sum"), 0);
	assert_int_equal(metrics_config_make(&fixture.config, &fixture.library, "GX999", NULL,
					     &fixture.options),
			 CUPTI_ABI_INVALID_PARAMETER);
	assert_none();
}

static void the_host_gets_the_availability(void **state)
{
	static const uint8_t image[16];

	(void)state;
	assert_int_equal(metric_options_add(&fixture.options, "dram__bytes_read.sum"), 0);
	assert_int_equal(metrics_config_make(&fixture.config, &fixture.library, CHIP, image,
					     &fixture.options),
			 CUPTI_ABI_SUCCESS);
	assert_ptr_equal(fixture.availability, image);
	fini();
}

static void each_refusal_is_returned(void **state)
{
	const enum metrics_function functions[] = {METRICS_HOST_INITIALIZE,
						   METRICS_HOST_CONFIG_SIZE, METRICS_HOST_CONFIG,
						   METRICS_HOST_PASSES};

	(void)state;
	for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		set_up(NULL);
		fixture.library.call[functions[i]] = refuse;
		assert_int_equal(make("dram__bytes_read.sum"), REFUSED);
		assert_none();
	}
}

static void no_memory_is_an_error(void **state)
{
	(void)state;
	fixture.no_memory = true;
	assert_int_equal(make("dram__bytes_read.sum"), OUT_OF_MEMORY);
	fixture.no_memory = false;
	assert_none();
}

static void no_passes_are_an_error(void **state)
{
	(void)state;
	fixture.no_passes = true;
	assert_int_equal(make("dram__bytes_read.sum"), CUPTI_ABI_NOT_SUPPORTED);
	assert_none();
}

static void zeroed_memory_is_none(void **state)
{
	(void)state;
	fini();
	assert_none();
}

static void each_name_gets_a_value(void **state)
{
	static const uint8_t counters[48];
	double values[METRIC_OPTIONS_MAX] = {0};

	(void)state;
	assert_int_equal(make("no.sum,lts__t_bytes.sum,dram__bytes_read.sum"), CUPTI_ABI_SUCCESS);
	assert_int_equal(metrics_config_evaluate(&fixture.config, &fixture.library, counters,
						 sizeof(counters), 7, values),
			 CUPTI_ABI_SUCCESS);
	assert_true(values[0] == 1.5 && values[1] == 2.5 && values[2] == 0);
	assert_ptr_equal(fixture.evaluated.object, fixture.config.host);
	assert_ptr_equal(fixture.evaluated.counters, counters);
	assert_int_equal(fixture.evaluated.counters_size, sizeof(counters));
	assert_int_equal(fixture.evaluated.range, 7);
	assert_int_equal(fixture.evaluated.count, 2);
	assert_string_equal(fixture.evaluated.names[1], "dram__bytes_read.sum");
	fixture.library.call[METRICS_HOST_EVALUATE] = refuse;
	assert_int_equal(metrics_config_evaluate(&fixture.config, &fixture.library, counters,
						 sizeof(counters), 7, values),
			 REFUSED);
	fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_configuration_has_all_metrics_in_order, set_up),
		cmocka_unit_test_setup(passes_are_those_of_all_metrics, set_up),
		cmocka_unit_test_setup(metrics_that_the_chip_lacks_are_left_out, set_up),
		cmocka_unit_test_setup(the_last_metric_has_a_bit_as_well, set_up),
		cmocka_unit_test_setup(a_chip_that_has_none_of_the_metrics_is_an_error, set_up),
		cmocka_unit_test_setup(an_unknown_chip_is_an_error, set_up),
		cmocka_unit_test_setup(the_host_gets_the_availability, set_up),
		cmocka_unit_test_setup(each_refusal_is_returned, set_up),
		cmocka_unit_test_setup(no_memory_is_an_error, set_up),
		cmocka_unit_test_setup(no_passes_are_an_error, set_up),
		cmocka_unit_test_setup(zeroed_memory_is_none, set_up),
		cmocka_unit_test_setup(each_name_gets_a_value, set_up),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}

#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <string.h>

#include "node-agent/base/nvml_gpm.h"
#include "tests/support/fake_nvml/fake_nvml.h"

#define ALL_USES     ((1u << TELEMETRY_USES) - 1)
#define ALL_TRAFFICS ((1u << TELEMETRY_TRAFFICS) - 1)
#define MIB          1048576ull

static struct nvml_library *library;
static struct nvml_device *device;
static struct nvml_gpm *gpm;
static struct nvml_gpm_reading reading;
static const char *missing; /* a function that the library lacks */

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlsym(void *handle, const char *name)
{
	return missing && strcmp(name, missing) == 0 ? NULL : __real_dlsym(handle, name);
}

static int set_up(void **state)
{
	(void)state;
	missing = NULL;
	fake_nvml_reset();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	nvml_gpm_destroy(gpm);
	gpm = NULL;
	nvml_library_close(library);
	library = NULL;
	assert_int_equal(fake_nvml.nr_samples, 0);
	return 0;
}

/* Begins anew, with what a test has set. */
static uint32_t create(void)
{
	nvml_gpm_destroy(gpm);
	nvml_library_close(library);
	assert_int_equal(nvml_library_open(&library), 0);
	assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), 0);
	return nvml_gpm_create(library, device, &gpm);
}

static void read_twice(void)
{
	assert_int_equal(create(), TELEMETRY_ANSWERS);
	nvml_gpm_read(gpm, &reading);
	nvml_gpm_read(gpm, &reading);
	assert_true(reading.has_sample);
}

static void two_samples_have_a_difference(void **state)
{
	(void)state;
	assert_int_equal(create(), TELEMETRY_ANSWERS);
	nvml_gpm_read(gpm, &reading);
	assert_true(reading.has_sample);
	assert_int_equal(reading.refusal, TELEMETRY_ANSWERS);
	assert_int_equal(reading.known_uses | reading.known_traffics, 0);
	/* Each is compared with the one just before it, else the fake refuses. */
	for (int i = 0; i < 5; i++) {
		nvml_gpm_read(gpm, &reading);
		assert_true(reading.has_sample);
		assert_int_equal(reading.refusal, TELEMETRY_ANSWERS);
		assert_int_equal(reading.known_uses, ALL_USES);
		assert_int_equal(reading.known_traffics, ALL_TRAFFICS);
		assert_int_equal(reading.use[TELEMETRY_COMPUTING], 800000);
		assert_int_equal(reading.use[TELEMETRY_SM], 600000);
		assert_int_equal(reading.use[TELEMETRY_OCCUPANCY], 300000);
		assert_int_equal(reading.use[TELEMETRY_TENSOR], 200000);
		assert_int_equal(reading.use[TELEMETRY_DRAM], 400000);
		assert_int_equal(reading.bytes_per_second[TELEMETRY_PCIE_SENT], 15625 * MIB);
		assert_int_equal(reading.bytes_per_second[TELEMETRY_PCIE_RECEIVED], 31250 * MIB);
		assert_int_equal(reading.bytes_per_second[TELEMETRY_NVLINK_SENT], 62500 * MIB);
		assert_int_equal(reading.bytes_per_second[TELEMETRY_NVLINK_RECEIVED], 78125 * MIB);
		/* 40 % of 2,619 MHz by two transfers of 5,120 bits */
		assert_int_equal(reading.bytes_per_second[TELEMETRY_DRAM_BYTES], 1340928000000ull);
	}
}

static void without_its_peak_the_memorys_bytes_are_not_known(void **state)
{
	static const char *const functions[] = {"nvmlDeviceGetMaxClockInfo",
						"nvmlDeviceGetMemoryBusWidth"};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		missing = functions[i];
		assert_int_equal(create(), TELEMETRY_ANSWERS);
		nvml_gpm_read(gpm, &reading);
		nvml_gpm_read(gpm, &reading);
		assert_int_equal(reading.known_uses, ALL_USES);
		assert_int_equal(reading.known_traffics,
				 ALL_TRAFFICS & ~(1u << TELEMETRY_DRAM_BYTES));
		assert_int_equal(reading.refusal, TELEMETRY_ANSWERS);
	}
}

static void a_gpu_without_gpm_says_so(void **state)
{
	static const char *const functions[] = {"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc",
						"nvmlGpmSampleFree", "nvmlGpmSampleGet",
						"nvmlGpmMetricsGet"};

	(void)state;
	fake_nvml.gpu.gpm = 3;
	assert_int_equal(create(), TELEMETRY_NOT_SUPPORTED);
	assert_null(gpm);
	fake_nvml.gpu.gpm = 0;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		missing = functions[i];
		assert_int_equal(create(), TELEMETRY_NOT_SUPPORTED);
		assert_null(gpm);
	}
}

static void a_sample_that_is_refused_tells_why(void **state)
{
	static const uint32_t cases[][2] = {{4, TELEMETRY_NO_PERMISSION}, {999, TELEMETRY_FAILED}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake_nvml.gpu.gpm = cases[i][0];
		assert_int_equal(create(), TELEMETRY_ANSWERS);
		nvml_gpm_read(gpm, &reading);
		assert_int_equal(reading.refusal, cases[i][1]);
		assert_false(reading.has_sample);
		assert_int_equal(reading.known_uses | reading.known_traffics, 0);
	}
}

static void a_gpu_without_nvlink_tells_the_rest(void **state)
{
	(void)state;
	fake_nvml.nr_links = 0;
	read_twice();
	assert_int_equal(reading.refusal, TELEMETRY_NOT_SUPPORTED);
	assert_int_equal(reading.known_uses, ALL_USES);
	assert_int_equal(reading.known_traffics, 1u << TELEMETRY_PCIE_SENT |
							 1u << TELEMETRY_PCIE_RECEIVED |
							 1u << TELEMETRY_DRAM_BYTES);
	assert_int_equal(reading.bytes_per_second[TELEMETRY_NVLINK_SENT], 0);
}

static void values_that_cannot_be_are_not_known(void **state)
{
	static const uint32_t wrong[] = {1, 2, 3, 5};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		fake_nvml.gpu.wrong = wrong[i];
		read_twice();
		assert_int_equal(reading.refusal, TELEMETRY_FAILED);
		assert_int_equal(reading.known_uses, ALL_USES & ~(1u << TELEMETRY_SM));
		assert_int_equal(reading.use[TELEMETRY_SM], 0);
		assert_int_equal(reading.known_traffics, ALL_TRAFFICS);
	}
	fake_nvml.gpu.wrong = 0;
	fake_nvml.gpu.sent = 10000001;
	read_twice();
	assert_int_equal(reading.known_traffics, ALL_TRAFFICS & ~(1u << TELEMETRY_PCIE_SENT));
}

static void a_use_above_all_the_time_is_all_of_it(void **state)
{
	(void)state;
	fake_nvml.gpu.wrong = 4;
	read_twice();
	assert_int_equal(reading.refusal, TELEMETRY_ANSWERS);
	assert_int_equal(reading.use[TELEMETRY_SM], NVML_GPM_WHOLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_samples_have_a_difference),
		TEST(without_its_peak_the_memorys_bytes_are_not_known),
		TEST(a_gpu_without_gpm_says_so),
		TEST(a_sample_that_is_refused_tells_why),
		TEST(a_gpu_without_nvlink_tells_the_rest),
		TEST(values_that_cannot_be_are_not_known),
		TEST(a_use_above_all_the_time_is_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

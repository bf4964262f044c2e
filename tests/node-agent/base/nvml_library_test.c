#include "tests/support/cmocka_test.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "node-agent/base/nvml_library.h"
#include "proto/batch/message.h"
#include "proto/device_telemetry.h"
#include "tests/support/fake_nvml/fake_nvml.h"

#define MB 1000000ull

static bool has_library;
static const char *missing; /* function; NULL: none */

void *__wrap_dlopen(const char *name, int flags);
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *handle, const char *name);
void *__real_dlsym(void *handle, const char *name);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool has_memory;

void *__wrap_dlopen(const char *name, int flags)
{
	return has_library ? __real_dlopen(name, flags) : NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	return missing && strcmp(name, missing) == 0 ? NULL : __real_dlsym(handle, name);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return has_memory ? __real_calloc(count, size) : NULL;
}

static struct nvml_library *library;

static int set_up(void **state)
{
	(void)state;
	fake_nvml_reset();
	has_library = has_memory = true;
	missing = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	nvml_library_close(library);
	library = NULL;
	return 0;
}

/* Asks for the GPU at 0000:17:00.0, by a library that is opened anew. */
static int ask(struct nvml_link *link)
{
	nvml_library_close(library);
	assert_int_equal(nvml_library_open(&library), 0);
	return nvml_library_link(library, 0, 0x17, 0, link);
}

static void expect(uint32_t kind, uint64_t bytes_per_second)
{
	struct nvml_link link;

	assert_int_equal(ask(&link), 0);
	assert_int_equal(link.kind, kind);
	assert_int_equal(link.bytes_per_second, bytes_per_second);
}

static void expect_unknown(int error)
{
	struct nvml_link link = {DEVICE_LINK_PCIE, 1};

	assert_int_equal(ask(&link), error);
	assert_int_equal(link.kind, DEVICE_LINK_NONE);
	assert_int_equal(link.bytes_per_second, 0);
}

static void the_peak_is_that_of_all_nvlinks_together(void **state)
{
	(void)state;
	expect(DEVICE_LINK_NVLINK, 18 * 26562 * MB);
}

static void links_that_are_down_do_not_count(void **state)
{
	(void)state;
	fake_nvml.nr_up = 17;
	expect(DEVICE_LINK_NVLINK, 17 * 26562 * MB);
	fake_nvml.nr_links = 12;
	fake_nvml.nr_up = 12;
	expect(DEVICE_LINK_NVLINK, 12 * 26562 * MB);
}

static void a_driver_without_speeds_of_single_links_has_the_common_one(void **state)
{
	(void)state;
	fake_nvml.speed = 0;
	fake_nvml.common_speed = 25781;
	expect(DEVICE_LINK_NVLINK, 18 * 25781 * MB);
}

static void nvlinks_without_a_speed_are_not_known(void **state)
{
	(void)state;
	fake_nvml.speed = fake_nvml.common_speed = 0;
	expect_unknown(-ENODATA);
	fake_nvml_reset();
	fake_nvml.fields_fail = true;
	expect_unknown(-ENODATA);
	fake_nvml_reset();
	fake_nvml.value_type = 0; /* a double */
	expect_unknown(-ENODATA);
	fake_nvml_reset();
	fake_nvml.speed = fake_nvml.common_speed = UINT32_MAX;
	expect_unknown(-ENODATA);
	fake_nvml_reset();
	missing = "nvmlDeviceGetFieldValues";
	expect_unknown(-ENODATA);
}

static void without_nvlinks_it_is_pcie(void **state)
{
	(void)state;
	fake_nvml.nr_up = 0;
	expect(DEVICE_LINK_PCIE, 64000 * MB);
	fake_nvml.nr_links = 0;
	fake_nvml.pcie_generation = 4;
	expect(DEVICE_LINK_PCIE, 32000 * MB);
	fake_nvml.pcie_generation = 3;
	fake_nvml.pcie_lanes = 8;
	expect(DEVICE_LINK_PCIE, 8000 * MB);
	missing = "nvmlDeviceGetNvLinkState"; /* a driver from before NVLink */
	expect(DEVICE_LINK_PCIE, 8000 * MB);
}

static void a_pcie_link_that_is_not_told_is_not_known(void **state)
{
	static const char *const functions[] = {"nvmlDeviceGetMaxPcieLinkGeneration",
						"nvmlDeviceGetMaxPcieLinkWidth"};

	(void)state;
	fake_nvml.nr_links = 0;
	fake_nvml.pcie_generation = 0;
	expect_unknown(-ENODATA);
	fake_nvml.pcie_generation = 99;
	expect_unknown(-ENODATA);
	fake_nvml.pcie_generation = 5;
	fake_nvml.pcie_lanes = 0;
	expect_unknown(-ENODATA);
	fake_nvml.pcie_lanes = UINT32_MAX;
	expect_unknown(-ENODATA);
	fake_nvml.pcie_lanes = 16;
	for (size_t i = 0; i < 2; i++) {
		missing = functions[i];
		expect_unknown(-ENODATA);
	}
}

static void the_parts_of_a_divided_gpu_have_no_link_of_their_own(void **state)
{
	(void)state;
	fake_nvml.divided = true;
	expect_unknown(-ENODATA);
	missing = "nvmlDeviceGetMigMode"; /* then the GPU cannot be divided */
	expect(DEVICE_LINK_NVLINK, 18 * 26562 * MB);
}

static void a_gpu_that_nvml_does_not_see_is_an_error(void **state)
{
	struct nvml_link link;

	(void)state;
	assert_int_equal(nvml_library_open(&library), 0);
	assert_int_equal(nvml_library_link(library, 0, 0xfe, 0, &link), -ENODEV);
	assert_int_equal(link.kind, DEVICE_LINK_NONE);
}

static void opening_fails_without_the_library_or_what_all_else_needs(void **state)
{
	static const char *const needed[] = {"nvmlInit_v2", "nvmlShutdown",
					     "nvmlDeviceGetHandleByPciBusId_v2"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		missing = needed[i];
		assert_int_equal(nvml_library_open(&library), -ENOPKG);
		assert_null(library);
	}
	has_library = false;
	assert_int_equal(nvml_library_open(&library), -ENOPKG);
	assert_null(library);
}

static void opening_fails_where_nvml_does_not_start(void **state)
{
	(void)state;
	fake_nvml.init_result = 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
	assert_int_equal(nvml_library_open(&library), -EIO);
	assert_null(library);
	assert_int_equal(fake_nvml.nr_open, 0);
}

static void opening_fails_without_memory(void **state)
{
	(void)state;
	has_memory = false;
	int error = nvml_library_open(&library);
	has_memory = true;
	assert_int_equal(error, -ENOMEM);
	assert_null(library);
}

static void a_reading_tells_what_the_gpu_tells(void **state)
{
	struct nvml_device *device;
	struct nvml_reading reading;

	(void)state;
	fake_nvml.gpu.ecc = 3;
	assert_int_equal(nvml_library_open(&library), 0);
	assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), TELEMETRY_ANSWERS);
	for (uint64_t i = 0; i < 2; i++) {
		nvml_library_read(library, device, &reading);
		assert_int_equal(reading.known, NVML_CLOCKS | NVML_REASONS | NVML_POWER |
							NVML_ENERGY | NVML_TEMPERATURE | NVML_ECC);
		assert_int_equal(reading.refusal, TELEMETRY_ANSWERS);
		assert_int_equal(reading.sm_mhz, 1980);
		assert_int_equal(reading.memory_mhz, 2619);
		assert_int_equal(reading.reason, TELEMETRY_FREE);
		assert_int_equal(reading.power_mw, 500000);
		assert_int_equal(reading.energy_mj, 1000000000 + i * 125000);
		assert_int_equal(reading.celsius, 60);
		assert_int_equal(reading.ecc_corrected, 3 * i);
	}
	fake_nvml.divided = true;
	assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), TELEMETRY_DIVIDED);
	assert_null(device);
	assert_int_equal(nvml_library_find(library, 0, 0xfe, 0, &device), TELEMETRY_NO_DEVICE);
}

/* The first in the order of enum telemetry_reason has the time. */
static void of_several_reasons_one_counts(void **state)
{
	static const struct {
		uint32_t bits;
		enum telemetry_reason reason;
	} cases[] = {
		{0x0, TELEMETRY_FREE},         {0x1, TELEMETRY_IDLE},
		{0x2, TELEMETRY_SET_CLOCKS},   {0x100, TELEMETRY_SET_CLOCKS},
		{0x4, TELEMETRY_SW_POWER_CAP}, {0x8, TELEMETRY_HW_SLOWDOWN},
		{0x10, TELEMETRY_SYNC_BOOST},  {0x20, TELEMETRY_SW_THERMAL},
		{0x48, TELEMETRY_HW_THERMAL},  {0x88, TELEMETRY_HW_POWER_BRAKE},
		{0x24, TELEMETRY_SW_THERMAL},  {0x1ff, TELEMETRY_IDLE},
		{0x800, TELEMETRY_OTHER},      {0x804, TELEMETRY_SW_POWER_CAP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nvml_device *device;
		struct nvml_reading reading;

		fake_nvml.gpu.reasons = cases[i].bits;
		nvml_library_close(library);
		assert_int_equal(nvml_library_open(&library), 0);
		fake_nvml.gpu.then = cases[i].bits;
		assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), 0);
		nvml_library_read(library, device, &reading);
		assert_int_equal(reading.reason, cases[i].reason);
	}
}

static void a_driver_lacks_what_it_lacks(void **state)
{
	static const struct {
		const char *name;
		uint32_t lost, refusal;
	} cases[] = {
		{"nvmlDeviceGetClockInfo", NVML_CLOCKS, TELEMETRY_NOT_SUPPORTED},
		{"nvmlDeviceGetCurrentClocksEventReasons", 0, TELEMETRY_ANSWERS},
		{"nvmlDeviceGetPowerUsage", NVML_POWER, TELEMETRY_NOT_SUPPORTED},
		{"nvmlDeviceGetTotalEnergyConsumption", NVML_ENERGY, TELEMETRY_NOT_SUPPORTED},
		{"nvmlDeviceGetTemperature", NVML_TEMPERATURE, TELEMETRY_ANSWERS},
		{"nvmlDeviceGetTotalEccErrors", NVML_ECC, TELEMETRY_ANSWERS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nvml_device *device;
		struct nvml_reading reading;

		missing = cases[i].name;
		nvml_library_close(library);
		assert_int_equal(nvml_library_open(&library), 0);
		assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), 0);
		nvml_library_read(library, device, &reading);
		assert_int_equal(reading.known, 63 & ~cases[i].lost);
		assert_int_equal(reading.refusal, cases[i].refusal);
	}
}

static void a_refusal_is_told_with_its_reason(void **state)
{
	static const uint32_t cases[][2] = {{3, TELEMETRY_NOT_SUPPORTED},
					    {4, TELEMETRY_NO_PERMISSION},
					    {15, TELEMETRY_FAILED},
					    {999, TELEMETRY_FAILED}};

	(void)state;
	assert_int_equal(nvml_library_open(&library), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nvml_device *device;
		struct nvml_reading reading;

		fake_nvml.gpu.result = cases[i][0];
		assert_int_equal(nvml_library_find(library, 0, 0x17, 0, &device), 0);
		nvml_library_read(library, device, &reading);
		assert_int_equal(reading.known, 0);
		assert_int_equal(reading.refusal, cases[i][1]);
	}
}

static void closing_ends_nvml(void **state)
{
	struct nvml_link link;

	(void)state;
	assert_int_equal(ask(&link), 0);
	assert_int_equal(fake_nvml.nr_open, 1);
	nvml_library_close(library);
	library = NULL;
	assert_int_equal(fake_nvml.nr_open, 0);
	nvml_library_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_that_of_all_nvlinks_together),
		TEST(links_that_are_down_do_not_count),
		TEST(a_driver_without_speeds_of_single_links_has_the_common_one),
		TEST(nvlinks_without_a_speed_are_not_known),
		TEST(without_nvlinks_it_is_pcie),
		TEST(a_pcie_link_that_is_not_told_is_not_known),
		TEST(the_parts_of_a_divided_gpu_have_no_link_of_their_own),
		TEST(a_gpu_that_nvml_does_not_see_is_an_error),
		TEST(opening_fails_without_the_library_or_what_all_else_needs),
		TEST(opening_fails_where_nvml_does_not_start),
		TEST(opening_fails_without_memory),
		TEST(a_reading_tells_what_the_gpu_tells),
		TEST(of_several_reasons_one_counts),
		TEST(a_driver_lacks_what_it_lacks),
		TEST(a_refusal_is_told_with_its_reason),
		TEST(closing_ends_nvml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

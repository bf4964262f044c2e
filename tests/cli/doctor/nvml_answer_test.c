/* What doctor says of NVML, and of each GPU's counters. */
#include "cli/doctor/nvml_answer.h"

#include <stdlib.h>
#include <string.h>

#include "proto/device_telemetry.h"
#include "tests/support/cmocka_test.h"
#include "tests/support/fake_nvml/fake_nvml.h"

static struct device_list_entry entries[] = {
	{.index = 0, .pci_bus = 0x17},
	{.index = 1, .pci_bus = 0x18},
	{.index = 2, .pci_bus = 0x19},
};

static void expect(const char *words, uint32_t count, uint32_t refusal, const char *expected)
{
	const struct device_list devices = {entries, count};
	char counters[NVML_ANSWER_COUNTERS_SIZE];

	setenv("FAKE_NVML", words, 1);
	fake_nvml_reset();
	assert_int_equal(nvml_answer(&devices, counters), refusal);
	assert_string_equal(counters, expected);
}

static void each_gpu_says_whether_it_counts_energy(void **state)
{
	(void)state;
	expect("", 3, TELEMETRY_ANSWERS,
	       "; energy of 3 of 3 GPUs; use and traffic (GPM) of 3 of 3 GPUs");
	expect("18:result=3", 3, TELEMETRY_NOT_SUPPORTED,
	       "; energy of 2 of 3 GPUs, not of GPU1; use and traffic (GPM) of 3 of 3 GPUs");
	expect("*:result=3", 1, TELEMETRY_NOT_SUPPORTED,
	       "; energy of 0 of 1 GPU, not of GPU0; use and traffic (GPM) of 1 of 1 GPU");
}

static void each_gpu_says_whether_it_has_gpm(void **state)
{
	(void)state;
	expect("18:gpm=3 19:gpm=3", 3, TELEMETRY_ANSWERS,
	       "; energy of 3 of 3 GPUs; use and traffic (GPM) of 1 of 3 GPUs, not of GPU1, GPU2: "
	       "GPUs before Hopper and older drivers have none");
	expect("*:gpm=4", 1, TELEMETRY_ANSWERS,
	       "; energy of 1 of 1 GPU; use and traffic (GPM) of 0 of 1 GPU, not of GPU0: "
	       "NVML does not permit it");
}

static void without_gpus_or_nvml_nothing_is_said(void **state)
{
	(void)state;
	expect("", 0, TELEMETRY_ANSWERS, "");
	setenv("FAKE_NVML", "", 1);
	fake_nvml_reset();
	fake_nvml.init_result = 9;
	char counters[NVML_ANSWER_COUNTERS_SIZE];
	assert_int_equal(nvml_answer(&(struct device_list){entries, 2}, counters),
			 TELEMETRY_NO_DRIVER);
	assert_string_equal(counters, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gpu_says_whether_it_counts_energy),
		cmocka_unit_test(each_gpu_says_whether_it_has_gpm),
		cmocka_unit_test(without_gpus_or_nvml_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

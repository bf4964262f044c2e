/* What doctor says of samples of counters: by a fake CUDA and CUPTI, in a process of flamegrid's. */
#include "cli/doctor/counters_answer.h"

#include <stdlib.h>

#include "proto/counter_sampling.h"
#include "tests/support/cmocka_test.h"

static const char *program;

/* The first two are the fake's. */
static struct device_list_entry entries[] = {
	{.index = 0, .pci_bus = 0x17},
	{.index = 1, .pci_bus = 0x1f},
	{.index = 2, .pci_bus = 0x18},
};

static void expect(uint32_t count, uint32_t refusal, const char *expected)
{
	const struct device_list devices = {entries, count};
	char text[COUNTERS_ANSWER_SIZE];

	assert_int_equal(counters_answer(&devices, program, text), refusal);
	assert_string_equal(text, expected);
}

static void gpus_that_can_be_sampled_are_counted(void **state)
{
	(void)state;
	expect(2, COUNTER_SAMPLED, "2 of 2 GPUs");
	expect(1, COUNTER_SAMPLED, "1 of 1 GPU");
}

static void gpus_that_cannot_are_named(void **state)
{
	(void)state;
	expect(3, COUNTER_NO_DEVICE, "2 of 3 GPUs, not of GPU2");
}

static void a_refusal_has_its_reason(void **state)
{
	(void)state;
	setenv("FAKE_CUPTI_PM_REFUSED", "35", 1);
	expect(2, COUNTER_NO_RIGHT, "0 of 2 GPUs, not of GPU0, GPU1");
	setenv("FAKE_CUPTI_PM_REFUSED", "7", 1);
	expect(1, COUNTER_TAKEN, "0 of 1 GPU, not of GPU0");
	unsetenv("FAKE_CUPTI_PM_REFUSED");
}

static void a_process_that_dies_is_told(void **state)
{
	(void)state;
	setenv("FAKE_CUPTI_PM_DIES", "1", 1);
	expect(1, COUNTER_DIED, "0 of 1 GPU, not of GPU0");
	expect(3, COUNTER_DIED, "0 of 3 GPUs, not of GPU0, GPU1, GPU2");
	unsetenv("FAKE_CUPTI_PM_DIES");
}

static void without_a_library_none_is_sampled(void **state)
{
	const char *library = getenv("FLAMEGRID_CUPTI");

	(void)state;
	setenv("FLAMEGRID_CUPTI", "/nowhere/libcupti.so.13", 1);
	expect(1, COUNTER_NO_LIBRARY, "0 of 1 GPU, not of GPU0");
	setenv("FLAMEGRID_CUPTI", library, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_that_can_be_sampled_are_counted),
		cmocka_unit_test(gpus_that_cannot_are_named),
		cmocka_unit_test(a_refusal_has_its_reason),
		cmocka_unit_test(a_process_that_dies_is_told),
		cmocka_unit_test(without_a_library_none_is_sampled),
	};

	if (argc != 4)
		return 2;
	program = argv[1];
	setenv("FLAMEGRID_CUPTI", argv[2], 1);
	setenv("LD_LIBRARY_PATH", argv[3], 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

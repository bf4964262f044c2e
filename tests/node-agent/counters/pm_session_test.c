/* Sampling counters of a fake GPU, by a fake CUPTI with known samples (tests/support/fake_cuda/cupti/pm_sampling.h). */
#include "node-agent/counters/pm_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fake_cuda.h"
#include "node-agent/counters/pm_abi.h"

#define MS         1000000ull
#define PCI_BUS    0x17u /* of the first GPU */
#define CODE_RIGHT 35    /* CUPTI_ERROR_INSUFFICIENT_PRIVILEGES */

static struct pm_library library;
static struct pm_session *session;
static size_t device;

struct seen {
	uint32_t count;
	struct counter_sample first, last;
	uint64_t dropped;
	uint32_t invalid; /* of the last one */
};

static int set_up_group(void **state)
{
	(void)state;
	assert_int_equal(pm_library_open(&library), COUNTER_SAMPLED);
	assert_int_equal(pm_library_find(&library, 0, PCI_BUS, 0, &device), COUNTER_SAMPLED);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 0);
	fake_cuda_set("FAKE_CUPTI_PM_OVERFLOW", 0);
	fake_cuda_set("FAKE_CUPTI_PM_NVLINK", 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pm_session_close(session);
	session = NULL;
	return 0;
}

static void take(void *context, const struct counter_sample *sample, uint32_t invalid)
{
	struct seen *seen = context;

	if (seen->count++ == 0)
		seen->first = *sample;
	else
		assert_int_equal(sample->begin_ns, seen->last.end_ns);
	seen->last = *sample;
	seen->invalid = invalid;
}

/* Decodes until there are so many samples. The fake's clock goes on by itself. */
static enum pm_round decode(struct seen *seen, uint32_t least)
{
	const time_t begin = time(NULL);
	enum pm_round round;

	do {
		round = pm_session_decode(session, take, seen, &seen->dropped);
		assert_true(time(NULL) - begin < 60);
	} while (seen->count < least && (round == PM_ROUND_DONE || round == PM_ROUND_MORE));
	return round;
}

static void samples_have_exact_values(void **state)
{
	struct seen seen = {0};

	(void)state;
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_SAMPLED);
	assert_int_not_equal(decode(&seen, 20), PM_ROUND_FULL);
	assert_int_equal(seen.dropped, 1); /* the first one */
	assert_int_equal(seen.last.end_ns - seen.last.begin_ns, MS);
	assert_int_equal(seen.last.end_ns - seen.first.begin_ns, seen.count * MS);
	assert_int_equal(seen.last.known,
			 COUNTER_KNOWN_MAX & ~COUNTER_KNOWS_TRAFFIC(COUNTER_NVLINK_BYTES));
	assert_int_equal(seen.last.use[COUNTER_SM], 600000);
	assert_int_equal(seen.last.use[COUNTER_OCCUPANCY], 300000);
	assert_int_equal(seen.last.use[COUNTER_TENSOR], 200000);
	assert_int_equal(seen.last.use[COUNTER_DRAM], 400000);
	assert_int_equal(seen.last.bytes[COUNTER_DRAM_BYTES], 3 * MS);
	assert_int_equal(seen.last.bytes[COUNTER_PCIE_BYTES], 48000);
	assert_int_equal(seen.last.bytes[COUNTER_NVLINK_BYTES], 0);
}

static void nvlink_is_sampled_where_the_gpu_has_it(void **state)
{
	struct seen seen = {0};

	(void)state;
	fake_cuda_set("FAKE_CUPTI_PM_NVLINK", 1);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_SAMPLED);
	decode(&seen, 1);
	assert_int_equal(seen.last.known, COUNTER_KNOWN_MAX);
	assert_int_equal(seen.last.bytes[COUNTER_NVLINK_BYTES], 144000);
}

static void an_overflow_is_told_and_sampling_begins_anew(void **state)
{
	struct seen seen = {0}, later = {0};

	(void)state;
	fake_cuda_set("FAKE_CUPTI_PM_OVERFLOW", 1);
	assert_int_equal(pm_session_open(&library, device, MS / 10, &session), COUNTER_SAMPLED);
	assert_int_equal(decode(&seen, 1000), PM_ROUND_FULL);
	/* Nothing comes until then. */
	later = seen;
	assert_int_equal(decode(&later, 1000), PM_ROUND_FULL);
	assert_int_equal(later.count + later.dropped, seen.count + seen.dropped);
	fake_cuda_set("FAKE_CUPTI_PM_OVERFLOW", 0);
	assert_int_equal(pm_session_restart(session), COUNTER_SAMPLED);
	later = (struct seen){0};
	assert_int_not_equal(decode(&later, 20), PM_ROUND_FULL);
	assert_int_equal(later.dropped, 1);
	assert_true(later.first.begin_ns > seen.last.end_ns);
}

static void an_image_that_is_full_is_no_end(void **state)
{
	struct seen seen = {0};

	(void)state;
	/* 2,048 samples are in an image: 205 ms. */
	assert_int_equal(pm_session_open(&library, device, MS / 10, &session), COUNTER_SAMPLED);
	decode(&seen, 3000);
	assert_true(seen.count >= 3000);
	assert_int_equal(seen.dropped, 1);
}

static void a_refusal_has_its_reason(void **state)
{
	struct pm_session *second;
	size_t none;

	(void)state;
	assert_int_equal(pm_library_find(&library, 0, PCI_BUS + 1, 0, &none), COUNTER_NO_DEVICE);
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", CODE_RIGHT);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_NO_RIGHT);
	assert_null(session);
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 33);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_VIRTUAL);
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 43);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_VIRTUAL);
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 27);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_NOT_SUPPORTED);
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 999);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_FAILED);
	assert_string_equal(pm_library_failure(&library), "cuptiPmSamplingEnable() returned 999");
	fake_cuda_set("FAKE_CUPTI_PM_REFUSED", 0);
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_SAMPLED);
	assert_int_equal(pm_session_open(&library, device, MS, &second), COUNTER_TAKEN);
	assert_null(second);
}

static int refuse_with_999(void *params)
{
	(void)params;
	return 999;
}

static int tell_of_too_many(void *params)
{
	struct pm_counted *counted = params;

	counted->completed = SIZE_MAX;
	return 0;
}

static void a_failure_names_the_call_that_failed(void **state)
{
	const struct pm_library whole = library;
	struct seen seen = {0};

	(void)state;
	/* The GPU has no NVLink, so the call that asks for its counters fails. */
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_SAMPLED);
	assert_string_equal(pm_library_failure(&library), "");
	pm_session_close(session);

	/* Stopping what has not started fails as well. */
	library.call[PM_START] = library.call[PM_STOP] = refuse_with_999;
	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_FAILED);
	assert_string_equal(pm_library_failure(&library), "cuptiPmSamplingStart() returned 999");
	library = whole;

	assert_int_equal(pm_session_open(&library, device, MS, &session), COUNTER_SAMPLED);
	library.call[PM_COUNTED] = tell_of_too_many;
	assert_int_equal(pm_session_decode(session, take, &seen, &seen.dropped), PM_ROUND_ERROR);
	assert_string_equal(pm_library_failure(&library),
			    "CUPTI tells of more samples than have room");
	library.call[PM_COUNTED] = refuse_with_999;
	assert_int_equal(pm_session_decode(session, take, &seen, &seen.dropped), PM_ROUND_ERROR);
	assert_string_equal(pm_library_failure(&library),
			    "cuptiPmSamplingGetCounterDataInfo() returned 999");
	memcpy(library.call, whole.call, sizeof(library.call));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_have_exact_values),
		TEST(nvlink_is_sampled_where_the_gpu_has_it),
		TEST(an_overflow_is_told_and_sampling_begins_anew),
		TEST(an_image_that_is_full_is_no_end),
		TEST(a_refusal_has_its_reason),
		TEST(a_failure_names_the_call_that_failed),
	};

	if (argc != 2 || setenv("FLAMEGRID_CUPTI", argv[1], 1) || unsetenv("FAKE_CUDA_POWER"))
		return 2;
	return cmocka_run_group_tests(tests, set_up_group, NULL);
}

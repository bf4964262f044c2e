#include "inject/launch/api_select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "inject/cupti/cupti_library.h"
#include "proto/record.h"

static const char *const driver_names[] = {[0] = "INVALID",
					   [1] = "cuInit",
					   [243] = "cuMemAlloc_v2",
					   [307] = "cuLaunchKernel",
					   [442] = "cuLaunchKernel_ptsz"};
static const char *const runtime_names[] = {[0] = "INVALID",
					    [3] = "cudaMalloc_v3020",
					    [4] = "cudaMallocHost_v3020",
					    [5] = "cudaLaunchKernel_ptsz_v7000",
					    [6] = "cudaOdd_v2",
					    [7] = "v3020"};

static uint32_t enabled[16][2], nr_enabled;

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static int name_of(uint32_t domain, uint32_t cbid, const char **name)
{
	bool driver = domain == CUPTI_ABI_DOMAIN_DRIVER;
	size_t count = driver ? LENGTH(driver_names) : LENGTH(runtime_names);

	if (cbid >= count || !(driver ? driver_names : runtime_names)[cbid])
		return 1;
	*name = (driver ? driver_names : runtime_names)[cbid];
	return CUPTI_ABI_SUCCESS;
}

/* The driver's launches are refused. */
static int enable(uint32_t on, void *subscriber, uint32_t domain, uint32_t cbid)
{
	assert_int_equal(on, 1);
	assert_ptr_equal(subscriber, &nr_enabled);
	if (cbid == 307)
		return 1;
	enabled[nr_enabled][0] = domain;
	enabled[nr_enabled++][1] = cbid;
	return CUPTI_ABI_SUCCESS;
}

static const struct cupti_library library = {.get_callback_name = name_of,
					     .enable_callback = enable};
static struct api_select select_;

static bool is_selected(uint32_t domain, uint32_t cbid, const char *name)
{
	uint32_t row = api_select_row(&select_, domain, cbid);

	if (row == API_SELECT_NONE)
		return false;
	assert_true(row < select_.nr_functions);
	assert_int_equal(select_.functions[row].domain, domain);
	assert_int_equal(select_.functions[row].cbid, cbid);
	assert_int_equal(select_.functions[row].name_size, strlen(name));
	assert_memory_equal(select_.functions[row].name, name, strlen(name));
	return true;
}

static void names_select_with_and_without_the_version(void **state)
{
	(void)state;
	assert_int_equal(api_select_init(&select_, &library, "cudaMalloc", 0), 1);
	assert_true(is_selected(CUPTI_ABI_DOMAIN_RUNTIME, 3, "cudaMalloc"));
	assert_int_equal(api_select_init(&select_, &library, "cudaMallocHost_v3020", 0), 1);
	assert_true(is_selected(CUPTI_ABI_DOMAIN_RUNTIME, 4, "cudaMallocHost"));
	assert_int_equal(api_select_init(&select_, &library, "cuMemAlloc", 0), 0);
	assert_int_equal(api_select_init(&select_, &library, "cuMemAlloc_v2", 0), 1);
	assert_true(is_selected(CUPTI_ABI_DOMAIN_DRIVER, 243, "cuMemAlloc_v2"));
}

static void words_and_wildcards_select_many(void **state)
{
	(void)state;
	assert_int_equal(api_select_init(&select_, &library, "all", 0), 4 + 5);
	assert_true(is_selected(CUPTI_ABI_DOMAIN_RUNTIME, 5, "cudaLaunchKernel_ptsz"));
	assert_true(is_selected(CUPTI_ABI_DOMAIN_RUNTIME, 6, "cudaOdd_v2"));
	assert_true(is_selected(CUPTI_ABI_DOMAIN_RUNTIME, 7, "v3020"));
	assert_int_equal(api_select_init(&select_, &library, "driver", 0), 4);
	assert_int_equal(api_select_init(&select_, &library, "cudaM*,cuInit", 0), 3);
	assert_int_equal(api_select_init(&select_, &library, "", 0), 0);
	assert_int_equal(api_select_init(&select_, &library, NULL, 0), 0);
	assert_int_equal(api_select_init(&select_, &(struct cupti_library){.version = 1}, "all", 0),
			 0);
}

static void what_is_not_there_is_not_selected(void **state)
{
	(void)state;
	api_select_init(&select_, &library, "all", 0);
	assert_int_equal(api_select_row(&select_, CUPTI_ABI_DOMAIN_DRIVER, 0), API_SELECT_NONE);
	assert_int_equal(api_select_row(&select_, CUPTI_ABI_DOMAIN_DRIVER, 2), API_SELECT_NONE);
	assert_int_equal(api_select_row(&select_, CUPTI_ABI_DOMAIN_DRIVER, UINT32_MAX),
			 API_SELECT_NONE);
	assert_int_equal(api_select_row(&select_, 0, 1), API_SELECT_NONE);
	assert_int_equal(api_select_row(&select_, CUPTI_ABI_DOMAIN_RESOURCE, 1), API_SELECT_NONE);
}

static void launches_are_told_apart_also_where_they_are_not_counted(void **state)
{
	(void)state;
	api_select_init(&select_, &library, "cuInit", 0);
	assert_true(api_select_is_launch(&select_, 307));
	assert_true(api_select_is_launch(&select_, 442));
	assert_false(api_select_is_launch(&select_, 1));
	assert_false(api_select_is_launch(&select_, UINT32_MAX));
}

static void only_what_is_selected_is_asked_for(void **state)
{
	(void)state;
	nr_enabled = 0;
	api_select_init(&select_, &library, "cuInit,cuLaunchKernel,cudaMalloc", 0);
	assert_int_equal(api_select_enable(&select_, &library, &nr_enabled, 1), 2);
	assert_int_equal(nr_enabled, 2);
	assert_int_equal(enabled[0][0], CUPTI_ABI_DOMAIN_DRIVER);
	assert_int_equal(enabled[0][1], 1);
	assert_int_equal(enabled[1][0], CUPTI_ABI_DOMAIN_RUNTIME);
	assert_int_equal(enabled[1][1], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_select_with_and_without_the_version),
		cmocka_unit_test(words_and_wildcards_select_many),
		cmocka_unit_test(what_is_not_there_is_not_selected),
		cmocka_unit_test(launches_are_told_apart_also_where_they_are_not_counted),
		cmocka_unit_test(only_what_is_selected_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "conformance_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_log.h"

#define CBID_MEM_ALLOC      243u
#define CBID_RUNTIME_LAUNCH 211u
#define CBID_LAUNCH_PTSZ    442u
#define CBID_NONE           100000u
#define ALLOCATIONS         3
#define SHARED_BYTES        4096u
#define ERROR_OUT_OF_MEMORY 2
#define TOO_MANY_BYTES      (1ull << 60)

static const char *name_of(uint32_t domain, uint32_t cbid)
{
	const char *name = NULL;

	return cuptiGetCallbackName(domain, cbid, &name) == 0 && name ? name : "";
}

static void check_names(void)
{
	const char *runtime = name_of(DOMAIN_RUNTIME, CBID_RUNTIME_LAUNCH);

	check(strcmp(name_of(DOMAIN_DRIVER, CBID_LAUNCH_KERNEL), "cuLaunchKernel") == 0 &&
		      strcmp(name_of(DOMAIN_DRIVER, CBID_MEM_ALLOC), "cuMemAlloc_v2") == 0 &&
		      strcmp(name_of(DOMAIN_DRIVER, CBID_LAUNCH_PTSZ), "cuLaunchKernel_ptsz") == 0,
	      "the driver's callbacks are called like its functions");
	check(strncmp(runtime, "cudaLaunchKernel_v", 18) == 0,
	      "the runtime's callbacks are called like its functions, with a version (%s)",
	      runtime);
	check(name_of(DOMAIN_DRIVER, CBID_NONE)[0] == '\0', "a number beyond the last has no name");
}

/* Of two functions only, one of which fails once. */
static void check_single_callbacks(void)
{
	device_address memory;
	uint32_t begun = 0, ended = 0, failed = 0, others = 0, unpaired = 0;

	CALL(cuptiEnableDomain, 0, conformance_subscriber, DOMAIN_DRIVER);
	CALL(cuptiEnableCallback, 1, conformance_subscriber, DOMAIN_DRIVER, CBID_MEM_ALLOC);
	conformance_log_clear();
	for (int i = 0; i < ALLOCATIONS; i++)
		CALL(cuMemAlloc_v2, &memory, 256);
	CALL(cuCtxSynchronize);
	int refused = cuMemAlloc_v2(&memory, TOO_MANY_BYTES);
	CALL(cuptiEnableCallback, 0, conformance_subscriber, DOMAIN_DRIVER, CBID_MEM_ALLOC);
	const struct conformance_log log = conformance_log_read();
	for (uint32_t i = 0; i < log.nr_calls; i++) {
		const struct call_entry *call = &log.calls[i];
		bool exit = call->site == SITE_EXIT;

		others += call->domain != DOMAIN_DRIVER || call->cbid != CBID_MEM_ALLOC;
		begun += !exit;
		ended += exit;
		failed += exit && call->result == ERROR_OUT_OF_MEMORY;
		unpaired += exit && (i == 0 || log.calls[i - 1].site != SITE_ENTER ||
				     log.calls[i - 1].correlation_id != call->correlation_id);
	}
	check(begun == ALLOCATIONS + 1 && ended == ALLOCATIONS + 1,
	      "a callback enabled alone comes at each call (%u begun, %u ended, expected %d)",
	      begun, ended, ALLOCATIONS + 1);
	check(others == 0, "and no other one does (%u did)", others);
	check(unpaired == 0, "its EXIT has the id of its ENTER (%u have not)", unpaired);
	check(failed == 1 && refused == ERROR_OUT_OF_MEMORY,
	      "its EXIT has the result: out of memory (%d)", refused);
	CALL(cuptiEnableDomain, 1, conformance_subscriber, DOMAIN_DRIVER);
}

static void check_configuration(void *function, uint64_t memory)
{
	uint32_t loops = 10, right = 0;
	void *params[] = {&memory, &loops};
	const uint32_t grid[3] = {5, 3, 2}, block[3] = {32, 2, 1};

	conformance_log_clear();
	CALL(cuLaunchKernel, function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
	     SHARED_BYTES, NULL, params, NULL);
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	const struct conformance_log log = conformance_log_read();
	for (uint32_t i = 0; i < log.nr_records; i++) {
		const struct record_entry *record = &log.records[i];

		if (record->kind != KIND_KERNEL)
			continue;
		right += memcmp(record->grid, grid, sizeof(grid)) == 0 &&
			 memcmp(record->block, block, sizeof(block)) == 0 &&
			 record->dynamic_bytes == SHARED_BYTES && record->registers >= 1 &&
			 record->registers <= 255;
		fact("its registers %u, static shared memory %u, local memory %u",
		     record->registers, record->static_bytes, record->local_bytes);
	}
	check(right == 1,
	      "a kernel record has the launch's grid, block, shared memory and registers (%u)",
	      right);
}

static void check_limits(void)
{
	static const struct {
		int attribute;
		const char *name;
		bool may_be_none;
	} limits[] = {
		{75, "compute major", false},   {76, "compute minor", true},
		{16, "multiprocessors", false}, {10, "warp size", false},
		{39, "threads", false},         {106, "blocks", false},
		{82, "registers", false},       {81, "shared memory", false},
		{1, "block threads", false},    {12, "block registers", false},
		{8, "block shared", false},     {97, "block shared by request", false},
		{111, "block reserved", true},
	};
	uint32_t missing = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		int value = 0;

		CALL(cuDeviceGetAttribute, &value, limits[i].attribute, 0);
		missing += value <= 0 && !limits[i].may_be_none;
		fact("multiprocessor: %s %d", limits[i].name, value);
	}
	check(missing == 0, "the device says what a multiprocessor has (%u are missing)", missing);
}

void conformance_api_run(void *context, void *function, uint64_t memory)
{
	CALL(cuCtxSetCurrent, context);
	check_names();
	check_single_callbacks();
	check_configuration(function, memory);
	check_limits();
}

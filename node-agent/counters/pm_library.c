#include "pm_library.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "pm_abi.h"

#include "inject/cupti/cupti_host_part.h"
#include "inject/cupti/cupti_search.h"
#include "proto/counter_sampling.h"

#define CUDA     "libcuda.so.1"
#define TOOLKITS "/usr/local"

/* CUptiResult, after cupti_result.h of CUDA 13. */
enum result {
	RESULT_SUCCESS = 0,
	RESULT_INVALID_OPERATION = 7,
	RESULT_HARDWARE_BUSY = 26,
	RESULT_NOT_SUPPORTED = 27,
	RESULT_VIRTUALIZED = 33,
	RESULT_NO_PRIVILEGES = 35,
	RESULT_VIRTUALIZED_NO_PRIVILEGES = 40,
	RESULT_CONFIDENTIAL = 41,
	RESULT_CMP = 42,
	RESULT_MIG = 43,
	RESULT_WSL = 45,
	RESULT_CHIP = 46,
};

static const char *const names[PM_FUNCTIONS] = {
	[PM_INITIALIZE] = "cuptiProfilerInitialize",
	[PM_CHIP] = "cuptiDeviceGetChipName",
	[PM_HOST_INITIALIZE] = "cuptiProfilerHostInitialize",
	[PM_HOST_DEINITIALIZE] = "cuptiProfilerHostDeinitialize",
	[PM_HOST_ADD] = "cuptiProfilerHostConfigAddMetrics",
	[PM_HOST_CONFIG_SIZE] = "cuptiProfilerHostGetConfigImageSize",
	[PM_HOST_CONFIG] = "cuptiProfilerHostGetConfigImage",
	[PM_HOST_PASSES] = "cuptiProfilerHostGetNumOfPasses",
	[PM_HOST_EVALUATE] = "cuptiProfilerHostEvaluateToGpuValues",
	[PM_AVAILABILITY] = "cuptiPmSamplingGetCounterAvailability",
	[PM_ENABLE] = "cuptiPmSamplingEnable",
	[PM_DISABLE] = "cuptiPmSamplingDisable",
	[PM_SET] = "cuptiPmSamplingSetConfig",
	[PM_COUNTERS_SIZE] = "cuptiPmSamplingGetCounterDataSize",
	[PM_COUNTERS] = "cuptiPmSamplingCounterDataImageInitialize",
	[PM_START] = "cuptiPmSamplingStart",
	[PM_STOP] = "cuptiPmSamplingStop",
	[PM_DECODE] = "cuptiPmSamplingDecodeData",
	[PM_COUNTED] = "cuptiPmSamplingGetCounterDataInfo",
	[PM_SAMPLE] = "cuptiPmSamplingCounterDataGetSampleInfo",
};

int pm_library_call(struct pm_library *library, enum pm_function function, void *params)
{
	const int result = library->call[function](params);

	if (result) {
		library->failed = function;
		library->failure = result;
	}
	return result;
}

void pm_library_end(const struct pm_library *library, enum pm_function function, void *params)
{
	library->call[function](params);
}

void pm_library_note(struct pm_library *library, const char *oddity)
{
	library->oddity = oddity;
	if (!oddity)
		library->failure = 0;
}

const char *pm_library_failure(const struct pm_library *library)
{
	static char text[96];

	*text = '\0';
	if (library->oddity)
		return library->oddity;
	if (library->failure)
		snprintf(text, sizeof(text), "%s() returned %d", names[library->failed],
			 library->failure);
	return text;
}

uint32_t pm_library_refusal(int result)
{
	switch (result) {
	case RESULT_SUCCESS:
		return COUNTER_SAMPLED;
	case RESULT_NO_PRIVILEGES:
	case RESULT_VIRTUALIZED_NO_PRIVILEGES:
		return COUNTER_NO_RIGHT;
	case RESULT_INVALID_OPERATION: /* another session of the same GPU */
	case RESULT_HARDWARE_BUSY:
		return COUNTER_TAKEN;
	case RESULT_VIRTUALIZED:
	case RESULT_MIG:
		return COUNTER_VIRTUAL;
	case RESULT_NOT_SUPPORTED:
	case RESULT_CONFIDENTIAL:
	case RESULT_CMP:
	case RESULT_WSL:
	case RESULT_CHIP:
		return COUNTER_NOT_SUPPORTED;
	default:
		return COUNTER_FAILED;
	}
}

static bool resolve(void *handle, struct pm_library *library)
{
	for (int i = 0; i < PM_FUNCTIONS; i++) {
		void *address = dlsym(handle, names[i]);

		if (!address)
			return false;
		memcpy(&library->call[i], &address, sizeof(address));
	}
	return true;
}

/* Returns enum counter_refusal. */
static uint32_t try_cupti(struct pm_library *library, const char *path)
{
	struct metrics_initialize params = {METRICS_ABI_SIZE(struct metrics_initialize, reserved),
					    NULL};
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	uint32_t refusal = COUNTER_NO_LIBRARY;

	if (handle && resolve(handle, library)) {
		cupti_host_part_map(library->call[PM_INITIALIZE]);
		refusal = pm_library_refusal(pm_library_call(library, PM_INITIALIZE, &params));
	}
	if (handle && refusal)
		dlclose(handle);
	return refusal;
}

/* A library that lacks functions is of an old CUDA, and one that does not start may not fit the driver: another one may
 * do. Returns enum counter_refusal, of the last one that starts or not. */
static uint32_t load_cupti(struct pm_library *library)
{
	struct cupti_search *search = calloc(1, sizeof(*search));
	const struct cupti_search_input trusted = {.toolkit_parent = TOOLKITS};
	uint32_t refusal = COUNTER_NO_LIBRARY;

	if (!search)
		return COUNTER_FAILED;
	/* A program with more rights than its caller loads nothing that the caller's environment names. */
	if (getauxval(AT_SECURE))
		cupti_search_run(&trusted, search);
	else
		cupti_search_environment(NULL, 0, NULL, search);
	for (uint32_t i = 0; i < search->nr_candidates && refusal; i++) {
		const uint32_t why = try_cupti(library, search->candidates[i].path);

		if (why != COUNTER_NO_LIBRARY)
			refusal = why;
	}
	free(search);
	return refusal;
}

static uint32_t start_driver(struct pm_library *library)
{
	int (*initialize)(unsigned int flags) = NULL;
	void *handle = dlopen(CUDA, RTLD_NOW | RTLD_LOCAL);
	/* A tarball's loader does not look there, where Red Hat has its libraries. */
	if (!handle)
		handle = dlopen("/usr/lib64/" CUDA, RTLD_NOW | RTLD_LOCAL);
	void *start = handle ? dlsym(handle, "cuInit") : NULL;
	void *find = handle ? dlsym(handle, "cuDeviceGetByPCIBusId") : NULL;

	if (!start || !find)
		return COUNTER_NO_DRIVER;
	memcpy(&initialize, &start, sizeof(start));
	memcpy(&library->find, &find, sizeof(find));
	/* Without it cuptiProfilerInitialize() fails. */
	return initialize(0) == 0 ? COUNTER_SAMPLED : COUNTER_NO_DRIVER;
}

uint32_t pm_library_open(struct pm_library *library)
{
	const uint32_t refusal = start_driver(library);

	return refusal ? refusal : load_cupti(library);
}

uint32_t pm_library_find(const struct pm_library *library, uint32_t pci_domain, uint32_t pci_bus,
			 uint32_t pci_device, size_t *device)
{
	char address[40];
	int found = 0;

	snprintf(address, sizeof(address), "%08" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".0",
		 pci_domain, pci_bus, pci_device);
	if (library->find(&found, address) || found < 0)
		return COUNTER_NO_DEVICE;
	*device = (size_t)found;
	return COUNTER_SAMPLED;
}

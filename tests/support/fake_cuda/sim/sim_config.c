#include "sim_config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

static struct {
	const char *variable;
	_Atomic uint64_t value;
} options[SIM_OPTIONS] = {
	[SIM_DEVICES] = {"FAKE_CUDA_DEVICES", 2},
	[SIM_HOST_SEED] = {"FAKE_CUDA_HOST_SEED", 0},
	[SIM_REALTIME] = {"FAKE_CUDA_REALTIME", 1},
	[SIM_LAUNCH_NS] = {"FAKE_CUDA_LAUNCH_NS", 1000},
	[SIM_FAIL_LAUNCH] = {"FAKE_CUDA_FAIL_LAUNCH", 0},
	[SIM_RUN_ON] = {"FAKE_CUDA_RUN_ON", 0},
	[SIM_CUPTI_VERSION] = {"FAKE_CUPTI_VERSION", 130001},
	[SIM_CUPTI_SHUFFLE] = {"FAKE_CUPTI_SHUFFLE", 0},
	[SIM_CUPTI_LATE] = {"FAKE_CUPTI_LATE", 0},
	[SIM_CUPTI_DROP] = {"FAKE_CUPTI_DROP", 0},
	[SIM_CUPTI_ZERO_TIME] = {"FAKE_CUPTI_ZERO_TIME", 0},
	[SIM_CUPTI_TAKEN] = {"FAKE_CUPTI_TAKEN", 0},
	[SIM_CUPTI_INIT_FAIL] = {"FAKE_CUPTI_INIT_FAIL", 0},
	[SIM_CUPTI_OLDEST] = {"FAKE_CUPTI_OLDEST", 0},
	[SIM_CUPTI_NEWEST] = {"FAKE_CUPTI_NEWEST", 0},
	[SIM_METRICS_REFUSED] = {"FAKE_CUPTI_METRICS_REFUSED", 0},
	[SIM_METRICS_NAN] = {"FAKE_CUPTI_METRICS_NAN", 0},
	[SIM_METRICS_WAITS] = {"FAKE_CUPTI_METRICS_WAITS", 0},
	[SIM_METRICS_SYNCS] = {"FAKE_CUPTI_METRICS_SYNCS", 0},
	[SIM_NO_CONTEXT_EVENTS] = {"FAKE_CUDA_NO_CONTEXT_EVENTS", 0},
	[SIM_SAMPLES_REFUSED] = {"FAKE_CUPTI_SAMPLES_REFUSED", 0},
	[SIM_SAMPLES_START_FAIL] = {"FAKE_CUPTI_SAMPLES_START_FAIL", 0},
	[SIM_SAMPLES_LEAST_NS] = {"FAKE_CUPTI_SAMPLES_LEAST_NS", 0},
	[SIM_SAMPLES_OTHER] = {"FAKE_CUPTI_SAMPLES_OTHER", 0},
	[SIM_SAMPLES_DROPPED] = {"FAKE_CUPTI_SAMPLES_DROPPED", 0},
	[SIM_PM_REFUSED] = {"FAKE_CUPTI_PM_REFUSED", 0},
	[SIM_PM_OVERFLOW] = {"FAKE_CUPTI_PM_OVERFLOW", 0},
	[SIM_PM_DIES] = {"FAKE_CUPTI_PM_DIES", 0},
	[SIM_PM_HANGS] = {"FAKE_CUPTI_PM_HANGS", 0},
	[SIM_PM_WRONG] = {"FAKE_CUPTI_PM_WRONG", 0},
	[SIM_PM_NVLINK] = {"FAKE_CUPTI_PM_NVLINK", 0},
};

uint64_t sim_config_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15ull + b + 0x2545f4914f6cdd1dull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t sim_config_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

/* A word in place of a number (a host name as seed, say) counts as its hash; an empty value as
 * unset. */
__attribute__((constructor)) static void read_environment(void)
{
	for (size_t i = 0; i < SIM_OPTIONS; i++) {
		const char *text = getenv(options[i].variable);
		char *end;

		if (!text || !*text)
			continue;
		uint64_t value = strtoull(text, &end, 0);
		atomic_store(&options[i].value, *end ? sim_config_hash(text) : value);
	}
}

uint64_t sim_config_get(enum sim_option option)
{
	return atomic_load_explicit(&options[option].value, memory_order_relaxed);
}

int fake_cuda_set(const char *variable, uint64_t value)
{
	for (size_t i = 0; i < SIM_OPTIONS; i++) {
		if (strcmp(options[i].variable, variable) == 0) {
			atomic_store(&options[i].value, value);
			return 0;
		}
	}
	return -ENOENT;
}

_Bool sim_config_one_in(uint64_t n, _Atomic uint64_t *counter)
{
	if (n == 0)
		return 0;
	return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) % n == n - 1;
}

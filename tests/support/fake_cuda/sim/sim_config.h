/* The modes of fake CUDA: read from the environment when the library is loaded, changed by
 * fake_cuda_set(). Any thread. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdint.h>

enum sim_option {
	SIM_DEVICES,
	SIM_HOST_SEED,
	SIM_REALTIME,
	SIM_LAUNCH_NS,
	SIM_FAIL_LAUNCH,
	SIM_RUN_ON,
	SIM_CUPTI_VERSION,
	SIM_CUPTI_SHUFFLE,
	SIM_CUPTI_LATE,
	SIM_CUPTI_DROP,
	SIM_CUPTI_ZERO_TIME,
	SIM_CUPTI_TAKEN,
	SIM_CUPTI_INIT_FAIL,
	SIM_CUPTI_OLDEST,
	SIM_CUPTI_NEWEST,
	SIM_METRICS_REFUSED,
	SIM_METRICS_NAN,
	SIM_METRICS_WAITS,
	SIM_METRICS_SYNCS,
	SIM_NO_CONTEXT_EVENTS,
	SIM_SAMPLES_REFUSED,
	SIM_SAMPLES_START_FAIL,
	SIM_SAMPLES_LEAST_NS,
	SIM_SAMPLES_OTHER,
	SIM_SAMPLES_DROPPED,
	SIM_PM_REFUSED,
	SIM_PM_OVERFLOW,
	SIM_PM_DIES,
	SIM_PM_HANGS,
	SIM_PM_WRONG,
	SIM_PM_NVLINK,
	SIM_OPTIONS
};

uint64_t sim_config_get(enum sim_option option);

/* Well mixed 64 bits of a and b: the only source of "random" in fake CUDA, so that runs repeat. */
uint64_t sim_config_mix(uint64_t a, uint64_t b);
uint64_t sim_config_hash(const char *text);

/* True for one call in n (n 0: never), counted by *counter. */
_Bool sim_config_one_in(uint64_t n, _Atomic uint64_t *counter);

#endif

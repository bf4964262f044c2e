/* The power that work adds to that of its device, for a fake NVML (tests/support/fake_nvml) in another process. Any
 * thread. */
#ifndef SIM_POWER_H
#define SIM_POWER_H

#include <stdint.h>

#include "sim_trace.h"

/* What the file that FAKE_CUDA_POWER names has of each operation, in the order in which their ends became known. */
struct sim_power_record {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint32_t pci_bus, mw;
};

/* Appends the operation, whose times are known. Nothing without FAKE_CUDA_POWER, or where it adds none. Its power is that
 * of its name in FAKE_CUDA_POWER_MW ("hot=300000,cold=100000"). */
void sim_power_add(uint32_t pci_bus, const struct sim_operation *operation);

#endif

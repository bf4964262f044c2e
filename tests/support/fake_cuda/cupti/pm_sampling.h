/* PM sampling, in a process that runs nothing: cuptiPmSampling…() of CUPTI 13. Its samples follow from time alone, or
 * from work of other processes (FAKE_CUDA_POWER). Any thread.
 *
 *   - The n-th sample of a session ends n intervals after its start. The first one begins half a second before it.
 *   - Without FAKE_CUDA_POWER: multiprocessors work for 60 % of the time with 30 % of the warps, tensor cores for 20 %, and
 *     the memory has 40 % of its peak. It reads 2 bytes and writes 1 in a nanosecond. PCIe reads 16 bytes and writes 32
 *     in a microsecond. NVLink receives 64 and sends 80 in one, if FAKE_CUPTI_PM_NVLINK is set.
 *   - With FAKE_CUDA_POWER tensor cores and memory work for the power of operations, of 1,000 W. The peak
 *     of the memory is that of a fake NVML (tests/support/fake_nvml). Multiprocessors work while operations run, with half of the warps.
 *     Samples come half a second late, because operations are known only then. */
#ifndef PM_SAMPLING_H
#define PM_SAMPLING_H

#include <stdbool.h>

#include "inject/cupti/metrics_abi.h"

#define PM_SAMPLING_TOKEN 0x504d534du /* begins the images of samples */

/* Returns whether a chip has this counter. */
bool pm_sampling_has(const char *name);

/* cuptiProfilerHostEvaluateToGpuValues() of an image of samples. Returns a CUptiResult. */
int pm_sampling_evaluate(struct metrics_evaluate *params);

#endif

/* What the fake libnvidia-ml says. It knows each PCI address but one, and all GPUs are alike but for their telemetry.
 * Without a word from a test they are H100s with 18 NVLinks. fake_nvml_hang() may be called from any thread; the rest
 * is set while nobody calls NVML.
 *
 * The variable FAKE_NVML changes telemetry by PCI bus: "17:sm=1410,reasons=4 *:sm=1980,result=3". The first entry that
 * fits a bus counts; its names are those of the fields of struct fake_nvml_gpu, without units. The variable
 * FAKE_NVML_LOG names a file that gets a line with the bus for each reading. With the variable FAKE_CUDA_POWER, the file
 * that a fake CUDA writes (sim_power.h), the counter of energy is what the GPU took: the power "idle" since the first
 * reading, and that of each operation. GPM's use of tensor cores and of memory is the power of operations then, of
 * 1,000 W, and nothing without them. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_NVML_LINKS   18u
#define FAKE_NVML_MISSING "00000000:fe:00.0" /* no GPU is there */

struct fake_nvml_gpu {
	uint32_t sm_mhz, memory_mhz;
	uint32_t reasons, then; /* bits of clock events: of each first and each second reading */
	uint32_t power_mw;
	uint32_t energy_mj; /* each call of the counter adds this */
	uint32_t idle_mw;   /* with FAKE_CUDA_POWER: the power without work */
	uint32_t resets;    /* not 0: the counter begins anew with each reading of this number */
	uint32_t celsius;
	uint32_t ecc;    /* each call of the counter of corrected errors adds this */
	uint32_t result; /* of all these calls */
	/* GPM: the result of its calls; thousandths of a percent; MiB a second */
	uint32_t gpm;
	uint32_t
		delay_ms; /* not 0: samples are copies, each of a multiple of 100 ms, and so old at least */
	uint32_t computing, active, occupancy, tensor, dram;
	uint32_t sent, received, nvlink_sent, nvlink_received;
	uint32_t
		wrong; /* not 0: "active" is what cannot be: 1 NaN, 2 infinite, 3 negative, 4 above 100, 5 1e300 */
	uint32_t hang; /* not 0: the call for clocks never returns */
};

struct fake_nvml {
	int init_result;
	uint32_t nr_links,
		nr_up; /* NVLinks of a GPU, and those of them that are up, the first ones */
	/* 10^6 bytes a second of a link, by the field of each link, and by that of all; 0: not supported */
	uint32_t speed, common_speed;
	uint32_t value_type;                  /* of fields */
	bool fields_fail;                     /* the call itself fails */
	bool divided;                         /* MIG */
	uint32_t pcie_generation, pcie_lanes; /* 0: the call fails */
	struct fake_nvml_gpu gpu;             /* where FAKE_NVML has no entry */
	/* calls so far; nr_open: of init, without a shutdown */
	/* nr_samples: of GPM, that were not freed */
	_Atomic uint32_t nr_samples;
	_Atomic uint32_t nr_open, nr_inits, nr_finds, nr_readings;
};

extern struct fake_nvml fake_nvml;

void fake_nvml_reset(void);
void fake_nvml_hang(bool hangs); /* calls that find a GPU wait until this is false */
bool fake_nvml_waits(void);      /* whether one does */

struct nvml_device;

/* What a GPU says; NULL: it is none of NVML's. *sample: if not NULL, it gets the number of a new sample. */
const struct fake_nvml_gpu *fake_nvml_gpu(struct nvml_device *device, uint32_t *sample);

/* Returns CLOCK_REALTIME, and the power of all operations until then by time, in mW times ns (FAKE_CUDA_POWER). */
unsigned long long fake_nvml_now_ns(void);
double fake_nvml_work(const struct nvml_device *device, unsigned long long now_ns);

#endif

/* The door to NVML (libnvidia-ml.so.1, which comes with NVIDIA's driver). Only nvml_library.c, and nvml_gpm.c for its
 * part, know its interface. The library is opened at run time, and each of its functions may be missing. Any thread,
 * but one at a time. On an H100 NVML takes 13 ms to start, and 10 ms for each GPU. If a GPU hangs, a call may never
 * return. */
#ifndef NVML_LIBRARY_H
#define NVML_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/device_telemetry.h"

struct nvml_library;

struct nvml_device;

/* What a reading tells; without its bit a value is 0. */
enum nvml_known {
	NVML_CLOCKS = 1,
	NVML_REASONS = 2,
	NVML_POWER = 4,
	NVML_ENERGY = 8,
	NVML_TEMPERATURE = 16,
	NVML_ECC = 32,
};

#define NVML_GPM_WHOLE 1000000u /* a use of all the time */

/* What GPM tells (nvml_gpm.h): the difference between the newest sample and the one before. Without its bit a value is
 * 0. */
struct nvml_gpm_reading {
	uint32_t refusal;             /* enum telemetry_refusal: why a value is missing */
	bool has_sample;              /* one was taken: the next difference begins here */
	uint32_t known_uses;          /* bits: 1 << enum telemetry_use */
	uint32_t known_traffics;      /* 1 << enum telemetry_traffic */
	uint32_t use[TELEMETRY_USES]; /* at most NVML_GPM_WHOLE */
	uint64_t bytes_per_second[TELEMETRY_TRAFFICS];
};

/* A GPU at one moment. */
struct nvml_reading {
	uint32_t known;   /* bits of enum nvml_known */
	uint32_t refusal; /* enum telemetry_refusal: why one of the first four is missing */
	uint32_t sm_mhz, memory_mhz;
	uint32_t reason; /* enum telemetry_reason */
	uint32_t power_mw;
	uint64_t energy_mj; /* the board's counter since the driver was loaded */
	uint32_t celsius;
	uint64_t ecc_corrected, ecc_uncorrected; /* since the driver was loaded */
	struct nvml_gpm_reading gpm;
};

/* The fastest link of a GPU to other GPUs. */
struct nvml_link {
	uint32_t kind; /* enum device_link; DEVICE_LINK_NONE: not known */
	/* Peak in one direction, of all its NVLinks that are up together, or of all PCIe lanes. As NVML tells it, with
	 * the bits of the line code: an NVLink of an H100 has 26,562 MB/s, of which 25,000 carry data. */
	uint64_t bytes_per_second;
};

/* Loads and initialises NVML. The caller owns *library. 0; -ENOPKG: the library, or a function that all else needs, is
 * missing; -EIO: NVML does not start, as without a driver; -ENOMEM. On error *library is NULL. */
int nvml_library_open(struct nvml_library **library);
void nvml_library_close(struct nvml_library *library); /* accepts NULL */

/* Tells the link of the GPU at this PCI address (function 0). It wakes a GPU that nobody uses. NVLink, if one is up;
 * else PCIe, as fast as this GPU and machine allow. 0; -ENODEV: NVML does not see that GPU; -ENODATA: NVML does not
 * tell, or the GPU is divided (MIG), and its parts share the link. On error *link is zero. */
int nvml_library_link(const struct nvml_library *library, uint32_t pci_domain, uint32_t pci_bus,
		      uint32_t pci_device, struct nvml_link *link);

/* Finds the GPU at this PCI address (function 0). *device is borrowed until close. Returns enum telemetry_refusal;
 * TELEMETRY_DIVIDED: *device is NULL, as for each but TELEMETRY_ANSWERS. */
uint32_t nvml_library_find(const struct nvml_library *library, uint32_t pci_domain,
			   uint32_t pci_bus, uint32_t pci_device, struct nvml_device **device);

/* Returns the peak of the GPU's memory in bytes a second: two transfers of its bus in a cycle of its highest clock. 0:
 * NVML does not tell. */
uint64_t nvml_library_memory_peak(const struct nvml_library *library, struct nvml_device *device);

/* Finds a function of the library; NULL: this driver lacks it. */
void *nvml_library_function(const struct nvml_library *library, const char *name);

/* Reads the GPU, all but gpm. It takes eight calls. Nothing is set or changed. */
void nvml_library_read(const struct nvml_library *library, struct nvml_device *device,
		       struct nvml_reading *reading);

#endif

/* The door to NVML (libnvidia-ml.so.1, which comes with NVIDIA's driver). Only nvml_library.c knows its interface. The
 * library is opened at run time, and each of its functions may be missing. Any thread, but one at a time. On an H100
 * NVML takes 13 ms to start, and 10 ms for each GPU. If a GPU hangs, a call may never return. */
#ifndef NVML_LIBRARY_H
#define NVML_LIBRARY_H

#include <stdint.h>

struct nvml_library;

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

#endif

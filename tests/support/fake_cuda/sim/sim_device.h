/* The GPUs of the fake host: by physical index (PCI order), and by ordinal as CUDA_VISIBLE_DEVICES
 * leaves them. Immutable after sim_device_init(); any thread. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdint.h>
#include <stdio.h>

#define SIM_DEVICES_MAX         64u
#define SIM_DEVICE_MEMORY_BYTES (80ull << 30) /* of each */

struct sim_device {
	uint32_t index; /* physical */
	uint8_t uuid[16];
	char uuid_text[48];  /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
	char pci_bus_id[32]; /* dddd:bb:dd.f, hexadecimal, upper case as CUDA prints it */
	uint32_t pci_domain, pci_bus;
	char name[64];
};

/* Builds both tables from the environment. Call once, before anything below. */
void sim_device_init(void);

uint32_t sim_device_physical_count(void);
const struct sim_device *sim_device_physical(uint32_t index);

/* The devices that the process sees. An ordinal out of range: NULL. */
uint32_t sim_device_count(void);
const struct sim_device *sim_device_visible(int ordinal);

/* All physical devices, a line each: INDEX PCI_BUS_ID UUID NAME. Returns 0 or -EIO. */
int sim_device_write_list(FILE *file);

#endif

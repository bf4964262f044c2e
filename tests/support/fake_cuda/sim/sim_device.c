#include "sim_device.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim_config.h"

#define FIRST_BUS        0x17u
#define BUS_STEP         8u
#define BUSES_PER_DOMAIN 28u

static struct sim_device devices[SIM_DEVICES_MAX];
static uint32_t nr_devices;
static uint32_t visible[SIM_DEVICES_MAX];
static uint32_t nr_visible;

static void describe(struct sim_device *device, uint32_t index)
{
	uint64_t seed = sim_config_get(SIM_HOST_SEED);
	const uint8_t *u = device->uuid;

	device->index = index;
	for (size_t i = 0; i < sizeof(device->uuid); i++)
		device->uuid[i] = (uint8_t)(sim_config_mix(sim_config_mix(seed, index), i / 8) >>
					    (8 * (i % 8)));
	snprintf(device->uuid_text, sizeof(device->uuid_text),
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
		 u[14], u[15]);
	device->pci_domain = index / BUSES_PER_DOMAIN;
	device->pci_bus = FIRST_BUS + BUS_STEP * (index % BUSES_PER_DOMAIN);
	snprintf(device->pci_bus_id, sizeof(device->pci_bus_id), "%04X:%02X:00.0",
		 device->pci_domain, device->pci_bus);
	snprintf(device->name, sizeof(device->name), "Simulated GPU");
}

/* The physical index that one word of CUDA_VISIBLE_DEVICES names: an index, or the beginning of one
 * device's UUID. */
static bool find_named(const char *word, uint32_t *index)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (end != word && *end == '\0') {
		*index = (uint32_t)number;
		return number < nr_devices;
	}
	for (uint32_t i = 0; i < nr_devices; i++) {
		if (strlen(word) > 4 &&
		    strncasecmp(devices[i].uuid_text, word, strlen(word)) == 0) {
			*index = i;
			return true;
		}
	}
	return false;
}

/* As the driver does: devices are taken in the order named, up to the first word that names none.
 */
static void select_visible(const char *list)
{
	char words[1024];
	char *rest = NULL;

	snprintf(words, sizeof(words), "%s", list);
	for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		uint32_t index;

		word += strspn(word, " ");
		word[strcspn(word, " ")] = '\0';
		if (nr_visible == SIM_DEVICES_MAX || !find_named(word, &index))
			return;
		visible[nr_visible++] = index;
	}
}

void sim_device_init(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	uint64_t wanted = sim_config_get(SIM_DEVICES);

	nr_devices = wanted < SIM_DEVICES_MAX ? (uint32_t)wanted : SIM_DEVICES_MAX;
	nr_visible = 0;
	for (uint32_t i = 0; i < nr_devices; i++)
		describe(&devices[i], i);
	if (list) {
		select_visible(list);
		return;
	}
	for (uint32_t i = 0; i < nr_devices; i++)
		visible[nr_visible++] = i;
}

uint32_t sim_device_physical_count(void)
{
	return nr_devices;
}

const struct sim_device *sim_device_physical(uint32_t index)
{
	return index < nr_devices ? &devices[index] : NULL;
}

uint32_t sim_device_count(void)
{
	return nr_visible;
}

const struct sim_device *sim_device_visible(int ordinal)
{
	return ordinal >= 0 && (uint32_t)ordinal < nr_visible ? &devices[visible[ordinal]] : NULL;
}

int sim_device_write_list(FILE *file)
{
	fprintf(file, "# index pci_bus_id uuid name\n");
	for (uint32_t i = 0; i < nr_devices; i++)
		fprintf(file, "%u %s %s %s\n", devices[i].index, devices[i].pci_bus_id,
			devices[i].uuid_text, devices[i].name);
	return fflush(file) == 0 && !ferror(file) ? 0 : -EIO;
}

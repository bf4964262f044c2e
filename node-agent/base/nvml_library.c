#include "nvml_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/batch/message.h"
#include "proto/device_telemetry.h"

#define LIBRARY "libnvidia-ml.so.1"

/* The interface, after the reference of NVML's API (nvml.h of CUDA 12). It is declared here, so that the build needs
 * no CUDA; the soname stands for it. */
#define SUCCESS            0
#define NOT_SUPPORTED      3 /* nvmlReturn_t */
#define NO_PERMISSION      4
#define CLOCK_SM           1 /* nvmlClockType_t */
#define CLOCK_MEMORY       2
#define SENSOR_GPU         0 /* nvmlTemperatureSensors_t */
#define ECC_CORRECTED      0 /* nvmlMemoryErrorType_t */
#define ECC_UNCORRECTED    1
#define ECC_VOLATILE       0  /* nvmlEccCounterType_t: since the driver was loaded */
#define VALUE_UNSIGNED_INT 1u /* nvmlValueType_t */
#define STATE_UP           1  /* nvmlEnableState_t */
#define MIG_ON             1u
#define HZ_PER_MHZ         1000000u
#define MEMORY_MHZ_MAX     100000u /* more is nonsense */
#define MEMORY_BITS_MAX    65536u

/* Fields. Both are in 10^6 bytes a second: of all links that are up, and of the link in scope. An H100 has only the
 * second one (driver 580), older drivers may have only the first one. */
#define FIELD_SPEED_COMMON 90u
#define FIELD_SPEED        164u

struct nvml_field {
	uint32_t field, scope;
	int64_t time_us, latency_us;
	uint32_t value_type;
	int32_t result;
	union {
		uint32_t number;
		uint64_t widest;
	} value;
};
_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t");
_Static_assert(offsetof(struct nvml_field, value) == 32, "nvmlFieldValue_t");

#define LINKS_MAX         64u /* an H100 has 18 */
#define MB_PER_SECOND_MAX 10000000u
#define BYTES_PER_MB      1000000u
#define PCIE_LANES_MAX    64u
#define BITS_PER_BYTE     8u

/* nvmlClocksEventReason… and nvmlClocksThrottleReason… are the same bits. Several may be set. */
static const struct {
	uint64_t bit;
	enum telemetry_reason reason;
} reasons[] = {
	{0x1, TELEMETRY_IDLE},
	{0x40, TELEMETRY_HW_THERMAL},
	{0x80, TELEMETRY_HW_POWER_BRAKE},
	{0x8, TELEMETRY_HW_SLOWDOWN},
	{0x20, TELEMETRY_SW_THERMAL},
	{0x4, TELEMETRY_SW_POWER_CAP},
	{0x10, TELEMETRY_SYNC_BOOST},
	{0x2, TELEMETRY_SET_CLOCKS},
	{0x100, TELEMETRY_SET_CLOCKS},
};

struct nvml_library {
	void *handle; /* owns */
	int (*init)(void);
	int (*shutdown)(void);
	int (*find)(const char *pci, struct nvml_device **device);
	/* The rest may be NULL. */
	int (*fields)(struct nvml_device *device, int count, struct nvml_field *fields);
	int (*nvlink_state)(struct nvml_device *device, unsigned int link, int *state);
	int (*mig_mode)(struct nvml_device *device, unsigned int *now, unsigned int *pending);
	int (*pcie_generation)(struct nvml_device *device, unsigned int *generation);
	int (*pcie_width)(struct nvml_device *device, unsigned int *lanes);
	int (*clock)(struct nvml_device *device, int type, unsigned int *mhz);
	int (*reasons)(struct nvml_device *device, unsigned long long *bits);
	int (*older_reasons)(struct nvml_device *device, unsigned long long *bits);
	int (*power)(struct nvml_device *device, unsigned int *mw);
	int (*energy)(struct nvml_device *device, unsigned long long *mj);
	int (*temperature)(struct nvml_device *device, int sensor, unsigned int *celsius);
	int (*max_clock)(struct nvml_device *device, int type, unsigned int *mhz);
	int (*bus_width)(struct nvml_device *device, unsigned int *bits);
	int (*ecc)(struct nvml_device *device, int type, int counter, unsigned long long *count);
};

static const struct {
	const char *name;
	size_t place;
	bool is_needed;
} functions[] = {
	{"nvmlInit_v2", offsetof(struct nvml_library, init), true},
	{"nvmlShutdown", offsetof(struct nvml_library, shutdown), true},
	{"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml_library, find), true},
	{"nvmlDeviceGetFieldValues", offsetof(struct nvml_library, fields), false},
	{"nvmlDeviceGetNvLinkState", offsetof(struct nvml_library, nvlink_state), false},
	{"nvmlDeviceGetMigMode", offsetof(struct nvml_library, mig_mode), false},
	{"nvmlDeviceGetMaxPcieLinkGeneration", offsetof(struct nvml_library, pcie_generation),
	 false},
	{"nvmlDeviceGetMaxPcieLinkWidth", offsetof(struct nvml_library, pcie_width), false},
	{"nvmlDeviceGetClockInfo", offsetof(struct nvml_library, clock), false},
	/* Drivers before 535 have the second name alone. */
	{"nvmlDeviceGetCurrentClocksEventReasons", offsetof(struct nvml_library, reasons), false},
	{"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml_library, older_reasons),
	 false},
	{"nvmlDeviceGetPowerUsage", offsetof(struct nvml_library, power), false},
	{"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml_library, energy), false},
	{"nvmlDeviceGetTemperature", offsetof(struct nvml_library, temperature), false},
	{"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml_library, max_clock), false},
	{"nvmlDeviceGetMemoryBusWidth", offsetof(struct nvml_library, bus_width), false},
	{"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml_library, ecc), false},
};

void *nvml_library_function(const struct nvml_library *library, const char *name)
{
	return dlsym(library->handle, name);
}

static bool resolve(struct nvml_library *library)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = nvml_library_function(library, functions[i].name);

		if (!function && functions[i].is_needed)
			return false;
		memcpy((char *)library + functions[i].place, &function, sizeof(function));
	}
	return true;
}

int nvml_library_open(struct nvml_library **library)
{
	struct nvml_library *made = calloc(1, sizeof(*made));
	int error = 0;

	*library = NULL;
	if (!made)
		return -ENOMEM;
	made->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	/* A tarball's loader does not look there, where Red Hat has its libraries. */
	if (!made->handle)
		made->handle = dlopen("/usr/lib64/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!made->handle || !resolve(made))
		error = -ENOPKG;
	else if (made->init() != SUCCESS)
		error = -EIO;
	if (error) {
		if (made->handle)
			dlclose(made->handle);
		free(made);
		return error;
	}
	*library = made;
	return 0;
}

void nvml_library_close(struct nvml_library *library)
{
	if (!library)
		return;
	library->shutdown();
	dlclose(library->handle);
	free(library);
}

/* Returns 0 if NVML does not tell. */
static uint32_t read_speed(const struct nvml_library *library, struct nvml_device *device,
			   uint32_t field, uint32_t scope)
{
	struct nvml_field value = {.field = field, .scope = scope};

	if (!library->fields || library->fields(device, 1, &value) != SUCCESS ||
	    value.result != SUCCESS || value.value_type != VALUE_UNSIGNED_INT ||
	    value.value.number > MB_PER_SECOND_MAX)
		return 0;
	return value.value.number;
}

/* Sums the speeds of links that are up. *count: how many are up. Returns 0 if the speed of one of them is not told. */
static uint64_t sum_nvlinks(const struct nvml_library *library, struct nvml_device *device,
			    uint32_t *count)
{
	uint64_t sum = 0;
	bool is_told = true;

	*count = 0;
	for (uint32_t i = 0; i < LINKS_MAX && library->nvlink_state; i++) {
		int state = 0;

		if (library->nvlink_state(device, i, &state) != SUCCESS || state != STATE_UP)
			continue;
		uint32_t speed = read_speed(library, device, FIELD_SPEED, i);
		if (speed == 0)
			speed = read_speed(library, device, FIELD_SPEED_COMMON, 0);
		is_told = is_told && speed > 0;
		sum += speed;
		++*count;
	}
	return is_told ? sum : 0;
}

/* Returns the raw bits per second of one lane in one direction, line code included (PCI Express Base Specification). 0:
 * an unknown generation. */
static uint64_t lane_bits(unsigned int generation)
{
	static const uint64_t tenths_of_gigabits[] = {0, 25, 50, 80, 160, 320, 640, 1280};

	return generation < sizeof(tenths_of_gigabits) / sizeof(*tenths_of_gigabits)
		       ? tenths_of_gigabits[generation] * 100000000u
		       : 0;
}

static uint64_t read_pcie(const struct nvml_library *library, struct nvml_device *device)
{
	unsigned int generation = 0, lanes = 0;

	if (!library->pcie_generation || !library->pcie_width ||
	    library->pcie_generation(device, &generation) != SUCCESS ||
	    library->pcie_width(device, &lanes) != SUCCESS || lanes > PCIE_LANES_MAX)
		return 0;
	return lane_bits(generation) * lanes / BITS_PER_BYTE;
}

static bool is_divided(const struct nvml_library *library, struct nvml_device *device)
{
	unsigned int now = 0, pending = 0;

	return library->mig_mode && library->mig_mode(device, &now, &pending) == SUCCESS &&
	       now == MIG_ON;
}

uint32_t nvml_library_find(const struct nvml_library *library, uint32_t pci_domain,
			   uint32_t pci_bus, uint32_t pci_device, struct nvml_device **device)
{
	struct nvml_device *found = NULL;
	char pci[32];

	*device = NULL;
	snprintf(pci, sizeof(pci), "%08x:%02x:%02x.0", pci_domain, pci_bus, pci_device);
	if (library->find(pci, &found) != SUCCESS)
		return TELEMETRY_NO_DEVICE;
	if (is_divided(library, found))
		return TELEMETRY_DIVIDED;
	*device = found;
	return TELEMETRY_ANSWERS;
}

int nvml_library_link(const struct nvml_library *library, uint32_t pci_domain, uint32_t pci_bus,
		      uint32_t pci_device, struct nvml_link *link)
{
	struct nvml_device *device = NULL;
	struct nvml_link found = {0};
	uint32_t nr_nvlinks;

	*link = found;
	uint32_t refusal = nvml_library_find(library, pci_domain, pci_bus, pci_device, &device);
	if (refusal)
		return refusal == TELEMETRY_DIVIDED ? -ENODATA : -ENODEV;
	found.kind = DEVICE_LINK_NVLINK;
	found.bytes_per_second = sum_nvlinks(library, device, &nr_nvlinks) * BYTES_PER_MB;
	if (nr_nvlinks == 0) {
		found.kind = DEVICE_LINK_PCIE;
		found.bytes_per_second = read_pcie(library, device);
	}
	if (found.bytes_per_second == 0)
		return -ENODATA;
	*link = found;
	return 0;
}

/* ---- readings */

/* Takes the result of a call: sets its bit, or says why it is missing. NULL functions have NOT_SUPPORTED. */
static bool take(struct nvml_reading *reading, int result, enum nvml_known known)
{
	if (result == SUCCESS)
		reading->known |= known;
	else if (reading->refusal == TELEMETRY_ANSWERS && known <= NVML_ENERGY)
		reading->refusal = result == NOT_SUPPORTED   ? TELEMETRY_NOT_SUPPORTED
				   : result == NO_PERMISSION ? TELEMETRY_NO_PERMISSION
							     : TELEMETRY_FAILED;
	return result == SUCCESS;
}

static int read_clocks(const struct nvml_library *library, struct nvml_device *device,
		       struct nvml_reading *reading)
{
	unsigned int sm = 0, memory = 0;

	if (!library->clock)
		return NOT_SUPPORTED;
	int result = library->clock(device, CLOCK_SM, &sm);
	if (result == SUCCESS)
		result = library->clock(device, CLOCK_MEMORY, &memory);
	if (result != SUCCESS)
		return result;
	reading->sm_mhz = sm;
	reading->memory_mhz = memory;
	return SUCCESS;
}

static int read_reasons(const struct nvml_library *library, struct nvml_device *device,
			struct nvml_reading *reading)
{
	int (*read)(struct nvml_device *, unsigned long long *) =
		library->reasons ? library->reasons : library->older_reasons;
	unsigned long long bits = 0;
	int result = read ? read(device, &bits) : NOT_SUPPORTED;

	if (result != SUCCESS)
		return result;
	reading->reason = bits ? TELEMETRY_OTHER : TELEMETRY_FREE;
	for (size_t i = sizeof(reasons) / sizeof(*reasons); i > 0; i--)
		if (bits & reasons[i - 1].bit)
			reading->reason = reasons[i - 1].reason;
	return SUCCESS;
}

static int read_ecc(const struct nvml_library *library, struct nvml_device *device,
		    struct nvml_reading *reading)
{
	unsigned long long corrected = 0, uncorrected = 0;

	if (!library->ecc)
		return NOT_SUPPORTED;
	int result = library->ecc(device, ECC_CORRECTED, ECC_VOLATILE, &corrected);
	if (result == SUCCESS)
		result = library->ecc(device, ECC_UNCORRECTED, ECC_VOLATILE, &uncorrected);
	if (result != SUCCESS)
		return result;
	reading->ecc_corrected = corrected;
	reading->ecc_uncorrected = uncorrected;
	return SUCCESS;
}

void nvml_library_read(const struct nvml_library *library, struct nvml_device *device,
		       struct nvml_reading *reading)
{
	unsigned int power = 0, celsius = 0;
	unsigned long long energy = 0;

	*reading = (struct nvml_reading){0};
	take(reading, read_clocks(library, device, reading), NVML_CLOCKS);
	take(reading, read_reasons(library, device, reading), NVML_REASONS);
	if (take(reading, library->power ? library->power(device, &power) : NOT_SUPPORTED,
		 NVML_POWER))
		reading->power_mw = power;
	if (take(reading, library->energy ? library->energy(device, &energy) : NOT_SUPPORTED,
		 NVML_ENERGY))
		reading->energy_mj = energy;
	if (take(reading,
		 library->temperature ? library->temperature(device, SENSOR_GPU, &celsius)
				      : NOT_SUPPORTED,
		 NVML_TEMPERATURE))
		reading->celsius = celsius;
	take(reading, read_ecc(library, device, reading), NVML_ECC);
}

uint64_t nvml_library_memory_peak(const struct nvml_library *library, struct nvml_device *device)
{
	unsigned int mhz = 0, bits = 0;

	if (!library->max_clock || !library->bus_width ||
	    library->max_clock(device, CLOCK_MEMORY, &mhz) != SUCCESS ||
	    library->bus_width(device, &bits) != SUCCESS || mhz > MEMORY_MHZ_MAX ||
	    bits > MEMORY_BITS_MAX)
		return 0;
	return (uint64_t)mhz * HZ_PER_MHZ * 2 * (bits / 8);
}

/* cuInit, the injection library that it loads, and what asks about devices. */
#include "driver_call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_life.h"

#define DRIVER_VERSION 13000

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool initializing;

CUresult driver_check_ready(void)
{
	enum sim_life life = sim_life_state();

	if (life == SIM_LIFE_READY)
		return CUDA_SUCCESS;
	return life == SIM_LIFE_OVER ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

static void write_device_list(void)
{
	const char *path = getenv("FAKE_CUDA_DEVICE_LIST");
	FILE *file = path && *path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	sim_device_write_list(file);
	fclose(file);
}

/* As the driver does: a library that is missing or fails stops nothing, and it stays loaded. */
static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
	int (*initialize)(void);

	if (!symbol)
		return;
	memcpy(&initialize, &symbol, sizeof(initialize));
	initialize();
}

static void initialize_once(void)
{
	initializing = true;
	sim_device_init();
	sim_truth_start();
	write_device_list();
	load_injection();
	initializing = false;
	sim_life_start();
	sim_trace_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
}

CUresult cuInit(unsigned int Flags)
{
	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (initializing)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_once(&once, initialize_once);
	return DRIVER_CALL(cuInit, NULL, NULL,
			   sim_device_count() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

static CUresult get_version(int *version)
{
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

/* Works before cuInit too. */
CUresult cuDriverGetVersion(int *driverVersion)
{
	if (driver_check_ready() != CUDA_SUCCESS)
		return get_version(driverVersion);
	return DRIVER_CALL(cuDriverGetVersion, NULL, NULL, get_version(driverVersion));
}

static CUresult get_count(int *count)
{
	*count = (int)sim_device_count();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	return DRIVER_CALL(cuDeviceGetCount, NULL, NULL, get_count(count));
}

static CUresult get_device(CUdevice *device, int ordinal)
{
	if (!sim_device_visible(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	return DRIVER_CALL(cuDeviceGet, NULL, NULL, get_device(device, ordinal));
}

static CUresult get_name(char *name, int len, CUdevice dev)
{
	const struct sim_device *device = sim_device_visible(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (len > 0)
		snprintf(name, (size_t)len, "%s", device->name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceGetName, NULL, NULL, get_name(name, len, dev));
}

static CUresult get_uuid(CUuuid *uuid, CUdevice dev)
{
	const struct sim_device *device = sim_device_visible(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid, device->uuid, sizeof(*uuid));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceGetUuid, NULL, NULL, get_uuid(uuid, dev));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceGetUuid_v2, NULL, NULL, get_uuid(uuid, dev));
}

static CUresult get_pci_bus_id(char *pciBusId, int len, CUdevice dev)
{
	const struct sim_device *device = sim_device_visible(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (len <= (int)strlen(device->pci_bus_id))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(pciBusId, device->pci_bus_id, strlen(device->pci_bus_id) + 1);
	return CUDA_SUCCESS;
}

static CUresult get_by_pci_bus_id(CUdevice *device, const char *pci_bus_id)
{
	unsigned int domain, bus, number;

	if (!device || !pci_bus_id || sscanf(pci_bus_id, "%x:%x:%x", &domain, &bus, &number) != 3)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < (int)sim_device_count(); i++) {
		const struct sim_device *known = sim_device_visible(i);

		if (known->pci_domain != domain || known->pci_bus != bus || number != 0)
			continue;
		*device = i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* No callback is made for it: only programs without CUPTI's subscribers call it. */
CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	const CUresult result = driver_check_ready();

	return result ? result : get_by_pci_bus_id(dev, pciBusId);
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceGetPCIBusId, NULL, NULL, get_pci_bus_id(pciBusId, len, dev));
}

/* As an H200 answers; what is not here is 0. */
static int limit_of(int attribute)
{
	static const int limits[][2] = {
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
		{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
		{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
		{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
		{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
		{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1 << 10},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i][0] == attribute)
			return limits[i][1];
	return 0;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	const struct sim_device *device = sim_device_visible(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	switch ((int)attribute) {
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = (int)device->pci_bus;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*value = (int)device->pci_domain;
		break;
	default:
		*value = limit_of((int)attribute);
		break;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceGetAttribute, NULL, NULL, get_attribute(pi, attrib, dev));
}

static CUresult total_memory(size_t *bytes, CUdevice dev)
{
	*bytes = SIM_DEVICE_MEMORY_BYTES;
	return sim_device_visible(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	return DRIVER_CALL(cuDeviceTotalMem_v2, NULL, NULL, total_memory(bytes, dev));
}

#include "device_query.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "inject/base/definition_writer.h"

enum device_attribute { /* CUdevice_attribute */
			ATTRIBUTE_PCI_BUS = 33,
			ATTRIBUTE_PCI_DEVICE = 34,
			ATTRIBUTE_PCI_DOMAIN = 50,
			ATTRIBUTE_BLOCK_THREADS = 1, /* MAX_THREADS_PER_BLOCK */
			ATTRIBUTE_BLOCK_SHARED = 8,  /* MAX_SHARED_MEMORY_PER_BLOCK */
			ATTRIBUTE_WARP_SIZE = 10,
			ATTRIBUTE_BLOCK_REGISTERS = 12, /* MAX_REGISTERS_PER_BLOCK */
			ATTRIBUTE_CLOCK_KHZ = 13,       /* CLOCK_RATE */
			ATTRIBUTE_MULTIPROCESSORS = 16, /* MULTIPROCESSOR_COUNT */
			ATTRIBUTE_SM_THREADS = 39,      /* MAX_THREADS_PER_MULTIPROCESSOR */
			ATTRIBUTE_COMPUTE_MAJOR = 75,
			ATTRIBUTE_COMPUTE_MINOR = 76,
			ATTRIBUTE_SM_SHARED = 81,      /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
			ATTRIBUTE_SM_REGISTERS = 82,   /* MAX_REGISTERS_PER_MULTIPROCESSOR */
			ATTRIBUTE_BLOCK_OPTIN = 97,    /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
			ATTRIBUTE_SM_BLOCKS = 106,     /* MAX_BLOCKS_PER_MULTIPROCESSOR */
			ATTRIBUTE_BLOCK_RESERVED = 111 /* RESERVED_SHARED_MEMORY_PER_BLOCK */
};

struct driver { /* each returns a CUresult */
	int (*get_count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*get_uuid)(uint8_t uuid[16], int device);
	int (*get_name)(char *name, int size, int device);
	int (*get_attribute)(int *value, int attribute, int device);
	int (*get_context_state)(int device, unsigned int *flags, int *active);
};

static int resolve(struct driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!library)
		return -ENOENT;
	*(void **)&driver->get_count = dlsym(library, "cuDeviceGetCount");
	*(void **)&driver->get = dlsym(library, "cuDeviceGet");
	*(void **)&driver->get_name = dlsym(library, "cuDeviceGetName");
	*(void **)&driver->get_attribute = dlsym(library, "cuDeviceGetAttribute");
	*(void **)&driver->get_context_state = dlsym(library, "cuDevicePrimaryCtxGetState");
	/* _v2 gives a MIG instance's own UUID. */
	*(void **)&driver->get_uuid = dlsym(library, "cuDeviceGetUuid_v2");
	if (!driver->get_uuid)
		*(void **)&driver->get_uuid = dlsym(library, "cuDeviceGetUuid");
	return driver->get_count && driver->get && driver->get_uuid && driver->get_name &&
			       driver->get_attribute
		       ? 0
		       : -ENOENT;
}

static uint32_t attribute(const struct driver *driver, int which, int device)
{
	int value = 0;

	return driver->get_attribute(&value, which, device) == 0 ? (uint32_t)value : 0;
}

/* An older driver does not know all of them: 0. */
static void read_limits(const struct driver *driver, int device, struct device_limits *limits)
{
	*limits = (struct device_limits){
		.compute_major = attribute(driver, ATTRIBUTE_COMPUTE_MAJOR, device),
		.compute_minor = attribute(driver, ATTRIBUTE_COMPUTE_MINOR, device),
		.multiprocessors = attribute(driver, ATTRIBUTE_MULTIPROCESSORS, device),
		.warp_size = attribute(driver, ATTRIBUTE_WARP_SIZE, device),
		.sm_threads = attribute(driver, ATTRIBUTE_SM_THREADS, device),
		.sm_blocks = attribute(driver, ATTRIBUTE_SM_BLOCKS, device),
		.sm_registers = attribute(driver, ATTRIBUTE_SM_REGISTERS, device),
		.sm_shared_bytes = attribute(driver, ATTRIBUTE_SM_SHARED, device),
		.block_threads = attribute(driver, ATTRIBUTE_BLOCK_THREADS, device),
		.block_registers = attribute(driver, ATTRIBUTE_BLOCK_REGISTERS, device),
		.block_shared_bytes = attribute(driver, ATTRIBUTE_BLOCK_SHARED, device),
		.block_shared_optin_bytes = attribute(driver, ATTRIBUTE_BLOCK_OPTIN, device),
		.block_reserved_bytes = attribute(driver, ATTRIBUTE_BLOCK_RESERVED, device),
	};
}

static int define(struct definition_writer *writer, const struct driver *driver, int ordinal)
{
	struct definition_device head = {.device_id = (uint32_t)ordinal};
	char name[128] = "";
	int device;

	if (driver->get(&device, ordinal) != 0 || driver->get_uuid(head.uuid, device) != 0)
		return -EIO;
	driver->get_name(name, sizeof(name) - 1, device);
	head.pci_domain = attribute(driver, ATTRIBUTE_PCI_DOMAIN, device);
	head.pci_bus = attribute(driver, ATTRIBUTE_PCI_BUS, device);
	head.pci_device = attribute(driver, ATTRIBUTE_PCI_DEVICE, device);
	read_limits(driver, device, &head.limits);
	return definition_writer_put(writer, DEFINITION_DEVICE, &head, sizeof(head), name,
				     (uint32_t)strnlen(name, sizeof(name)))
		       ? 0
		       : -ENOSPC;
}

int device_query_define(struct definition_writer *writer)
{
	struct driver driver = {0};
	int count = 0, error = resolve(&driver);

	if (error < 0)
		return error;
	if (driver.get_count(&count) != 0)
		return -EIO;
	for (int i = 0; i < count; i++) {
		error = define(writer, &driver, i);
		if (error < 0)
			return error;
	}
	return count;
}

struct device_query_speed device_query_speed(uint32_t ordinal)
{
	struct device_query_speed speed = {0};
	struct driver driver = {0};
	int device;

	if (resolve(&driver) < 0 || driver.get(&device, (int)ordinal) != 0)
		return speed;
	speed.clock_khz = attribute(&driver, ATTRIBUTE_CLOCK_KHZ, device);
	speed.compute_major = attribute(&driver, ATTRIBUTE_COMPUTE_MAJOR, device);
	return speed;
}

int device_query_contexts(void)
{
	struct driver driver = {0};
	int count = 0, contexts = 0;

	if (resolve(&driver) < 0 || !driver.get_context_state || driver.get_count(&count) != 0)
		return 0;
	for (int i = 0; i < count; i++) {
		unsigned int flags;
		int device, active = 0;

		if (driver.get(&device, i) == 0 &&
		    driver.get_context_state(device, &flags, &active) == 0)
			contexts += active != 0;
	}
	return contexts;
}

#include "link_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "reader_life.h"

#include "proto/batch/message.h"

struct device {
	uint32_t pci_domain, pci_bus, pci_device;
	bool is_read;
	struct nvml_link link; /* zero: not known */
};

/* Shared with the thread; the last to leave frees it. */
struct link_reader {
	struct reader_life life; /* its lock guards all that follows */
	struct device devices[LINK_READER_DEVICES];
	uint32_t count; /* devices that were asked for */
	uint32_t read;  /* devices[0..read) are read */
};

static void destroy(struct link_reader *reader)
{
	reader_life_fini(&reader->life);
	free(reader);
}

/* ---- the thread */

/* Returns the next device to read. NULL: the thread is to end. */
static struct device *take(struct link_reader *reader)
{
	pthread_mutex_lock(&reader->life.lock);
	struct device *device = reader->read < reader->count && !reader->life.is_stopped
					? &reader->devices[reader->read]
					: NULL;
	pthread_mutex_unlock(&reader->life.lock);
	return device;
}

static void put(struct link_reader *reader, struct device *device, const struct nvml_link *link)
{
	pthread_mutex_lock(&reader->life.lock);
	device->link = *link;
	device->is_read = true;
	reader->read++;
	pthread_mutex_unlock(&reader->life.lock);
}

/* Ends the thread, unless a device was asked for meanwhile. Returns whether it has ended. */
static bool leave(struct link_reader *reader)
{
	pthread_mutex_lock(&reader->life.lock);
	if (!reader->life.is_stopped && reader->read < reader->count) {
		pthread_mutex_unlock(&reader->life.lock);
		return false;
	}
	if (reader_life_end(&reader->life))
		destroy(reader);
	return true;
}

/* The address of a device does not change, so the thread reads it without the lock. */
static void read_devices(struct link_reader *reader)
{
	struct nvml_library *library;
	struct device *device;

	if (nvml_library_open(&library))
		library = NULL;
	while ((device = take(reader))) {
		struct nvml_link link = {0};

		if (library)
			nvml_library_link(library, device->pci_domain, device->pci_bus,
					  device->pci_device, &link);
		put(reader, device, &link);
	}
	nvml_library_close(library);
}

static void *run(void *argument)
{
	do
		read_devices(argument);
	while (!leave(argument));
	return NULL;
}

/* ---- the loop */

struct link_reader *link_reader_create(void)
{
	struct link_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader_life_init(&reader->life);
	return reader;
}

void link_reader_destroy(struct link_reader *reader, uint32_t wait_ms)
{
	if (reader && reader_life_stop(&reader->life, wait_ms))
		destroy(reader);
}

/* Finds or adds the device; the caller holds the lock. NULL: there is no room, or no thread to read it. */
static struct device *ask(struct link_reader *reader, const struct device *asked)
{
	for (uint32_t i = 0; i < reader->count; i++) {
		struct device *device = &reader->devices[i];

		if (device->pci_domain == asked->pci_domain && device->pci_bus == asked->pci_bus &&
		    device->pci_device == asked->pci_device)
			return device;
	}
	if (reader->count == LINK_READER_DEVICES)
		return NULL;
	if (!reader_life_start(&reader->life, run, reader))
		return NULL;
	reader->devices[reader->count] = *asked;
	return &reader->devices[reader->count++];
}

int link_reader_find(struct link_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		     uint32_t pci_device, struct nvml_link *link)
{
	const struct device asked = {
		.pci_domain = pci_domain, .pci_bus = pci_bus, .pci_device = pci_device};
	int error = 0;

	*link = (struct nvml_link){0};
	pthread_mutex_lock(&reader->life.lock);
	const struct device *device = ask(reader, &asked);
	if (!device || (device->is_read && device->link.kind == DEVICE_LINK_NONE))
		error = -ENODATA;
	else if (!device->is_read)
		error = -EAGAIN;
	else
		*link = device->link;
	pthread_mutex_unlock(&reader->life.lock);
	return error;
}

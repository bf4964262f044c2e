#include "link_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "proto/batch/message.h"

#define MS_PER_S  1000u
#define NS_PER_MS 1000000
#define NS_PER_S  1000000000

struct device {
	uint32_t pci_domain, pci_bus, pci_device;
	bool is_read;
	struct nvml_link link; /* zero: not known */
};

/* Shared with the thread; the last to leave frees it. */
struct link_reader {
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t ended;
	struct device devices[LINK_READER_DEVICES];
	uint32_t count;  /* devices that were asked for */
	uint32_t read;   /* devices[0..read) are read */
	bool is_running; /* there is a thread */
	bool is_stopped; /* the thread reads nothing more */
	bool is_left;    /* the thread frees the reader at its end */
};

static void destroy(struct link_reader *reader)
{
	pthread_mutex_destroy(&reader->lock);
	pthread_cond_destroy(&reader->ended);
	free(reader);
}

/* ---- the thread */

/* Returns the next device to read. NULL: the thread is to end. */
static struct device *take(struct link_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	struct device *device = reader->read < reader->count && !reader->is_stopped
					? &reader->devices[reader->read]
					: NULL;
	pthread_mutex_unlock(&reader->lock);
	return device;
}

static void put(struct link_reader *reader, struct device *device, const struct nvml_link *link)
{
	pthread_mutex_lock(&reader->lock);
	device->link = *link;
	device->is_read = true;
	reader->read++;
	pthread_mutex_unlock(&reader->lock);
}

/* Ends the thread, unless a device was asked for meanwhile. Returns whether it has ended. */
static bool leave(struct link_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	bool has_ended = reader->is_stopped || reader->read == reader->count;
	bool is_last = has_ended && reader->is_left;

	if (has_ended)
		reader->is_running = false;
	pthread_cond_signal(&reader->ended);
	pthread_mutex_unlock(&reader->lock);
	if (is_last)
		destroy(reader);
	return has_ended;
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
	pthread_condattr_t attributes;

	if (!reader)
		return NULL;
	pthread_mutex_init(&reader->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&reader->ended, &attributes);
	pthread_condattr_destroy(&attributes);
	return reader;
}

void link_reader_destroy(struct link_reader *reader, uint32_t wait_ms)
{
	struct timespec until;
	int error = 0;

	if (!reader)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += wait_ms / MS_PER_S;
	until.tv_nsec += (long)(wait_ms % MS_PER_S) * NS_PER_MS;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_sec++;
		until.tv_nsec -= NS_PER_S;
	}
	pthread_mutex_lock(&reader->lock);
	reader->is_stopped = true;
	while (reader->is_running && !error)
		error = pthread_cond_timedwait(&reader->ended, &reader->lock, &until);
	bool is_last = !reader->is_running;
	reader->is_left = !is_last;
	pthread_mutex_unlock(&reader->lock);
	if (is_last)
		destroy(reader);
}

/* The caller holds the lock. */
static void start_thread(struct link_reader *reader)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (reader->is_running || pthread_attr_init(&attributes))
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	reader->is_running = pthread_create(&thread, &attributes, run, reader) == 0;
	pthread_attr_destroy(&attributes);
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
	start_thread(reader);
	if (!reader->is_running)
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
	pthread_mutex_lock(&reader->lock);
	const struct device *device = ask(reader, &asked);
	if (!device || (device->is_read && device->link.kind == DEVICE_LINK_NONE))
		error = -ENODATA;
	else if (!device->is_read)
		error = -EAGAIN;
	else
		*link = device->link;
	pthread_mutex_unlock(&reader->lock);
	return error;
}

#include "telemetry_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "nvml_gpm.h"
#include "reader_life.h"
#include "telemetry_sums.h"

#include "base/clock.h"

#define NS_PER_MS 1000000u
#define NS_PER_S  1000000000u

struct device {
	uint32_t pci_domain, pci_bus, pci_device;
	uint32_t nr_users;
	/* The thread's. handle: borrowed from the library */
	struct nvml_device *handle;
	struct nvml_gpm *gpm; /* owns; NULL: gpm_refusal says why */
	uint32_t gpm_refusal;
	struct telemetry_sums sums;
};

/* Shared with the thread; the last to leave frees it. */
struct telemetry_reader {
	uint64_t interval_ns;
	struct reader_life life; /* its lock guards all that follows */
	struct device devices[TELEMETRY_READER_DEVICES];
	uint32_t count;    /* devices that were ever used */
	uint32_t refusal;  /* of NVML as a whole, for good: enum telemetry_refusal */
	uint64_t since_ns; /* when the reading that goes on began; 0: none goes on */
	uint32_t nr_used;  /* devices with users */
	bool has_new;      /* a device has got its first user, and is to be read at once */
	telemetry_reader_more *more; /* NULL: none */
	void *more_context;
};

static uint64_t real_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

static void destroy(struct telemetry_reader *reader)
{
	reader_life_fini(&reader->life);
	free(reader);
}

/* ---- the thread; all but read_device() and forget() hold the lock */

/* The address of a device does not change, so it is read without the lock. *at_ns: when the GPU was read. GPM comes
 * last, so that its calls do not part the other values from their time. */
static uint32_t read_device(const struct nvml_library *library, struct device *device,
			    struct nvml_reading *reading, uint64_t *at_ns)
{
	uint32_t refusal = TELEMETRY_ANSWERS;

	if (!device->handle) {
		refusal = nvml_library_find(library, device->pci_domain, device->pci_bus,
					    device->pci_device, &device->handle);
		*at_ns = clock_now_ns();
		if (refusal)
			return refusal;
		device->gpm_refusal = nvml_gpm_create(library, device->handle, &device->gpm);
	}
	nvml_library_read(library, device->handle, reading);
	*at_ns = clock_now_ns();
	reading->gpm.refusal = device->gpm_refusal;
	if (device->gpm)
		nvml_gpm_read(device->gpm, &reading->gpm);
	return refusal;
}

/* new_ones: only GPUs of which no reading goes on. Others keep to their times. */
static void read_used(struct telemetry_reader *reader, const struct nvml_library *library,
		      bool new_ones)
{
	for (uint32_t i = 0; i < reader->count && !reader->life.is_stopped; i++) {
		struct device *device = &reader->devices[i];
		struct nvml_reading reading;
		uint64_t at_ns;

		if (device->nr_users == 0 || (new_ones && device->sums.before_ns))
			continue;
		reader->since_ns = clock_now_ns();
		pthread_mutex_unlock(&reader->life.lock);
		uint32_t refusal = read_device(library, device, &reading, &at_ns);
		pthread_mutex_lock(&reader->life.lock);
		reader->since_ns = 0;
		/* Between two users the sums pause. */
		if (device->nr_users == 0)
			continue;
		if (!refusal && reading.gpm.refusal && reader->more && !reader->life.is_stopped)
			reader->more(reader->more_context, device->pci_domain, device->pci_bus,
				     device->pci_device, &reading.gpm);
		if (refusal)
			telemetry_sums_refuse(&device->sums, refusal, at_ns);
		else
			telemetry_sums_add(&device->sums, &reading, at_ns);
	}
}

/* Forgets what the library lends of the first count devices. They are the thread's, so no lock is held. */
static void forget(struct telemetry_reader *reader, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		nvml_gpm_destroy(reader->devices[i].gpm);
		reader->devices[i].gpm = NULL;
		reader->devices[i].handle = NULL;
	}
}

/* Returns the first time after a time at which all are read. */
static uint64_t next_ns(const struct telemetry_reader *reader, uint64_t after_ns)
{
	return after_ns - after_ns % reader->interval_ns + reader->interval_ns;
}

/* Opens NVML, and reads until no device has users. */
static void serve(struct telemetry_reader *reader)
{
	struct nvml_library *library;
	uint32_t count;
	int late = 0;

	reader->since_ns = clock_now_ns();
	pthread_mutex_unlock(&reader->life.lock);
	int error = nvml_library_open(&library);
	pthread_mutex_lock(&reader->life.lock);
	reader->since_ns = 0;
	if (error) {
		reader->refusal = error == -ENOPKG ? TELEMETRY_NO_LIBRARY : TELEMETRY_NO_DRIVER;
		return;
	}
	while (reader->nr_used > 0 && !reader->life.is_stopped) {
		const uint64_t begin_ns = clock_now_ns();

		reader->has_new = false;
		read_used(reader, library, !late);
		const uint64_t took_ns = clock_now_ns() - begin_ns;
		const struct timespec until =
			to_timespec(next_ns(reader, begin_ns + took_ns * TELEMETRY_READER_SHARE));
		late = 0;
		while (reader->nr_used > 0 && !reader->life.is_stopped && !reader->has_new && !late)
			late = pthread_cond_timedwait(&reader->life.changed, &reader->life.lock,
						      &until);
	}
	count = reader->count;
	pthread_mutex_unlock(&reader->life.lock);
	forget(reader, count);
	nvml_library_close(library);
	pthread_mutex_lock(&reader->life.lock);
}

static void *run(void *argument)
{
	struct telemetry_reader *reader = argument;

	pthread_mutex_lock(&reader->life.lock);
	while (!reader->life.is_stopped && !reader->refusal) {
		if (reader->nr_used > 0)
			serve(reader);
		else
			pthread_cond_wait(&reader->life.changed, &reader->life.lock);
	}
	if (reader_life_end(&reader->life))
		destroy(reader);
	return NULL;
}

/* ---- the loop */

struct telemetry_reader *telemetry_reader_create(uint32_t interval_ms)
{
	struct telemetry_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->interval_ns = (uint64_t)interval_ms * NS_PER_MS;
	reader_life_init(&reader->life);
	return reader;
}

void telemetry_reader_ask(struct telemetry_reader *reader, telemetry_reader_more *more,
			  void *context)
{
	reader->more = more;
	reader->more_context = context;
}

void telemetry_reader_destroy(struct telemetry_reader *reader, uint32_t wait_ms)
{
	if (reader && reader_life_stop(&reader->life, wait_ms))
		destroy(reader);
}

/* The caller holds the lock. */
static void start_thread(struct telemetry_reader *reader)
{
	if (!reader->refusal && !reader_life_start(&reader->life, run, reader))
		reader->refusal = TELEMETRY_FAILED;
}

/* Finds or adds the device; the caller holds the lock. */
static int find_device(struct telemetry_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		       uint32_t pci_device)
{
	uint32_t i = 0;

	for (; i < reader->count; i++) {
		const struct device *device = &reader->devices[i];

		if (device->pci_domain == pci_domain && device->pci_bus == pci_bus &&
		    device->pci_device == pci_device)
			return (int)i;
	}
	if (i == TELEMETRY_READER_DEVICES)
		return -1;
	reader->devices[i] = (struct device){
		.pci_domain = pci_domain, .pci_bus = pci_bus, .pci_device = pci_device};
	telemetry_sums_init(&reader->devices[i].sums, clock_now_ns(), real_now_ns());
	reader->count++;
	return (int)i;
}

int telemetry_reader_use(struct telemetry_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
			 uint32_t pci_device)
{
	pthread_mutex_lock(&reader->life.lock);
	int i = find_device(reader, pci_domain, pci_bus, pci_device);
	if (i >= 0) {
		start_thread(reader);
		bool is_first = reader->devices[i].nr_users++ == 0;
		reader->nr_used += is_first;
		reader->has_new |= is_first;
		pthread_cond_broadcast(&reader->life.changed);
	}
	pthread_mutex_unlock(&reader->life.lock);
	return i;
}

void telemetry_reader_leave(struct telemetry_reader *reader, int device)
{
	pthread_mutex_lock(&reader->life.lock);
	struct device *left = &reader->devices[device];
	if (--left->nr_users == 0) {
		reader->nr_used--;
		telemetry_sums_pause(&left->sums);
		pthread_cond_broadcast(&reader->life.changed);
	}
	pthread_mutex_unlock(&reader->life.lock);
}

void telemetry_reader_find(struct telemetry_reader *reader, int device, uint64_t now_ns,
			   const struct device_telemetry *told, struct device_telemetry *telemetry)
{
	pthread_mutex_lock(&reader->life.lock);
	*telemetry = *telemetry_sums_next(&reader->devices[device].sums, told);
	if (reader->refusal)
		telemetry->refusal = reader->refusal;
	else if (reader->since_ns && now_ns > reader->since_ns + TELEMETRY_READER_HANG_NS)
		telemetry->refusal = TELEMETRY_HANGS;
	pthread_mutex_unlock(&reader->life.lock);
}

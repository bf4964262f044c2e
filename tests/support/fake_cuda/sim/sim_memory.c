#include "sim_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_cuda.h"
#include "sim_clock.h"
#include "sim_context.h"
#include "sim_device.h"
#include "sim_trace.h"

#define NO_DEVICE UINT32_MAX

/* Bytes that are added up, as their places are on a device, of no one device, or the host's. */
enum space { SPACE_DEVICE, SPACE_MANAGED, SPACE_HOST, SPACES };

/* All memory of one kind from one call site. */
struct site {
	struct site *next;
	const char *name;
	const char *kind;
	uint32_t device_index; /* physical; NO_DEVICE: the host's */
	enum space space;
	uint64_t allocs, alloc_bytes, frees, free_bytes;
	uint64_t live_count, live_bytes;
	uint64_t peak_count, peak_bytes; /* at its space's peak */
};

struct total {
	uint64_t live_bytes, peak_bytes, peak_ns;
};

struct range {
	struct range *next;
	uintptr_t begin;
	size_t size_bytes;
	enum sim_memory_place place;
	struct site *site;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct range *ranges;
static struct site *sites;
static struct total totals[SIM_DEVICES_MAX + 1][SPACES]; /* the last row: the host's */
static uint64_t last_ns;

static __thread const char *call_site = "";

void fake_cuda_call_site(const char *name)
{
	call_site = name ? name : "";
}

static enum space space_of(enum sim_memory_place place)
{
	if (place == SIM_MANAGED)
		return SPACE_MANAGED;
	return place == SIM_ON_DEVICE || place == SIM_ARRAY ? SPACE_DEVICE : SPACE_HOST;
}

static const char *kind_of(enum sim_memory_place place, bool pooled)
{
	static const char *const names[] = {"unknown", "pageable", "pinned",
					    "device",  "array",    "managed"};

	return pooled ? "pool" : names[place];
}

static struct total *total_of(const struct site *site)
{
	uint32_t row = site->device_index < SIM_DEVICES_MAX ? site->device_index : SIM_DEVICES_MAX;

	return &totals[row][site->space];
}

static struct site *get_site(const struct sim_context *context, enum sim_memory_place place,
			     bool pooled)
{
	enum space space = space_of(place);
	const char *kind = kind_of(place, pooled);
	uint32_t device_index = space == SPACE_HOST ? NO_DEVICE : context->device->index;
	struct site *site = sites;

	while (site && (site->device_index != device_index || site->kind != kind ||
			strcmp(site->name, call_site) != 0))
		site = site->next;
	if (site)
		return site;
	site = calloc(1, sizeof(*site));
	if (!site)
		return NULL;
	*site = (struct site){.next = sites,
			      .name = call_site,
			      .kind = kind,
			      .device_index = device_index,
			      .space = space};
	sites = site;
	return site;
}

static void take_peak(struct total *total, uint64_t time_ns)
{
	total->peak_bytes = total->live_bytes;
	total->peak_ns = time_ns;
	for (struct site *site = sites; site; site = site->next) {
		if (total_of(site) != total)
			continue;
		site->peak_count = site->live_count;
		site->peak_bytes = site->live_bytes;
	}
}

static uint64_t next_time(void)
{
	uint64_t now_ns = sim_clock_now();

	last_ns = now_ns > last_ns ? now_ns : last_ns + 1;
	return last_ns;
}

/* The lock is held; false: out of memory. */
static bool add_range(struct range *range, const struct sim_context *context, bool pooled,
		      uint64_t *time_ns)
{
	struct site *site = get_site(context, range->place, pooled);

	if (!site)
		return false;
	struct total *total = total_of(site);
	range->site = site;
	range->next = ranges;
	ranges = range;
	*time_ns = next_time();
	site->allocs++;
	site->alloc_bytes += range->size_bytes;
	site->live_count++;
	site->live_bytes += range->size_bytes;
	total->live_bytes += range->size_bytes;
	if (total->live_bytes > total->peak_bytes)
		take_peak(total, *time_ns);
	return true;
}

static void report(const struct sim_allocation *made)
{
	struct sim_allocation allocation = *made;

	allocation.correlation_id = sim_trace_correlation_id();
	sim_trace_allocation(&allocation);
}

void *sim_memory_alloc(size_t size_bytes, enum sim_memory_place place,
		       const struct sim_context *context, const struct sim_stream *stream)
{
	struct sim_allocation made = {
		.place = place, .context = context, .stream = stream, .bytes = size_bytes};
	struct range *range = malloc(sizeof(*range));

	if (!range)
		return NULL;
	void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		free(range);
		return NULL;
	}
	*range = (struct range){
		.begin = (uintptr_t)memory, .size_bytes = size_bytes, .place = place};
	pthread_mutex_lock(&lock);
	bool added = add_range(range, context, stream != NULL, &made.time_ns);
	pthread_mutex_unlock(&lock);
	if (!added) {
		munmap(memory, size_bytes);
		free(range);
		return NULL;
	}
	made.address = (uintptr_t)memory;
	report(&made);
	return memory;
}

/* The lock is held. NULL: not there. */
static struct range *remove_range(const void *address, enum sim_memory_place place)
{
	bool either = place == SIM_ON_DEVICE;
	struct range **link = &ranges;

	while (*link && ((*link)->begin != (uintptr_t)address ||
			 !((*link)->place == place || (either && (*link)->place == SIM_MANAGED))))
		link = &(*link)->next;
	struct range *range = *link;
	if (range)
		*link = range->next;
	return range;
}

static void count_free(const struct range *range)
{
	struct site *site = range->site;

	site->frees++;
	site->free_bytes += range->size_bytes;
	site->live_count--;
	site->live_bytes -= range->size_bytes;
	total_of(site)->live_bytes -= range->size_bytes;
}

/* Its time is taken before the pages can become another's. */
int sim_memory_free(void *address, enum sim_memory_place place, const struct sim_context *context,
		    const struct sim_stream *stream)
{
	struct sim_allocation made = {.is_free = true, .context = context, .stream = stream};

	pthread_mutex_lock(&lock);
	struct range *range = remove_range(address, place);
	if (range) {
		made.time_ns = next_time();
		count_free(range);
	}
	pthread_mutex_unlock(&lock);
	if (!range)
		return -EINVAL;
	made.address = range->begin;
	made.bytes = range->size_bytes;
	made.place = range->place;
	munmap(address, range->size_bytes);
	free(range);
	report(&made);
	return 0;
}

enum sim_memory_place sim_memory_place(const void *address)
{
	enum sim_memory_place place = SIM_PAGEABLE;

	pthread_mutex_lock(&lock);
	for (struct range *range = ranges; range; range = range->next) {
		if ((uintptr_t)address - range->begin < range->size_bytes) {
			place = range->place;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	return place;
}

uint64_t sim_memory_used(uint32_t device_index)
{
	pthread_mutex_lock(&lock);
	uint64_t used = totals[device_index][SPACE_DEVICE].live_bytes;
	pthread_mutex_unlock(&lock);
	return used;
}

static void write_device(FILE *file, uint32_t device_index)
{
	if (device_index < SIM_DEVICES_MAX)
		fprintf(file, "\t%" PRIu32, device_index);
	else
		fputs("\t-", file);
}

void sim_memory_write_truth(FILE *file)
{
	static const char *const spaces[SPACES] = {"device", "managed", "host"};

	pthread_mutex_lock(&lock);
	for (uint32_t row = 0; row <= SIM_DEVICES_MAX; row++) {
		for (int space = 0; space < SPACES; space++) {
			const struct total *total = &totals[row][space];

			if (total->peak_bytes == 0)
				continue;
			fputs("#memory", file);
			write_device(file, row);
			fprintf(file, "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
				spaces[space], total->peak_bytes, total->peak_ns,
				total->live_bytes);
		}
	}
	for (const struct site *site = sites; site; site = site->next) {
		fputs("#memory_site", file);
		write_device(file, site->device_index);
		fprintf(file,
			"\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
			site->kind, site->name, site->allocs, site->alloc_bytes, site->frees,
			site->free_bytes, site->live_count, site->live_bytes, site->peak_count,
			site->peak_bytes);
	}
	pthread_mutex_unlock(&lock);
}

#include "conformance_green.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_log.h"
#include "conformance_record.h"

#define KIND_CONTEXT       9u
#define KIND_STREAM        37u
#define KIND_GREEN         59u     /* by the order of the enumeration in 13.2's documentation */
#define VERSION_GREEN_TOLD 22u     /* 12.4: contexts say whether they are green */
#define VERSION_GREEN_KIND 130200u /* green contexts have records of their own */
#define RESOURCE_SM        1
#define DEFAULT_STREAM     1u
#define NON_BLOCKING       1u
#define PART_SMS           16u
#define ENTRIES_MAX        256u

/* CUdevResource. */
struct resource {
	int type;
	unsigned char padding[92];
	unsigned int multiprocessors;
	unsigned char rest[44];
};

struct entry {
	uint32_t kind, context_id, parent_id, stream_id, multiprocessors;
	bool green;
};

static struct entry entries[ENTRIES_MAX];
static uint32_t nr_entries;
static struct {
	int (*device_resource)(int device, struct resource *resource, int type);
	int (*split)(struct resource *result, unsigned int *nr_groups, const struct resource *input,
		     struct resource *remaining, unsigned int flags, unsigned int least);
	int (*describe)(void **description, struct resource *resources, unsigned int nr);
	int (*create)(void **green, void *description, int device, unsigned int flags);
	int (*destroy)(void *green);
	int (*convert)(void **context, void *green);
	int (*create_stream)(void **stream, void *green, unsigned int flags, int priority);
	int (*destroy_stream)(void *stream);
} api;

bool conformance_green_keep(const uint8_t *record, uint32_t kind)
{
	struct entry entry = {.kind = kind, .context_id = u32_at(record, 4)};

	if (kind == KIND_CONTEXT) {
		entry.stream_id = u16_at(record, 14);
		entry.parent_id = u32_at(record, 16);
		entry.green = record[20] != 0;
		entry.multiprocessors = u16_at(record, 22);
	} else if (kind == KIND_GREEN) {
		entry.parent_id = u32_at(record, 8);
		entry.green = true;
		entry.multiprocessors = u16_at(record, 20);
	} else if (kind == KIND_STREAM) {
		entry.stream_id = u32_at(record, 8);
	} else {
		return false;
	}
	if (nr_entries < ENTRIES_MAX)
		entries[nr_entries++] = entry;
	return true;
}

static bool find(void *driver, const char *name, void *slot)
{
	void *symbol = driver ? dlsym(driver, name) : NULL;

	memcpy(slot, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static bool load(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	return find(driver, "cuDeviceGetDevResource", &api.device_resource) &&
	       find(driver, "cuDevSmResourceSplitByCount", &api.split) &&
	       find(driver, "cuDevResourceGenerateDesc", &api.describe) &&
	       find(driver, "cuGreenCtxCreate", &api.create) &&
	       find(driver, "cuGreenCtxDestroy", &api.destroy) &&
	       find(driver, "cuCtxFromGreenCtx", &api.convert) &&
	       find(driver, "cuGreenCtxStreamCreate", &api.create_stream) &&
	       find(driver, "cuStreamDestroy_v2", &api.destroy_stream);
}

static void *create_part(void)
{
	struct resource all, part;
	unsigned int nr_groups = 1;
	void *description = NULL, *green = NULL;

	CALL(api.device_resource, 0, &all, RESOURCE_SM);
	CALL(api.split, &part, &nr_groups, &all, NULL, 0, PART_SMS);
	CALL(api.describe, &description, &part, 1);
	CALL(api.create, &green, description, 0, DEFAULT_STREAM);
	return green;
}

static void launch(void *function, uint64_t memory, void *stream)
{
	uint32_t loops = 10;
	void *params[] = {&memory, &loops};

	CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static uint32_t count_entries(uint32_t kind, uint32_t context_id, uint32_t stream_id)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nr_entries; i++)
		count += entries[i].kind == kind && entries[i].context_id == context_id &&
			 (stream_id == 0 || entries[i].stream_id == stream_id);
	return count;
}

static const struct entry *find_part(uint32_t green_id)
{
	for (uint32_t i = 0; i < nr_entries; i++)
		if (entries[i].context_id == green_id && entries[i].green)
			return &entries[i];
	return NULL;
}

static void check_records(uint32_t primary_id, uint32_t green_id, uint32_t stream_id)
{
	const struct conformance_log log = conformance_log_read();
	uint32_t called_by_primary = 0, ran_in_part = 0, ran_in_primary = 0, on_stream = 0;

	for (uint32_t i = 0; i < log.nr_calls; i++)
		called_by_primary += log.calls[i].cbid == CBID_LAUNCH_KERNEL &&
				     log.calls[i].site == SITE_ENTER &&
				     log.calls[i].context_id == primary_id;
	for (uint32_t i = 0; i < log.nr_records; i++) {
		const struct record_entry *record = &log.records[i];

		if (record->kind != KIND_KERNEL)
			continue;
		ran_in_part += record->context_id == green_id;
		ran_in_primary += record->context_id == primary_id;
		on_stream += record->context_id == green_id && record->stream_id == stream_id;
	}
	check(called_by_primary == 3,
	      "launches into a green context name the primary in their callbacks (%u of 3)",
	      called_by_primary);
	check(ran_in_part == 2 && ran_in_primary == 1,
	      "their records name the green context (%u of 2; %u of 1 the primary)", ran_in_part,
	      ran_in_primary);
	check(on_stream == 1, "and its stream by the id that cuptiGetStreamIdEx() tells (%u of 1)",
	      on_stream);
}

void conformance_green_run(void *context, void *function, uint64_t memory)
{
	uint32_t primary_id = 0, green_id = 0, stream_id = 0, version = 0, device_id = 99;
	void *stream = NULL, *part = NULL;

	if (!load()) {
		fact("this driver has no green contexts");
		return;
	}
	CALL(cuptiGetVersion, &version);
	CALL(cuptiActivityEnable, KIND_CONTEXT);
	CALL(cuptiActivityEnable, KIND_STREAM);
	check((cuptiActivityEnable(KIND_GREEN) == 0) == (version >= VERSION_GREEN_KIND),
	      "records of green contexts of their own are there from 13.2 on (%u)", version);
	conformance_log_clear();
	nr_entries = 0;
	void *green = create_part();
	CALL(api.create_stream, &stream, green, NON_BLOCKING, -1);
	launch(function, memory, stream);
	CALL(api.convert, &part, green);
	CALL(cuptiGetContextId, context, &primary_id);
	CALL(cuptiGetContextId, part, &green_id);
	CALL(cuptiGetDeviceId, part, &device_id);
	CALL(cuptiGetStreamIdEx, context, stream, 0, &stream_id);
	CALL(cuCtxSetCurrent, part);
	launch(function, memory, NULL);
	CALL(cuCtxSetCurrent, context);
	launch(function, memory, NULL);
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	check(green_id != 0 && green_id != primary_id && device_id == 0,
	      "a green context has an id of its own (%u, the primary's is %u)", green_id,
	      primary_id);
	check_records(primary_id, green_id, stream_id);
	const struct entry *entry = find_part(green_id);
	bool told = entry && entry->parent_id == primary_id && entry->multiprocessors >= PART_SMS;
	check(told == (version >= VERSION_GREEN_TOLD),
	      "from 12.4 on its record has its parent and its multiprocessors (%u)",
	      entry ? entry->multiprocessors : 0);
	check(count_entries(KIND_STREAM, primary_id, stream_id) == 1 &&
		      count_entries(KIND_STREAM, green_id, 0) == 0,
	      "its stream's record names the primary (%u of 1)",
	      count_entries(KIND_STREAM, primary_id, stream_id));
	if (entry && version < VERSION_GREEN_KIND)
		check(count_entries(KIND_STREAM, primary_id, entry->stream_id) == 1,
		      "that of its default stream, too");
	CALL(api.destroy_stream, stream);
	CALL(api.destroy, green);
	CALL(cuptiActivityDisable, KIND_CONTEXT);
	CALL(cuptiActivityDisable, KIND_STREAM);
	cuptiActivityDisable(KIND_GREEN);
}

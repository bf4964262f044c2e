#include "conformance_memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_log.h"

#define DEVICE_BYTES  (3u << 20)
#define MANAGED_BYTES (2u << 20)
#define PINNED_BYTES  (1u << 20)
#define POOL_BYTES    (5u << 20)
#define ARRAY_WIDTH   256u
#define ARRAY_HEIGHT  128u
#define ARRAY_BYTES   (ARRAY_WIDTH * ARRAY_HEIGHT * 4u)
#define MAPPED_BYTES  (2u << 20)
#define MANY          500u /* allocations and frees of the thread that is compared with another */

static struct conformance_log settle(void)
{
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	return conformance_log_read();
}

/* The first record of that operation at that address; NULL: there is none. */
static const struct record_entry *find(const struct conformance_log *log, uint32_t operation,
				       uint64_t address)
{
	for (uint32_t i = 0; i < log->nr_records; i++)
		if (log->records[i].kind == KIND_ALLOCATION &&
		    log->records[i].operation == operation && log->records[i].address == address)
			return &log->records[i];
	return NULL;
}

static uint32_t count(const struct conformance_log *log)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < log->nr_records; i++)
		number += log->records[i].kind == KIND_ALLOCATION;
	return number;
}

/* The cbid of the driver call with that id; 0: there was none. */
static uint32_t call_of(const struct conformance_log *log, uint32_t correlation_id)
{
	for (uint32_t i = 0; i < log->nr_calls; i++)
		if (log->calls[i].domain == DOMAIN_DRIVER &&
		    log->calls[i].correlation_id == correlation_id)
			return log->calls[i].cbid;
	return 0;
}

struct expected {
	const char *what;
	uint64_t address, bytes;
	uint32_t memory_kind, in_stream_order, stream_id;
	uint32_t alloc_cbid, free_cbid;
};

static void check_pair(const struct conformance_log *log, const struct memory_subject *subject,
		       const struct expected *expected)
{
	const struct record_entry *made = find(log, ALLOCATE, expected->address);
	const struct record_entry *gone = find(log, RELEASE, expected->address);

	check(made && gone, "%s: an allocation and a free have a record each, with the address",
	      expected->what);
	if (!made || !gone)
		return;
	check(made->copy_kind == expected->memory_kind && gone->copy_kind == expected->memory_kind,
	      "%s: the kind is %u (%u, %u)", expected->what, expected->memory_kind, made->copy_kind,
	      gone->copy_kind);
	check(made->bytes == expected->bytes, "%s: the bytes are those asked for (%llu of %llu)",
	      expected->what, (unsigned long long)made->bytes, (unsigned long long)expected->bytes);
	check(call_of(log, made->correlation_id) == expected->alloc_cbid &&
		      call_of(log, gone->correlation_id) == expected->free_cbid,
	      "%s: both have their driver call's id (%u, %u)", expected->what,
	      call_of(log, made->correlation_id), call_of(log, gone->correlation_id));
	check(made->start_ns != 0 && made->start_ns < gone->start_ns,
	      "%s: the free's time is after the allocation's", expected->what);
	check((made->in_stream_order != 0) == (expected->in_stream_order != 0) &&
		      (gone->in_stream_order != 0) == (expected->in_stream_order != 0),
	      "%s: said to be in stream order: %u", expected->what, expected->in_stream_order);
	if (expected->in_stream_order)
		check(made->stream_id == expected->stream_id, "%s: the stream is %u (%u)",
		      expected->what, expected->stream_id, made->stream_id);
	fact("%s: device %u, context %u (ours is %u), stream %x; the free says %llu bytes",
	     expected->what, made->device_id, made->context_id, subject->context_id,
	     made->stream_id, (unsigned long long)gone->bytes);
}

static void check_kinds(const struct memory_subject *subject)
{
	const struct array_descriptor array = {ARRAY_WIDTH, ARRAY_HEIGHT, 0x20, 1};
	device_address device, managed, pooled;
	void *pinned, *array_handle, *stream;
	uint32_t stream_id = 0;

	conformance_log_clear();
	CALL(cuStreamCreate, &stream, 0);
	CALL(cuptiGetStreamIdEx, subject->context, stream, 0, &stream_id);
	CALL(cuMemAlloc_v2, &device, DEVICE_BYTES);
	CALL(cuMemAllocManaged, &managed, MANAGED_BYTES, 1);
	CALL(cuMemAllocHost_v2, &pinned, PINNED_BYTES);
	CALL(cuMemAllocAsync, &pooled, POOL_BYTES, stream);
	CALL(cuArrayCreate_v2, &array_handle, &array);
	CALL(cuMemFree_v2, device);
	CALL(cuMemFree_v2, managed);
	CALL(cuMemFreeHost, pinned);
	CALL(cuMemFreeAsync, pooled, stream);
	CALL(cuArrayDestroy, array_handle);
	const struct conformance_log log = settle();
	const struct expected expected[] = {
		{"device memory", device, DEVICE_BYTES, 3, 0, 0, 243, 245},
		{"managed memory", managed, MANAGED_BYTES, 5, 0, 0, 371, 245},
		{"pinned memory", (uintptr_t)pinned, PINNED_BYTES, 2, 0, 0, 294, 38},
		{"memory of a pool", pooled, POOL_BYTES, 3, 1, stream_id, 598, 600},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		check_pair(&log, subject, &expected[i]);
	/* What an array's address means is the driver's affair. */
	for (uint32_t i = 0; i < log.nr_records; i++)
		if (log.records[i].kind == KIND_ALLOCATION && log.records[i].copy_kind == 4)
			fact("an array of %u bytes: operation %u, %llu bytes, the address is %s "
			     "the handle",
			     ARRAY_BYTES, log.records[i].operation,
			     (unsigned long long)log.records[i].bytes,
			     log.records[i].address == (uintptr_t)array_handle ? "" : "not");
	fact("5 allocations and 5 frees of different kinds gave %u records", count(&log));
}

/* Whether its time is that of the call's begin or of its end decides in which order two threads' records fall. */
static void tell_times(void)
{
	uint64_t before_ns = 0, between_ns = 0, after_ns = 0;
	device_address address;

	conformance_log_clear();
	CALL(cuptiGetTimestamp, &before_ns);
	CALL(cuMemAlloc_v2, &address, DEVICE_BYTES);
	CALL(cuptiGetTimestamp, &between_ns);
	CALL(cuMemFree_v2, address);
	CALL(cuptiGetTimestamp, &after_ns);
	const struct conformance_log log = settle();
	const struct record_entry *made = find(&log, ALLOCATE, address);
	const struct record_entry *gone = find(&log, RELEASE, address);

	if (!made || !gone)
		return;
	check(made->start_ns >= before_ns && made->start_ns <= between_ns &&
		      gone->start_ns >= between_ns && gone->start_ns <= after_ns,
	      "the times lie within the calls");
	fact("an allocation's time is %llu ns after its call began, which took %llu; a free's %llu "
	     "of "
	     "%llu",
	     (unsigned long long)(made->start_ns - before_ns),
	     (unsigned long long)(between_ns - before_ns),
	     (unsigned long long)(gone->start_ns - between_ns),
	     (unsigned long long)(after_ns - between_ns));
}

static const struct memory_subject *shared;

static void *allocate_many(void *unused)
{
	device_address address;

	CALL(cuCtxSetCurrent, shared->context);
	for (uint32_t i = 0; i < MANY; i++) {
		CALL(cuMemAlloc_v2, &address, DEVICE_BYTES);
		CALL(cuMemFree_v2, address);
	}
	return unused;
}

/* Two threads take each other's addresses over: by time, an address is free before it is allocated again. */
static void check_order(const struct memory_subject *subject)
{
	pthread_t threads[2];
	uint32_t allocs = 0, frees = 0, without_time = 0, equal_ids = 0;

	shared = subject;
	conformance_log_clear();
	for (int t = 0; t < 2; t++)
		CALL(pthread_create, &threads[t], NULL, allocate_many, NULL);
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	const struct conformance_log log = settle();
	uint32_t inverted = 0;

	for (uint32_t i = 0; i < log.nr_records; i++) {
		const struct record_entry *record = &log.records[i];
		uint32_t made = 0, gone = 0;

		if (record->kind != KIND_ALLOCATION)
			continue;
		allocs += record->operation == ALLOCATE;
		frees += record->operation == RELEASE;
		without_time += record->start_ns == 0;
		if (record->operation != ALLOCATE)
			continue;
		for (uint32_t j = 0; j < log.nr_records; j++) {
			const struct record_entry *other = &log.records[j];

			equal_ids += i != j && other->kind == KIND_ALLOCATION &&
				     other->correlation_id == record->correlation_id;
			if (other->kind != KIND_ALLOCATION || other->address != record->address ||
			    other->start_ns >= record->start_ns)
				continue;
			made += other->operation == ALLOCATE;
			gone += other->operation == RELEASE;
		}
		inverted += made != gone;
	}
	check(allocs == 2 * MANY && frees == 2 * MANY,
	      "two threads: a record for each allocation and each free (%u, %u of %u)", allocs,
	      frees, 2 * MANY);
	check(without_time == 0 && equal_ids == 0,
	      "two threads: each has a time and a correlation id of its own (%u, %u)", without_time,
	      equal_ids);
	fact("two threads: %u of %u allocations are timed before the free that made room for them",
	     inverted, allocs);
}

/* What failed, what was given up with its context and what was mapped by hand. */
static void check_failure(void)
{
	device_address address = 0;

	conformance_log_clear();
	int refused = cuMemAlloc_v2(&address, (size_t)1 << 50);
	const struct conformance_log log = settle();
	check(refused != 0 && count(&log) == 0,
	      "an allocation that fails has no record (%d, %u records)", refused, count(&log));
}

static void *optional(const struct memory_subject *subject, const char *name)
{
	void *function = subject->driver ? dlsym(subject->driver, name) : NULL;

	if (!function)
		fact("%s is not there", name);
	return function;
}

#define OPTIONAL(name, arguments)                                                                  \
	int(*name) arguments;                                                                      \
	*(void **)&name = optional(subject, #name)

static void tell_context(const struct memory_subject *subject)
{
	OPTIONAL(cuCtxCreate_v2, (void **, unsigned int, int));
	OPTIONAL(cuCtxDestroy_v2, (void *));
	device_address address = 0;
	void *context = NULL;

	if (!cuCtxCreate_v2 || !cuCtxDestroy_v2 || cuCtxCreate_v2(&context, 0, subject->device))
		return;
	conformance_log_clear();
	CALL(cuMemAlloc_v2, &address, DEVICE_BYTES);
	CALL(cuCtxDestroy_v2, context);
	CALL(cuCtxSetCurrent, subject->context);
	const struct conformance_log log = settle();
	fact("memory that goes with its context: %s for the allocation, %s for its end",
	     find(&log, ALLOCATE, address) ? "a record" : "no record",
	     find(&log, RELEASE, address) ? "a record" : "no record");
}

struct allocation_properties { /* CUmemAllocationProp */
	int type, handle_types;
	struct {
		int type, id;
	} location;
	void *win32;
	unsigned char flags[8];
};

static void tell_mapping(const struct memory_subject *subject)
{
	const struct allocation_properties properties = {.type = 1,
							 .location = {1, subject->device}};
	OPTIONAL(cuMemCreate, (uint64_t *, size_t, const void *, unsigned long long));
	OPTIONAL(cuMemAddressReserve,
		 (device_address *, size_t, size_t, device_address, unsigned long long));
	OPTIONAL(cuMemMap, (device_address, size_t, size_t, uint64_t, unsigned long long));
	OPTIONAL(cuMemUnmap, (device_address, size_t));
	OPTIONAL(cuMemAddressFree, (device_address, size_t));
	OPTIONAL(cuMemRelease, (uint64_t));
	uint64_t handle = 0;
	device_address address = 0;

	if (!cuMemCreate || !cuMemAddressReserve || !cuMemMap || !cuMemUnmap || !cuMemAddressFree ||
	    !cuMemRelease)
		return;
	conformance_log_clear();
	int result = cuMemCreate(&handle, MAPPED_BYTES, &properties, 0);
	const uint32_t created = count((struct conformance_log[]){settle()});
	if (!result)
		result = cuMemAddressReserve(&address, MAPPED_BYTES, 0, 0, 0);
	if (!result)
		result = cuMemMap(address, MAPPED_BYTES, 0, handle, 0);
	const uint32_t mapped = count((struct conformance_log[]){settle()});
	if (!result)
		result = cuMemUnmap(address, MAPPED_BYTES);
	if (!result)
		result = cuMemAddressFree(address, MAPPED_BYTES);
	if (!result)
		result = cuMemRelease(handle);
	fact("memory mapped by hand (result %d): %u records after cuMemCreate, %u after cuMemMap, "
	     "%u "
	     "after cuMemUnmap and cuMemRelease",
	     result, created, mapped, count((struct conformance_log[]){settle()}));
}

void conformance_memory_run(const struct memory_subject *subject)
{
	CALL(cuCtxSetCurrent, subject->context);
	CALL(cuptiActivityEnable, KIND_ALLOCATION);
	check_kinds(subject);
	tell_times();
	check_order(subject);
	check_failure();
	tell_context(subject);
	tell_mapping(subject);
	CALL(cuptiActivityDisable, KIND_ALLOCATION);
	conformance_log_clear();
}

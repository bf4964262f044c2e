#include "conformance_timeline.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "conformance_call.h"
#include "conformance_checks.h"
#include "conformance_cuda.h"
#include "conformance_log.h"
#include "conformance_record.h"

#define WAITS_MAX     4096u
#define CONTEXTS_MAX  64u
#define MANAGED_BYTES (8u << 20)
#define LOOPS         2000000u
#define WAIT_TYPES    5u
#define UNIFIED_KINDS 9u
#define SLACK_NS      1000000u /* of the conversion between clocks */

struct timed {
	uint32_t kind, detail, correlation_id, context_id, object;
	uint64_t start_ns, end_ns, value;
	uint32_t source, destination;
};

static struct timed kept[WAITS_MAX];
static _Atomic uint32_t nr_kept;
static struct {
	int context_result, device_result;
	uint32_t context_id, device_id;
} contexts[CONTEXTS_MAX];
static _Atomic uint32_t nr_contexts;
static uint32_t polls; /* polls: that found an event not done */

bool conformance_timeline_keep(const uint8_t *record, uint32_t kind)
{
	struct timed timed = {.kind = kind, .detail = u32_at(record, 4)};

	if (kind == KIND_SYNC) {
		timed.start_ns = u64_at(record, 8);
		timed.end_ns = u64_at(record, 16);
		timed.correlation_id = u32_at(record, 24);
		timed.context_id = u32_at(record, 28);
	} else if (kind == KIND_OVERHEAD) {
		timed.object = u32_at(record, 8);
		timed.start_ns = u64_at(record, 24);
		timed.end_ns = u64_at(record, 32);
		timed.correlation_id = u32_at(record, 40);
	} else if (kind == KIND_UNIFIED) {
		timed.value = u64_at(record, 8);
		timed.start_ns = u64_at(record, 16);
		timed.end_ns = u64_at(record, 24);
		timed.source = u32_at(record, 40);
		timed.destination = u32_at(record, 44);
	} else {
		return false;
	}
	uint32_t i = nr_kept++;
	if (i < WAITS_MAX)
		kept[i] = timed;
	return true;
}

void conformance_timeline_context(void *context)
{
	uint32_t i = nr_contexts++;

	if (i >= CONTEXTS_MAX)
		return;
	contexts[i].context_result = cuptiGetContextId(context, &contexts[i].context_id);
	contexts[i].device_result = cuptiGetDeviceId(context, &contexts[i].device_id);
}

static uint32_t nr_records(void)
{
	return nr_kept < WAITS_MAX ? nr_kept : WAITS_MAX;
}

static void launch(const struct timeline_subject *subject, void *function, uint32_t loops,
		   void *stream)
{
	uint64_t out = subject->memory;
	void *params[] = {&out, &loops};

	CALL(cuLaunchKernel, function, 4, 1, 1, 64, 1, 1, 0, stream, params, NULL);
}

/* Each sort of wait once, with work to wait for. */
static void wait_for_work(const struct timeline_subject *subject)
{
	void *stream, *other, *event;

	CALL(cuStreamCreate, &stream, 1);
	CALL(cuStreamCreate, &other, 1);
	CALL(cuEventCreate, &event, 0);
	launch(subject, subject->function, LOOPS, stream);
	CALL(cuEventRecord, event, stream);
	CALL(cuStreamWaitEvent, other, event, 0);
	CALL(cuEventSynchronize, event);
	launch(subject, subject->function, LOOPS, stream);
	CALL(cuStreamSynchronize, stream);
	launch(subject, subject->function, LOOPS, stream);
	CALL(cuEventRecord, event, stream);
	polls = cuEventQuery(event) != 0;
	CALL(cuCtxSynchronize);
	CALL(cuEventQuery, event);
	CALL(cuEventDestroy_v2, event);
}

/* The driver call of this id and function; NULL: none was seen. */
static const struct call_entry *find_call(const struct conformance_log *log,
					  uint32_t correlation_id, uint32_t cbid)
{
	for (uint32_t i = 0; i < log->nr_calls; i++)
		if (log->calls[i].domain == DOMAIN_DRIVER && log->calls[i].site == SITE_ENTER &&
		    log->calls[i].correlation_id == correlation_id &&
		    (cbid == 0 || log->calls[i].cbid == cbid))
			return &log->calls[i];
	return NULL;
}

static void check_waits(const struct timeline_subject *subject, const struct conformance_log *log,
			uint64_t before_ns, uint64_t after_ns)
{
	static const uint32_t cbids[WAIT_TYPES] = {0, 121, 295, 126, 17};
	uint32_t count[WAIT_TYPES] = {0}, strangers = 0, elsewhere = 0, untimed = 0, polled = 0;

	for (uint32_t i = 0; i < nr_records(); i++) {
		const struct timed *wait = &kept[i];

		if (wait->kind != KIND_SYNC)
			continue;
		if (find_call(log, wait->correlation_id, 120)) {
			polled++;
			continue;
		}
		if (wait->detail == 0 || wait->detail >= WAIT_TYPES ||
		    !find_call(log, wait->correlation_id, cbids[wait->detail])) {
			strangers++;
			continue;
		}
		count[wait->detail]++;
		elsewhere += wait->context_id != subject->context_id;
		untimed += wait->start_ns + SLACK_NS < before_ns || wait->end_ns < wait->start_ns ||
			   wait->end_ns > after_ns + SLACK_NS;
	}
	check(count[1] == 1 && count[3] == 1 && count[4] == 1,
	      "a wait for an event, a stream and a context has one record with its call's id (%u, "
	      "%u, %u)",
	      count[1], count[3], count[4]);
	check(count[2] == 1, "a stream that waits for an event has one (%u)", count[2]);
	check(elsewhere == 0, "waits name their context (%u do not)", elsewhere);
	check(untimed == 0, "waits have times within the run (%u have not)", untimed);
	check(polled <= 2 - polls, "a poll has a record at most when it finds all done (%u)",
	      polled);
	fact("polls that found an event not done: %u", polls);
	fact("records of waits that belong to other calls: %u", strangers);
}

static void load_and_launch(const struct timeline_subject *subject)
{
	void *module, *function;

	CALL(cuModuleLoadData, &module, subject->ptx);
	CALL(cuModuleGetFunction, &function, module, subject->kernel_name);
	launch(subject, function, 10, NULL);
	CALL(cuCtxSynchronize);
}

static void check_loads(const struct timeline_subject *subject, const struct conformance_log *log)
{
	uint32_t enter = 0, exit = 0, nameless = 0, elsewhere = 0, unequal = 0;

	for (uint32_t i = 0; i < log->nr_calls; i++) {
		const struct call_entry *call = &log->calls[i];

		if (call->domain != DOMAIN_DRIVER || call->cbid != CBID_MODULE_LOAD_DATA)
			continue;
		if (call->site == SITE_ENTER)
			enter = call->correlation_id;
		else
			exit = call->correlation_id;
		unequal += call->site == SITE_EXIT && enter != exit;
		nameless += strcmp(call->symbol, "cuModuleLoadData") != 0;
		elsewhere += call->context_id != subject->context_id;
	}
	check(enter != 0 && unequal == 0, "a load of code begins and ends with one id (%u, %u)",
	      enter, exit);
	check(nameless == 0, "a load of code is called cuModuleLoadData (%u are not)", nameless);
	check(elsewhere == 0, "a load of code names the current context (%u do not)", elsewhere);
}

static void check_overhead(const struct conformance_log *log)
{
	uint32_t count[16] = {0}, correlated = 0, strangers = 0, untimed = 0, all = 0;

	for (uint32_t i = 0; i < nr_records(); i++) {
		const struct timed *overhead = &kept[i];

		if (overhead->kind != KIND_OVERHEAD)
			continue;
		all++;
		count[(overhead->detail >> 16) % 16] += overhead->detail >> 16 != 0;
		count[0] += overhead->detail >> 16 == 0;
		correlated += overhead->correlation_id != 0;
		strangers +=
			overhead->correlation_id && !find_call(log, overhead->correlation_id, 0);
		untimed += overhead->start_ns == 0 || overhead->end_ns < overhead->start_ns;
	}
	check(all > 0, "there is overhead (%u records)", all);
	check(strangers == 0, "overhead with an id belongs to a call (%u of %u do not)", strangers,
	      correlated);
	fact("overhead without valid times: %u", untimed);
	fact("overhead: compiler %u, flush %u, instrumentation %u, resource %u, runtime's module "
	     "loading %u, lazy loading "
	     "%u, command buffer %u, buffer request %u, unified memory %u",
	     count[0], count[1], count[2], count[3], count[4], count[5], count[6], count[7],
	     count[8]);
	for (uint32_t i = 0; i < nr_records(); i++)
		if (kept[i].kind == KIND_OVERHEAD && kept[i].correlation_id &&
		    kept[i].detail >> 16 == 5) {
			fact("lazy loading is of object kind %u", kept[i].object);
			break;
		}
}

static int configure(uint32_t scope, uint32_t nr_kinds)
{
	struct unified_config configs[UNIFIED_KINDS];

	for (uint32_t i = 0; i < nr_kinds; i++)
		configs[i] = (struct unified_config){.scope = scope, .kind = i + 1, .enable = 1};
	return cuptiActivityConfigureUnifiedMemoryCounter(configs, nr_kinds);
}

/* In the order in which the guest tries it. */
static bool enable_unified(void)
{
	int results[4] = {-1, -1, -1, -1}, last = -1;

	for (int i = 0; i < 4 && last != 0; i++)
		last = results[i] = configure(i < 2 ? 2 : 1, i % 2 ? 4 : UNIFIED_KINDS - 1);
	int kind = last ? last : cuptiActivityEnable(KIND_UNIFIED);

	fact("unified memory: all devices, all counters %d, the oldest four %d; one device %d, %d; "
	     "the kind %d",
	     results[0], results[1], results[2], results[3], kind);
	return kind == 0;
}

static void move_memory(const struct timeline_subject *subject)
{
	struct memory_location to = {.type = 1, .id = subject->ordinal};
	device_address managed = 0;

	CALL(cuMemAllocManaged, &managed, MANAGED_BYTES, 1);
	if (!managed)
		return;
	memset((void *)(uintptr_t)managed, 1, MANAGED_BYTES);
	CALL(cuMemPrefetchAsync_v2, managed, MANAGED_BYTES, to, 0, NULL);
	CALL(cuCtxSynchronize);
	to = (struct memory_location){.type = 2};
	CALL(cuMemPrefetchAsync_v2, managed, MANAGED_BYTES, to, 0, NULL);
	CALL(cuCtxSynchronize);
}

static void check_unified(const struct timeline_subject *subject)
{
	uint64_t bytes[UNIFIED_KINDS] = {0};
	uint32_t count[UNIFIED_KINDS] = {0}, elsewhere = 0, untimed = 0;

	for (uint32_t i = 0; i < nr_records(); i++) {
		const struct timed *record = &kept[i];
		uint32_t detail = record->detail % UNIFIED_KINDS;

		if (record->kind != KIND_UNIFIED)
			continue;
		if (count[detail]++ == 0)
			fact("unified memory kind %u: source %u, destination %u", detail,
			     record->source, record->destination);
		bytes[detail] += record->value;
		elsewhere += detail == 1 && record->destination != (uint32_t)subject->ordinal;
		elsewhere += detail == 2 && record->source != (uint32_t)subject->ordinal;
		untimed +=
			detail <= 2 && (record->start_ns == 0 || record->end_ns < record->start_ns);
	}
	check(bytes[1] >= MANAGED_BYTES, "a prefetch to the device migrates all bytes (%llu)",
	      (unsigned long long)bytes[1]);
	check(bytes[2] >= MANAGED_BYTES, "a prefetch to the host migrates all bytes (%llu)",
	      (unsigned long long)bytes[2]);
	check(elsewhere == 0, "migrations name their device by its ordinal (%u do not)", elsewhere);
	check(untimed == 0, "migrations have times (%u have not)", untimed);
	fact("unified memory: HtoD %u, DtoH %u, faults of the host %u, of the device %u, others %u",
	     count[1], count[2], count[3], count[4], count[5] + count[6] + count[7] + count[8]);
}

static void check_contexts(const struct timeline_subject *subject)
{
	uint32_t found = 0, wrong = 0, nr = nr_contexts < CONTEXTS_MAX ? nr_contexts : CONTEXTS_MAX;

	for (uint32_t i = 0; i < nr; i++) {
		wrong += contexts[i].context_result != 0 || contexts[i].device_result != 0;
		found += contexts[i].context_id == subject->context_id &&
			 contexts[i].device_id == (uint32_t)subject->ordinal;
	}
	check(wrong == 0 && found == 1,
	      "a new context's id and device are known in its callback (%u, %u)", wrong, found);
}

void conformance_timeline_run(const struct timeline_subject *subject)
{
	uint64_t before_ns = 0, after_ns = 0;
	bool unified;

	CALL(cuCtxSetCurrent, subject->context);
	CALL(cuCtxSynchronize);
	CALL(conformance_log_flush);
	CALL(cuptiActivityEnableAllSyncRecords, 0);
	check(cuptiActivityEnable(KIND_SYNC) == 0, "waits can be recorded");
	check(cuptiActivityEnable(KIND_OVERHEAD) == 0, "overhead can be recorded");
	unified = enable_unified();
	conformance_log_clear();
	nr_kept = 0;
	CALL(cuptiGetTimestamp, &before_ns);
	wait_for_work(subject);
	CALL(cuptiGetTimestamp, &after_ns);
	CALL(conformance_log_flush);
	struct conformance_log log = conformance_log_read();
	check_waits(subject, &log, before_ns, after_ns);
	load_and_launch(subject);
	CALL(conformance_log_flush);
	log = conformance_log_read();
	check_loads(subject, &log);
	check_overhead(&log);
	if (unified) {
		move_memory(subject);
		CALL(conformance_log_flush);
		check_unified(subject);
		CALL(cuptiActivityDisable, KIND_UNIFIED);
	}
	CALL(cuptiActivityDisable, KIND_SYNC);
	CALL(cuptiActivityDisable, KIND_OVERHEAD);
	check_contexts(subject);
}

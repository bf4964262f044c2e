#include "activity_host.h"

#include <stdatomic.h>
#include <unistd.h>

#include "driver/driver_call.h"
#include "sim/sim_context.h"
#include "sim/sim_host.h"

#define UNIFIED_KINDS 9u

static _Atomic bool unified[UNIFIED_KINDS];

static void fill_sync(CUpti_ActivitySynchronization2 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	record->type = (CUpti_ActivitySynchronizationType)operation->copy_kind;
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->correlationId = operation->correlation_id;
	record->contextId = operation->context_id;
	record->streamId = operation->stream_id;
	record->cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
	record->cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
}

static void fill_overhead(CUpti_ActivityOverhead3 *record, const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	record->overheadKind = (CUpti_ActivityOverheadKind)operation->overhead;
	if (operation->context_id) {
		record->objectKind = CUPTI_ACTIVITY_OBJECT_CONTEXT;
		record->objectId.dcs.deviceId = operation->device_ordinal;
		record->objectId.dcs.contextId = operation->context_id;
	} else {
		record->objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
		record->objectId.pt.processId = (uint32_t)getpid();
	}
	record->start = operation->start_ns;
	record->end = operation->end_ns;
	record->correlationId = operation->correlation_id;
}

static void fill_unified(CUpti_ActivityUnifiedMemoryCounter3 *record,
			 const struct sim_operation *operation)
{
	record->kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
	record->counterKind = (CUpti_ActivityUnifiedMemoryCounterKind)operation->copy_kind;
	record->value = operation->value;
	record->start = operation->start_ns;
	/* Of a fault of the host's CUPTI gives no end that means anything. */
	record->end = operation->copy_kind == SIM_UNIFIED_CPU_FAULT ? 0 : operation->end_ns;
	record->address = operation->address;
	record->srcId = operation->source;
	record->dstId = operation->destination;
	record->processId = (uint32_t)getpid();
}

uint32_t activity_host_fill(union activity_host_record *record,
			    const struct sim_operation *operation, size_t *size)
{
	uint32_t kind = 0;

	if (operation->kind == SIM_SYNC) {
		fill_sync(&record->sync, operation);
		kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
	} else if (operation->kind == SIM_OVERHEAD) {
		fill_overhead(&record->overhead, operation);
		kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	} else if (operation->kind == SIM_UNIFIED) {
		fill_unified(&record->unified, operation);
		kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
	}
	*size = activity_host_size(kind);
	return kind;
}

size_t activity_host_size(uint32_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return sizeof(CUpti_ActivitySynchronization2);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return sizeof(CUpti_ActivityOverhead3);
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
	default:
		return 0;
	}
}

bool activity_host_set_times(void *record, uint64_t start_ns, uint64_t end_ns)
{
	union activity_host_record *host = record;

	switch ((uint32_t)host->sync.kind) {
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		host->sync.start = start_ns;
		host->sync.end = end_ns;
		return true;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		host->overhead.start = start_ns;
		host->overhead.end = end_ns;
		return true;
	case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
		host->unified.start = start_ns;
		host->unified.end = end_ns;
		return true;
	default:
		return false;
	}
}

bool activity_host_is_wanted(const struct sim_operation *operation)
{
	return operation->kind != SIM_UNIFIED || atomic_load(&unified[operation->copy_kind]);
}

void activity_host_reset(void)
{
	sim_host_want_all(true);
	for (uint32_t i = 0; i < UNIFIED_KINDS; i++)
		atomic_store(&unified[i], false);
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	sim_host_want_all(enable != 0);
	return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig *config,
					   uint32_t count)
{
	if (driver_check_ready() != CUDA_SUCCESS)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!config || count == 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		if (config[i].kind == 0 || (uint32_t)config[i].kind >= UNIFIED_KINDS)
			return CUPTI_ERROR_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		atomic_store(&unified[config[i].kind], config[i].enable != 0);
	return CUPTI_SUCCESS;
}

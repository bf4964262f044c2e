#include "cupti_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct symbol {
	const char *name;
	size_t offset; /* of the pointer in struct cupti_library */
	bool optional;
};

#define SYMBOL(name, field, optional)                                                              \
	{                                                                                          \
		name, offsetof(struct cupti_library, field), optional                              \
	}

static const struct symbol symbols[] = {
	SYMBOL("cuptiGetVersion", get_version, false),
	SYMBOL("cuptiSubscribe", subscribe, false),
	SYMBOL("cuptiUnsubscribe", unsubscribe, false),
	SYMBOL("cuptiEnableCallback", enable_callback, false),
	SYMBOL("cuptiActivityEnable", activity_enable, false),
	SYMBOL("cuptiActivityDisable", activity_disable, false),
	SYMBOL("cuptiActivityRegisterCallbacks", activity_register_callbacks, false),
	SYMBOL("cuptiActivityFlushAll", activity_flush_all, false),
	SYMBOL("cuptiActivityGetNextRecord", activity_get_next_record, false),
	SYMBOL("cuptiGetTimestamp", get_timestamp, false),
	SYMBOL("cuptiActivityGetNumDroppedRecords", activity_get_dropped, true),
	SYMBOL("cuptiActivitySetAttribute", activity_set_attribute, true),
	SYMBOL("cuptiSubscribe_v2", subscribe_v2, true),
	SYMBOL("cuptiGetGraphNodeId", get_graph_node_id, true),
	SYMBOL("cuptiGetGraphExecId", get_graph_exec_id, true),
	SYMBOL("cuptiFinalize", finalize, true),
	SYMBOL("cuptiGetContextId", get_context_id, true),
	SYMBOL("cuptiGetStreamIdEx", get_stream_id, true),
	SYMBOL("cuptiActivityEnableAndDump", activity_enable_and_dump, true),
	SYMBOL("cuptiGetDeviceId", get_device_id, true),
	SYMBOL("cuptiActivityEnableAllSyncRecords", activity_enable_all_sync_records, true),
	SYMBOL("cuptiActivityConfigureUnifiedMemoryCounter", configure_unified_memory, true),
	SYMBOL("cuptiGetCallbackName", get_callback_name, true),
	SYMBOL("cuptiEnableDomain", enable_domain, true),
	SYMBOL("cuptiEnableAllDomains", enable_all_domains, true),
	SYMBOL("cuptiActivityRegisterTimestampCallback", activity_register_timestamp, true),
	SYMBOL("cuptiPCSamplingEnable", sampling_enable, true),
	SYMBOL("cuptiPCSamplingDisable", sampling_disable, true),
	SYMBOL("cuptiPCSamplingStart", sampling_start, true),
	SYMBOL("cuptiPCSamplingStop", sampling_stop, true),
	SYMBOL("cuptiPCSamplingGetData", sampling_get, true),
	SYMBOL("cuptiPCSamplingGetNumStallReasons", sampling_count_reasons, true),
	SYMBOL("cuptiPCSamplingGetStallReasons", sampling_get_reasons, true),
	SYMBOL("cuptiPCSamplingSetConfigurationAttribute", sampling_configure, true),
	SYMBOL("cuptiGetCubinCrc", get_cubin_crc, true),
};

static int resolve(void *handle, struct cupti_library *library)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = dlsym(handle, symbols[i].name);

		if (!address && !symbols[i].optional)
			return -ENOSYS;
		memcpy((char *)library + symbols[i].offset, &address, sizeof(address));
	}
	metrics_library_resolve(handle, &library->metrics);
	return library->get_version(&library->version) == CUPTI_ABI_SUCCESS ? 0 : -ENOSYS;
}

int cupti_library_open(const char *path, bool already_mapped, struct cupti_library *library)
{
	int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (already_mapped ? RTLD_NOLOAD : 0);
	void *handle = dlopen(path, flags);
	int error = handle ? resolve(handle, library) : -ENOENT;

	if (error < 0)
		memset(library, 0, sizeof(*library));
	return error;
}

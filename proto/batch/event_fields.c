#include "event_fields.h"

#include <stddef.h>

#include "message.h"

const struct event_field event_fields_launch[EVENT_FIELDS_LAUNCH] = {
	{"launch time_ns", offsetof(struct launch_record, time_ns), 8, UINT64_MAX, false},
	{"launch correlation_id", offsetof(struct launch_record, correlation_id), 4, UINT32_MAX,
	 false},
	{"launch stack_id", offsetof(struct launch_record, stack_id), 4, WIRE_ID_MAX, false},
	{"launch tid", offsetof(struct launch_record, tid), 4, UINT32_MAX, false},
	{"launch cbid", offsetof(struct launch_record, cbid), 2, UINT16_MAX, false},
	{"launch window", offsetof(struct launch_record, window), 2, UINT16_MAX, false},
	{"launch flags", offsetof(struct launch_record, flags), 4, UINT32_MAX, false},
};

const struct event_field event_fields_gpu[EVENT_FIELDS_GPU] = {
	{"gpu start_ns", offsetof(struct gpu_record, start_ns), 8, UINT64_MAX, false},
	{"gpu duration_ns", offsetof(struct gpu_record, end_ns), 8, UINT64_MAX, true},
	{"gpu correlation_id", offsetof(struct gpu_record, correlation_id), 4, UINT32_MAX, false},
	{"gpu name_id", offsetof(struct gpu_record, name_id), 4, WIRE_ID_MAX, false},
	{"gpu stream_id", offsetof(struct gpu_record, stream_id), 4, UINT32_MAX, false},
	{"gpu context_id", offsetof(struct gpu_record, context_id), 4, UINT32_MAX, false},
	{"gpu device_id", offsetof(struct gpu_record, device_id), 4, UINT32_MAX, false},
	{"gpu kind", offsetof(struct gpu_record, kind), 1, RECORD_GPU_KINDS - 1, false},
	{"gpu copy_kind", offsetof(struct gpu_record, copy_kind), 1, UINT8_MAX, false},
	{"gpu bytes", offsetof(struct gpu_record, bytes), 8, UINT64_MAX, false},
	{"gpu graph_id", offsetof(struct gpu_record, graph_id), 4, UINT32_MAX, false},
	{"gpu graph_node_id", offsetof(struct gpu_record, graph_node_id), 8, UINT64_MAX, false},
	{"gpu window", offsetof(struct gpu_record, window), 2, UINT16_MAX, false},
	{"gpu capture_stack_id", offsetof(struct gpu_record, capture_stack_id), 4, WIRE_ID_MAX,
	 false},
};

const struct event_field event_fields_sample[EVENT_FIELDS_SAMPLE] = {
	{"sample time_ns", offsetof(struct host_sample, time_ns), 8, UINT64_MAX, false},
	{"sample duration_ns", offsetof(struct host_sample, duration_ns), 8, UINT64_MAX, false},
	{"sample tid", offsetof(struct host_sample, tid), 4, UINT32_MAX, false},
	{"sample stack_id", offsetof(struct host_sample, stack_id), 4, WIRE_ID_MAX, false},
	{"sample name_id", offsetof(struct host_sample, name_id), 4, WIRE_ID_MAX, false},
	{"sample kind", offsetof(struct host_sample, kind), 1, HOST_SAMPLE_KINDS - 1, false},
	{"sample cpu", offsetof(struct host_sample, cpu), 4, UINT32_MAX, false},
	{"sample command_id", offsetof(struct host_sample, command_id), 4, WIRE_ID_MAX, false},
};

uint64_t event_field_wide(const struct event_field *field)
{
	return field->max == WIRE_ID_MAX ? UINT32_MAX : field->max;
}

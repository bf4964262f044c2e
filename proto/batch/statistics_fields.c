#include "statistics_fields.h"

#include <stddef.h>

#include "message.h"

#include "proto/kernel_metric.h"

#define CALL(field, width, max)                                                                    \
	{                                                                                          \
		"call " #field, offsetof(struct message_api_call, field), width, max, false        \
	}

const struct event_field statistics_fields_call[STATISTICS_FIELDS_CALL] = {
	CALL(domain, 4, STATISTICS_RUNTIME), CALL(cbid, 4, UINT32_MAX),
	CALL(error, 4, UINT32_MAX),          CALL(name, 4, WIRE_ID_MAX),
	CALL(count, 8, UINT64_MAX),          CALL(total_ns, 8, UINT64_MAX),
	CALL(min_ns, 8, UINT64_MAX),         CALL(max_ns, 8, UINT64_MAX),
	CALL(errors, 8, UINT64_MAX),
};

#define CONFIG(field, width, max)                                                                  \
	{                                                                                          \
		"kernel " #field, offsetof(struct message_kernel_config, field), width, max, false \
	}

const struct event_field statistics_fields_config[STATISTICS_FIELDS_CONFIG] = {
	CONFIG(config.device_id, 4, UINT32_MAX),
	CONFIG(config.name_id, 4, WIRE_ID_MAX),
	CONFIG(config.grid_x, 4, UINT32_MAX),
	CONFIG(config.grid_y, 4, UINT32_MAX),
	CONFIG(config.grid_z, 4, UINT32_MAX),
	CONFIG(config.block_x, 4, UINT32_MAX),
	CONFIG(config.block_y, 4, UINT32_MAX),
	CONFIG(config.block_z, 4, UINT32_MAX),
	CONFIG(config.static_shared_bytes, 4, UINT32_MAX),
	CONFIG(config.dynamic_shared_bytes, 4, UINT32_MAX),
	CONFIG(config.registers, 4, UINT32_MAX),
	CONFIG(config.local_bytes, 4, UINT32_MAX),
	CONFIG(count, 8, UINT64_MAX),
	CONFIG(total_ns, 8, UINT64_MAX),
	CONFIG(min_ns, 8, UINT64_MAX),
	CONFIG(max_ns, 8, UINT64_MAX),
};

#define METRIC(field, width, max)                                                                  \
	{                                                                                          \
		"metric " #field, offsetof(struct message_kernel_metric, field), width, max, false \
	}

const struct event_field statistics_fields_metric[STATISTICS_FIELDS_METRIC] = {
	METRIC(device_id, 4, UINT32_MAX),       METRIC(stack_id, 4, WIRE_ID_MAX),
	METRIC(name_id, 4, WIRE_ID_MAX),        METRIC(metric, 4, WIRE_ID_MAX),
	METRIC(nr_passes, 8, UINT32_MAX),       METRIC(count, 8, UINT64_MAX),
	METRIC(total_ns, 8, UINT64_MAX),        METRIC(sum, 8, KERNEL_METRIC_BITS_MAX),
	METRIC(min, 8, KERNEL_METRIC_BITS_MAX), METRIC(max, 8, KERNEL_METRIC_BITS_MAX),
};

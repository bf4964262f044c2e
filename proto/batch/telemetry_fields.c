#include "telemetry_fields.h"

#include <stddef.h>

#include "proto/device_telemetry.h"

#define AT(field) offsetof(struct device_telemetry, field)
#define NARROW(field)                                                                              \
	{                                                                                          \
		"telemetry's " #field, AT(field), 4, UINT32_MAX, false                             \
	}
#define WIDE(field)                                                                                \
	{                                                                                          \
		"telemetry's " #field, AT(field), 8, INT64_MAX, false                              \
	}
#define REASON(number, name)                                                                       \
	{                                                                                          \
		"telemetry's " name, AT(reason_ns[number]), 8, INT64_MAX, false                    \
	}
#define USE(number, known, name)                                                                   \
	{"telemetry's " known, AT(use_known_ns[number]), 8, INT64_MAX, false},                     \
	{                                                                                          \
		"telemetry's " name, AT(use_ns[number]), 8, INT64_MAX, false                       \
	}
#define TRAFFIC(number, known, name)                                                               \
	{"telemetry's " known, AT(traffic_known_ns[number]), 8, INT64_MAX, false},                 \
	{                                                                                          \
		"telemetry's " name, AT(traffic_bytes[number]), 8, INT64_MAX, false                \
	}

const struct event_field telemetry_fields[TELEMETRY_FIELDS] = {
	NARROW(device_id),
	WIDE(begin_ns),
	NARROW(refusal),
	WIDE(last_ns),
	WIDE(readings),
	WIDE(observed_ns),
	WIDE(clock_ns),
	WIDE(sm_cycles),
	WIDE(memory_cycles),
	NARROW(sm_min_mhz),
	NARROW(sm_max_mhz),
	REASON(TELEMETRY_IDLE, "idle_ns"),
	REASON(TELEMETRY_HW_THERMAL, "hw_thermal_ns"),
	REASON(TELEMETRY_HW_POWER_BRAKE, "hw_power_brake_ns"),
	REASON(TELEMETRY_HW_SLOWDOWN, "hw_slowdown_ns"),
	REASON(TELEMETRY_SW_THERMAL, "sw_thermal_ns"),
	REASON(TELEMETRY_SW_POWER_CAP, "sw_power_cap_ns"),
	REASON(TELEMETRY_SYNC_BOOST, "sync_boost_ns"),
	REASON(TELEMETRY_SET_CLOCKS, "set_clocks_ns"),
	REASON(TELEMETRY_OTHER, "other_ns"),
	REASON(TELEMETRY_FREE, "free_ns"),
	WIDE(power_ns),
	WIDE(power_nj),
	WIDE(energy_ns),
	WIDE(energy_mj),
	NARROW(max_celsius),
	WIDE(ecc_ns),
	WIDE(ecc_corrected),
	WIDE(ecc_uncorrected),
	NARROW(gpm_refusal),
	USE(TELEMETRY_COMPUTING, "computing_known_ns", "computing_ns"),
	USE(TELEMETRY_SM, "sm_known_ns", "sm_ns"),
	USE(TELEMETRY_OCCUPANCY, "occupancy_known_ns", "occupancy_ns"),
	USE(TELEMETRY_TENSOR, "tensor_known_ns", "tensor_ns"),
	USE(TELEMETRY_DRAM, "dram_known_ns", "dram_ns"),
	TRAFFIC(TELEMETRY_PCIE_SENT, "pcie_sent_known_ns", "pcie_sent_bytes"),
	TRAFFIC(TELEMETRY_PCIE_RECEIVED, "pcie_received_known_ns", "pcie_received_bytes"),
	TRAFFIC(TELEMETRY_NVLINK_SENT, "nvlink_sent_known_ns", "nvlink_sent_bytes"),
	TRAFFIC(TELEMETRY_NVLINK_RECEIVED, "nvlink_received_known_ns", "nvlink_received_bytes"),
	TRAFFIC(TELEMETRY_DRAM_BYTES, "dram_bytes_known_ns", "dram_bytes"),
};

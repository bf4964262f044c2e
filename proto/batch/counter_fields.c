#include "counter_fields.h"

#include <stddef.h>

#include "proto/counter_sampling.h"

#define SAMPLE(field) offsetof(struct counter_sample, field)
#define STATE(field)  offsetof(struct counter_state, field)
#define USE(number, name)                                                                          \
	{                                                                                          \
		"counters' " name, SAMPLE(use[number]), 4, COUNTER_WHOLE, false                    \
	}
#define BYTES(number, name)                                                                        \
	{                                                                                          \
		"counters' " name, SAMPLE(bytes[number]), 8, INT64_MAX, false                      \
	}
#define NARROW(field)                                                                              \
	{                                                                                          \
		"counter state's " #field, STATE(field), 4, UINT32_MAX, false                      \
	}
#define WIDE(field)                                                                                \
	{                                                                                          \
		"counter state's " #field, STATE(field), 8, INT64_MAX, false                       \
	}

const struct event_field counter_fields_sample[COUNTER_FIELDS_SAMPLE] = {
	{"counters' device_id", SAMPLE(device_id), 4, UINT32_MAX, false},
	{"counters' begin_ns", SAMPLE(begin_ns), 8, INT64_MAX, false},
	{"counters' end_ns", SAMPLE(end_ns), 8, INT64_MAX, false},
	{"counters' known", SAMPLE(known), 4, COUNTER_KNOWN_MAX, false},
	USE(COUNTER_SM, "sm"),
	USE(COUNTER_OCCUPANCY, "occupancy"),
	USE(COUNTER_TENSOR, "tensor"),
	USE(COUNTER_DRAM, "dram"),
	BYTES(COUNTER_DRAM_BYTES, "dram_bytes"),
	BYTES(COUNTER_NVLINK_BYTES, "nvlink_bytes"),
	BYTES(COUNTER_PCIE_BYTES, "pcie_bytes"),
};

const struct event_field counter_fields_state[COUNTER_FIELDS_STATE] = {
	NARROW(device_id), WIDE(begin_ns),   NARROW(refusal), WIDE(last_ns), WIDE(interval_ns),
	WIDE(samples),     WIDE(kept),       WIDE(unsent),    WIDE(dropped), WIDE(overflows),
	WIDE(asked_ns),    WIDE(covered_ns), WIDE(invalid),
};

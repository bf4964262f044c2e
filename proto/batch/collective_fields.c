#include "collective_fields.h"

#include <stddef.h>

#include "message.h"

#define ID_MAX COLLECTIVE_COMMUNICATORS_MAX

const struct event_field collective_fields_communicator[COLLECTIVE_FIELDS_COMMUNICATOR] = {
	{"communicator communicator_id", offsetof(struct communicator, communicator_id), 4, ID_MAX,
	 false},
	{"communicator key", offsetof(struct communicator, key), 8, UINT64_MAX, false},
	{"communicator parent_key", offsetof(struct communicator, parent_key), 8, UINT64_MAX,
	 false},
	{"communicator rank", offsetof(struct communicator, rank), 4, UINT32_MAX, false},
	{"communicator nr_ranks", offsetof(struct communicator, nr_ranks), 4, UINT32_MAX, false},
	{"communicator color", offsetof(struct communicator, color), 4, UINT32_MAX, false},
	{"communicator split", offsetof(struct communicator, split), 4, UINT32_MAX, false},
	{"communicator origin", offsetof(struct communicator, origin), 1, COMMUNICATOR_ORIGINS - 1,
	 false},
};

const struct event_field collective_fields_call[COLLECTIVE_FIELDS_CALL] = {
	{"collective start_ns", offsetof(struct collective, start_ns), 8, UINT64_MAX, false},
	{"collective duration_ns", offsetof(struct collective, duration_ns), 8, UINT64_MAX, false},
	{"collective communicator_id", offsetof(struct collective, communicator_id), 4, ID_MAX,
	 false},
	{"collective tid", offsetof(struct collective, tid), 4, UINT32_MAX, false},
	{"collective sequence", offsetof(struct collective, sequence), 8, UINT64_MAX, false},
	{"collective function_sequence", offsetof(struct collective, function_sequence), 8,
	 UINT64_MAX, false},
	{"collective count", offsetof(struct collective, count), 8, UINT64_MAX, false},
	{"collective bytes", offsetof(struct collective, bytes), 8, UINT64_MAX, false},
	{"collective peer", offsetof(struct collective, peer), 4, UINT32_MAX, false},
	{"collective stack_id", offsetof(struct collective, stack_id), 4, WIRE_ID_MAX, false},
	{"collective group", offsetof(struct collective, group), 8, UINT64_MAX, false},
	{"collective stream", offsetof(struct collective, stream), 8, UINT64_MAX, false},
	{"collective function", offsetof(struct collective, function), 1, COLLECTIVE_FUNCTIONS - 1,
	 false},
	{"collective data_type", offsetof(struct collective, data_type), 1, UINT8_MAX, false},
	{"collective reduce_op", offsetof(struct collective, reduce_op), 1, UINT8_MAX, false},
	{"collective result", offsetof(struct collective, result), 4, UINT32_MAX, false},
	{"collective correlation_id", offsetof(struct collective, correlation_id), 4, UINT32_MAX,
	 false},
};

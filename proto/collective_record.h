/* A call of a collective library as a guest records it in its ring (record_ring.h). The guest hears of it through the
 * library's profiler interface. Plain data; the size is part of the shared-memory format. */
#ifndef COLLECTIVE_RECORD_H
#define COLLECTIVE_RECORD_H

#include <assert.h>
#include <stdint.h>

/* As struct collective; the agent fills in that struct's other fields. communicator_id: a DEFINITION_COMMUNICATOR that
 * came before defines it. */
struct collective_record {
	uint64_t start_ns, duration_ns;
	uint64_t sequence, function_sequence;
	uint64_t count, stream;
	uint32_t communicator_id;
	uint32_t tid;
	uint32_t peer;
	uint32_t stack_id; /* of the launch of its kernel; as in launch_records */
	uint32_t correlation_id;
	uint16_t cbid; /* of that launch; 0: none */
	uint8_t function;
	uint8_t data_type;
	uint8_t reduce_op;
	uint8_t reserved[7]; /* 0 */
};

static_assert(sizeof(struct collective_record) == 80, "shared-memory format");

#endif

#include "ring_collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process_ledger.h"
#include "stack_resolver.h"

#include "base/array.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "proto/batch/message.h"
#include "proto/collective.h"
#include "proto/ring/record_ring.h"

#define READ_AT_ONCE 256u

struct ring_collectives {
	struct process_ledger *ledger;
	uint32_t nr_known;                  /* communicators defined so far */
	struct communicator *communicators; /* owns; to be sent */
	uint32_t nr_communicators, max_communicators;
	struct collective *calls; /* owns; RING_COLLECTIVES_MAX entries once one has come */
	uint32_t nr_calls;
	bool given_up; /* the lane was malformed; the loss was counted */
};

struct ring_collectives *ring_collectives_create(struct process_ledger *ledger)
{
	struct ring_collectives *collectives = calloc(1, sizeof(*collectives));

	if (collectives)
		collectives->ledger = ledger;
	return collectives;
}

void ring_collectives_destroy(struct ring_collectives *collectives)
{
	if (!collectives)
		return;
	free(collectives->communicators);
	free(collectives->calls);
	free(collectives);
}

static int reserve_communicator(struct ring_collectives *collectives)
{
	return array_reserve(&collectives->communicators, &collectives->max_communicators,
			     collectives->nr_communicators + 1,
			     sizeof(*collectives->communicators));
}

int ring_collectives_define(struct ring_collectives *collectives,
			    const struct definition_communicator *communicator)
{
	uint32_t id = communicator->communicator_id;

	if (id == 0 || id > collectives->nr_known + 1 || id > COLLECTIVE_COMMUNICATORS_MAX ||
	    collectives->nr_communicators >= COLLECTIVE_COMMUNICATORS_MAX)
		return -EINVAL;
	int r = reserve_communicator(collectives);
	if (r)
		return r;
	if (id > collectives->nr_known)
		collectives->nr_known = id;
	collectives->communicators[collectives->nr_communicators++] = (struct communicator){
		.key = communicator->key,
		.communicator_id = id,
		.rank = communicator->rank,
		.nr_ranks = communicator->nr_ranks,
		.origin = COMMUNICATOR_PROFILER,
	};
	return 0;
}

static void count(struct ring_collectives *collectives, enum ledger_reason reason, uint32_t nr)
{
	if (nr)
		process_ledger_count(collectives->ledger, LEDGER_DEVICE_NONE, reason, nr);
}

static uint8_t op_of(uint8_t reduce_op)
{
	return reduce_op <= COLLECTIVE_OP_AVG || reduce_op == COLLECTIVE_OP_CUSTOM
		       ? reduce_op
		       : COLLECTIVE_OP_NONE;
}

/* The call's stack was walked, and cut, as a launch's is. */
static int find_stack(const struct collective_record *record, struct stack_resolver *stacks,
		      uint32_t *node_id)
{
	*node_id = STACK_NODE_NONE;
	if (record->stack_id == RECORD_STACK_NONE || record->stack_id == RECORD_STACK_PROBE ||
	    record->stack_id == RECORD_STACK_FULL)
		return 0;
	return stack_resolver_node(stacks, record->stack_id, record->cbid, node_id);
}

static int add(struct ring_collectives *collectives, const struct collective_record *record,
	       struct stack_resolver *stacks)
{
	uint32_t stack_id;
	const uint8_t type = record->data_type < COLLECTIVE_TYPES ? record->data_type
								  : (uint8_t)COLLECTIVE_TYPE_NONE;

	if (record->function >= COLLECTIVE_GROUP) {
		count(collectives, LEDGER_UNTRUSTED_RING, 1);
		count(collectives, LEDGER_COLLECTIVE_LOST, 1);
		return 0;
	}
	int r = find_stack(record, stacks, &stack_id);
	if (r)
		return r;
	collectives->calls[collectives->nr_calls++] = (struct collective){
		.start_ns = record->start_ns,
		.duration_ns = record->duration_ns ? record->duration_ns : 1,
		.sequence = record->sequence,
		.function_sequence = record->function_sequence,
		.count = record->count,
		.bytes = collective_bytes(record->function, type, record->count),
		.stream = record->stream,
		.communicator_id = record->communicator_id <= collectives->nr_known
					   ? record->communicator_id
					   : 0,
		.tid = record->tid,
		.peer = record->peer,
		.stack_id = stack_id,
		.correlation_id = record->correlation_id,
		.function = record->function,
		.data_type = type,
		.reduce_op = op_of(record->reduce_op),
	};
	return 0;
}

int ring_collectives_read(struct ring_collectives *collectives, struct record_ring *ring,
			  const struct record_ring_snapshot *snapshot, bool gone,
			  struct stack_resolver *stacks)
{
	struct collective_record records[READ_AT_ONCE];

	while (RING_COLLECTIVES_MAX - collectives->nr_calls >= READ_AT_ONCE) {
		uint32_t nr_lost;
		int got = record_ring_read_collectives(ring, snapshot, gone, records, READ_AT_ONCE,
						       &nr_lost);

		count(collectives, LEDGER_COLLECTIVE_LOST, nr_lost);
		if (got < 0 && !collectives->given_up) {
			collectives->given_up = true;
			count(collectives, LEDGER_UNTRUSTED_RING, 1);
		}
		if (got <= 0)
			return 0;
		if (!collectives->calls)
			collectives->calls =
				malloc(RING_COLLECTIVES_MAX * sizeof(*collectives->calls));
		if (!collectives->calls)
			return -ENOMEM;
		for (int i = 0; i < got; i++) {
			int r = add(collectives, &records[i], stacks);

			if (r)
				return r;
		}
	}
	return 0;
}

bool ring_collectives_waits(const struct ring_collectives *collectives)
{
	return collectives->nr_calls || collectives->nr_communicators;
}

bool ring_collectives_take(struct ring_collectives *collectives, struct message *message)
{
	if (!ring_collectives_waits(collectives))
		return false;
	*message =
		(struct message){.type = MESSAGE_COLLECTIVES,
				 .collectives = {.nr_communicators = collectives->nr_communicators,
						 .nr_collectives = collectives->nr_calls,
						 .communicators = collectives->communicators,
						 .collectives = collectives->calls}};
	collectives->nr_calls = collectives->nr_communicators = 0;
	return true;
}

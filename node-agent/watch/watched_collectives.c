#include "watched_collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bpf/collective_event.h"
#include "proto/batch/message.h"

struct known {
	uint64_t handle, made_ns; /* both 0: of a program that is gone */
};

struct watched_collectives {
	struct known *known; /* owns; known[communicator_id - 1] */
	uint32_t nr_known, max_known;
	struct communicator *communicators; /* owns; the last part of known, still to be sent */
	uint32_t nr_communicators, max_communicators;
	struct collective *calls; /* owns */
	uint32_t nr_calls, max_calls;
	uint64_t received;
};

bool watched_collectives_has(const struct sample_event *event)
{
	return event->kind == SAMPLE_EVENT_COLLECTIVE || event->kind == SAMPLE_EVENT_COMMUNICATOR;
}

struct watched_collectives *watched_collectives_create(void)
{
	return calloc(1, sizeof(struct watched_collectives));
}

void watched_collectives_destroy(struct watched_collectives *collectives)
{
	if (!collectives)
		return;
	free(collectives->known);
	free(collectives->communicators);
	free(collectives->calls);
	free(collectives);
}

/* Searches the newest first, which are the likeliest. Returns 0 if the communicator is not known. */
static uint32_t find(const struct watched_collectives *collectives,
		     const struct collective_call *call)
{
	for (uint32_t id = collectives->nr_known; id > 0; id--)
		if (collectives->known[id - 1].handle == call->handle &&
		    collectives->known[id - 1].made_ns == call->made_ns)
			return id;
	return 0;
}

static int introduce(struct watched_collectives *collectives, const struct collective_call *call,
		     uint32_t *communicator_id)
{
	if (array_reserve(&collectives->known, &collectives->max_known, collectives->nr_known + 1,
			  sizeof(*collectives->known)) ||
	    array_reserve(&collectives->communicators, &collectives->max_communicators,
			  collectives->nr_communicators + 1, sizeof(*collectives->communicators)))
		return -ENOMEM;
	collectives->known[collectives->nr_known++] = (struct known){call->handle, call->made_ns};
	*communicator_id = collectives->nr_known;
	collectives->communicators[collectives->nr_communicators++] = (struct communicator){
		.key = call->key,
		.parent_key = call->parent_key,
		.communicator_id = *communicator_id,
		.rank = call->rank,
		.nr_ranks = call->nr_ranks,
		.color = call->color,
		.split = call->split,
		.origin = call->origin,
	};
	return 0;
}

/* *communicator_id is 0 for a group, and for a communicator beyond the limit. */
static int get_communicator(struct watched_collectives *collectives,
			    const struct collective_call *call, uint32_t *communicator_id)
{
	*communicator_id = call->handle ? find(collectives, call) : 0;
	if (*communicator_id || !call->handle || call->made_ns == 0 ||
	    collectives->nr_known == COLLECTIVE_COMMUNICATORS_MAX)
		return 0;
	return introduce(collectives, call, communicator_id);
}

static uint8_t op_of(uint32_t reduce_op)
{
	if (reduce_op == COLLECTIVE_OP_NONE)
		return COLLECTIVE_OP_NONE;
	return reduce_op <= COLLECTIVE_OP_AVG ? (uint8_t)reduce_op : COLLECTIVE_OP_CUSTOM;
}

int watched_collectives_add(struct watched_collectives *collectives,
			    const struct sample_event *event, const struct kernel_clock *clock,
			    uint32_t stack_id)
{
	struct collective_call call;
	uint32_t communicator_id;

	if (event->user_size < sizeof(call))
		return 0;
	memcpy(&call, event->addresses, sizeof(call));
	int r = get_communicator(collectives, &call, &communicator_id);
	if (r || event->kind == SAMPLE_EVENT_COMMUNICATOR)
		return r;
	if (array_reserve(&collectives->calls, &collectives->max_calls, collectives->nr_calls + 1,
			  sizeof(*collectives->calls)))
		return -ENOMEM;
	const uint8_t type =
		call.data_type < COLLECTIVE_TYPES ? (uint8_t)call.data_type : COLLECTIVE_TYPE_NONE;
	collectives->calls[collectives->nr_calls++] = (struct collective){
		.start_ns = event->time_ns - event->duration_ns + (uint64_t)clock->monotonic_ns,
		.duration_ns = event->duration_ns,
		.sequence = call.sequence,
		.function_sequence = call.function_sequence,
		.count = call.count,
		.bytes = collective_bytes(call.function, type, call.count),
		.group = call.group,
		.stream = call.stream,
		.communicator_id = communicator_id,
		.tid = event->tid,
		.peer = call.peer,
		.stack_id = stack_id,
		.result = call.result,
		.function = call.function,
		.data_type = type,
		.reduce_op = op_of(call.reduce_op),
	};
	collectives->received++;
	return 0;
}

void watched_collectives_forget(struct watched_collectives *collectives)
{
	for (uint32_t i = 0; i < collectives->nr_known; i++)
		collectives->known[i] = (struct known){0, 0};
}

uint32_t watched_collectives_count(const struct watched_collectives *collectives)
{
	return collectives->nr_calls + collectives->nr_communicators;
}

void watched_collectives_take(struct watched_collectives *collectives, struct message *message)
{
	*message =
		(struct message){.type = MESSAGE_COLLECTIVES,
				 .collectives = {.nr_communicators = collectives->nr_communicators,
						 .nr_collectives = collectives->nr_calls,
						 .communicators = collectives->communicators,
						 .collectives = collectives->calls}};
	collectives->nr_calls = collectives->nr_communicators = 0;
}

uint64_t watched_collectives_received(const struct watched_collectives *collectives)
{
	return collectives->received;
}

#include "nccl_plugin.h"

#include "nccl_profiler.h"

#define NAME "Flamegrid"

static char group_mark; /* handle of a group: NCCL only needs it to be not NULL */

/* ---- all versions */

static int set_mask(int *mask, int wanted)
{
	bool is_wanted = nccl_profiler_is_wanted();

	*mask = is_wanted ? wanted : 0;
	return is_wanted;
}

static void begin_group(void **handle)
{
	nccl_profiler_posted();
	*handle = &group_mark;
}

/* Returns the root, for the functions that have one. */
static uint32_t root_of(uint32_t function, int root)
{
	bool has_root = function == COLLECTIVE_BROADCAST || function == COLLECTIVE_REDUCE ||
			function == COLLECTIVE_GATHER || function == COLLECTIVE_SCATTER;

	return has_root && root >= 0 ? (uint32_t)root : COLLECTIVE_NOT_KNOWN;
}

static void take_collective_v4(struct nccl_communicator *communicator,
			       const struct nccl_collective_v4 *told, const void *called)
{
	uint32_t function = nccl_profiler_function(told->function);

	nccl_profiler_take(communicator,
			   &(struct nccl_task){.function = function,
					       .data_type = nccl_profiler_type(told->data_type),
					       .reduce_op = COLLECTIVE_OP_NONE,
					       .peer = root_of(function, told->root),
					       .count = told->count,
					       .function_sequence = told->sequence + 1,
					       .called = called});
}

static void take_p2p_v4(struct nccl_communicator *communicator, const struct nccl_p2p_v4 *told,
			const void *called)
{
	nccl_profiler_take(communicator,
			   &(struct nccl_task){.function = nccl_profiler_function(told->function),
					       .data_type = nccl_profiler_type(told->data_type),
					       .reduce_op = COLLECTIVE_OP_NONE,
					       .peer = (uint32_t)told->peer,
					       .count = told->count,
					       .called = called});
}

static int stop_event(void *handle)
{
	(void)handle;
	return NCCL_ABI_SUCCESS;
}

static int record_state(void *handle, int state, void *arguments)
{
	(void)handle;
	(void)state;
	(void)arguments;
	return NCCL_ABI_SUCCESS;
}

static int finalize(void *context)
{
	nccl_profiler_forget(context);
	return NCCL_ABI_SUCCESS;
}

/* ---- versions 1 to 3: each call tells what the communicator is */

static int init_v1(void **context, int *mask)
{
	*context = NULL;
	if (set_mask(mask, NCCL_EVENT_COLLECTIVE | NCCL_EVENT_P2P))
		*context = nccl_profiler_meet(0, COLLECTIVE_NOT_KNOWN, COLLECTIVE_NOT_KNOWN);
	return NCCL_ABI_SUCCESS;
}

static uint32_t function_v1(uint8_t function)
{
	switch (function) {
	case NCCL_FUNCTION_BROADCAST:
		return COLLECTIVE_BROADCAST;
	case NCCL_FUNCTION_REDUCE:
		return COLLECTIVE_REDUCE;
	case NCCL_FUNCTION_ALL_GATHER:
		return COLLECTIVE_ALL_GATHER;
	case NCCL_FUNCTION_REDUCE_SCATTER:
		return COLLECTIVE_REDUCE_SCATTER;
	case NCCL_FUNCTION_ALL_REDUCE:
		return COLLECTIVE_ALL_REDUCE;
	case NCCL_FUNCTION_SEND:
		return COLLECTIVE_SEND;
	case NCCL_FUNCTION_RECV:
		return COLLECTIVE_RECV;
	default:
		return COLLECTIVE_FUNCTIONS;
	}
}

static uint32_t type_v1(uint8_t data_type)
{
	return data_type < COLLECTIVE_TYPES ? data_type : COLLECTIVE_TYPE_NONE;
}

static bool has_op(uint32_t function)
{
	return function == COLLECTIVE_ALL_REDUCE || function == COLLECTIVE_REDUCE ||
	       function == COLLECTIVE_REDUCE_SCATTER;
}

static uint32_t op_v1(uint32_t function, uint32_t reduce_op)
{
	if (!has_op(function))
		return COLLECTIVE_OP_NONE;
	return reduce_op <= COLLECTIVE_OP_AVG ? reduce_op : COLLECTIVE_OP_CUSTOM;
}

static void take_v1(struct nccl_communicator *communicator, const struct nccl_event_v1 *event)
{
	const struct nccl_collective_v1 *collective = &event->collective_v1;
	const struct nccl_p2p_v1 *p2p = &event->p2p_v1;
	bool is_p2p = event->type == NCCL_EVENT_P2P;
	uint32_t function = function_v1(is_p2p ? p2p->function : collective->function);

	nccl_profiler_learn(communicator,
			    is_p2p ? p2p->communicator_hash : collective->communicator_hash,
			    (uint32_t)event->rank);
	nccl_profiler_take(
		communicator,
		&(struct nccl_task){
			.function = function,
			.data_type = type_v1(is_p2p ? p2p->data_type : collective->data_type),
			.reduce_op = is_p2p ? COLLECTIVE_OP_NONE
					    : op_v1(function, collective->reduce_op),
			.peer = is_p2p ? (uint32_t)p2p->peer : root_of(function, collective->root),
			.count = is_p2p ? p2p->count : collective->count,
			.function_sequence = is_p2p ? 0 : collective->sequence + 1});
}

static int start_event_v1(void *context, void **handle, const struct nccl_event_v1 *event)
{
	*handle = NULL;
	if (event->type == NCCL_EVENT_GROUP)
		begin_group(handle);
	else if (event->type == NCCL_EVENT_COLLECTIVE || event->type == NCCL_EVENT_P2P)
		take_v1(context, event);
	return NCCL_ABI_SUCCESS;
}

static void take_collective_v2(struct nccl_communicator *communicator,
			       const struct nccl_event_v1 *event)
{
	const struct nccl_collective_v2 *told = &event->collective_v2;
	const struct nccl_collective_v4 collective = {.sequence = told->sequence,
						      .function = told->function,
						      .count = told->count,
						      .root = told->root,
						      .data_type = told->data_type};

	nccl_profiler_learn(communicator, told->communicator_hash, (uint32_t)event->rank);
	take_collective_v4(communicator, &collective, NULL);
}

static void take_p2p_v2(struct nccl_communicator *communicator, const struct nccl_event_v1 *event)
{
	const struct nccl_p2p_v2 *told = &event->p2p_v2;
	const struct nccl_p2p_v4 p2p = {.function = told->function,
					.data_type = told->data_type,
					.count = told->count,
					.peer = told->peer};

	nccl_profiler_learn(communicator, told->communicator_hash, (uint32_t)event->rank);
	take_p2p_v4(communicator, &p2p, NULL);
}

static int start_event_v2(void *context, void **handle, const struct nccl_event_v1 *event)
{
	*handle = NULL;
	if (event->type == NCCL_EVENT_GROUP)
		begin_group(handle);
	else if (event->type == NCCL_EVENT_COLLECTIVE)
		take_collective_v2(context, event);
	else if (event->type == NCCL_EVENT_P2P)
		take_p2p_v2(context, event);
	return NCCL_ABI_SUCCESS;
}

/* ---- version 4 */

static int init_v4(void **context, int *mask, const char *communicator_name,
		   uint64_t communicator_hash, int nr_nodes, int nr_ranks, int rank,
		   nccl_logger *logger)
{
	(void)communicator_name;
	(void)nr_nodes;
	(void)logger;
	*context = NULL;
	if (set_mask(mask, NCCL_EVENT_COLLECTIVE | NCCL_EVENT_P2P))
		*context =
			nccl_profiler_meet(communicator_hash, (uint32_t)rank, (uint32_t)nr_ranks);
	return NCCL_ABI_SUCCESS;
}

static int start_event_v4(void *context, void **handle, const struct nccl_event_v1 *event)
{
	*handle = NULL;
	if (event->type == NCCL_EVENT_GROUP)
		begin_group(handle);
	else if (event->type == NCCL_EVENT_COLLECTIVE)
		take_collective_v4(context, &event->collective_v4, NULL);
	else if (event->type == NCCL_EVENT_P2P)
		take_p2p_v4(context, &event->p2p_v4, NULL);
	return NCCL_ABI_SUCCESS;
}

/* ---- version 5 on: later versions only append to the fields that are read here */

static int init_v5(void **context, uint64_t communicator_hash, int *mask,
		   const char *communicator_name, int nr_nodes, int nr_ranks, int rank,
		   nccl_logger *logger)
{
	(void)communicator_name;
	(void)nr_nodes;
	(void)logger;
	*context = NULL;
	if (set_mask(mask, NCCL_EVENT_COLLECTIVE | NCCL_EVENT_P2P | NCCL_EVENT_KERNEL_LAUNCH))
		*context =
			nccl_profiler_meet(communicator_hash, (uint32_t)rank, (uint32_t)nr_ranks);
	return NCCL_ABI_SUCCESS;
}

static int start_event_v5(void *context, void **handle, const struct nccl_event_v5 *event)
{
	*handle = NULL;
	switch (event->type) {
	case NCCL_EVENT_GROUP:
		begin_group(handle);
		break;
	case NCCL_EVENT_COLLECTIVE_API:
		*handle = nccl_profiler_called(event->collective_api.captured);
		break;
	case NCCL_EVENT_P2P_API:
		*handle = nccl_profiler_called(event->p2p_api.captured);
		break;
	case NCCL_EVENT_KERNEL_LAUNCH:
		nccl_profiler_launches(event->kernel_launch.stream);
		break;
	case NCCL_EVENT_COLLECTIVE:
		take_collective_v4(context, &event->collective, event->parent);
		break;
	case NCCL_EVENT_P2P:
		take_p2p_v4(context, &event->p2p, event->parent);
		break;
	default: /* events that were not asked for may come, too: they are ignored */
		break;
	}
	return NCCL_ABI_SUCCESS;
}

#define FUNCTIONS(init_function, start_function)                                                   \
	{                                                                                          \
		.name = NAME, .init = init_function, .start_event = start_function,                \
		.stop_event = stop_event, .record_state = record_state, .finalize = finalize       \
	}

const struct nccl_profiler_v1 ncclProfiler_v1 = FUNCTIONS(init_v1, start_event_v1);
const struct nccl_profiler_v1 ncclProfiler_v2 = FUNCTIONS(init_v1, start_event_v2);
const struct nccl_profiler_v1 ncclProfiler_v3 = FUNCTIONS(init_v1, start_event_v2);
const struct nccl_profiler_v4 ncclProfiler_v4 = FUNCTIONS(init_v4, start_event_v4);
const struct nccl_profiler_v5 ncclProfiler_v5 = FUNCTIONS(init_v5, start_event_v5);
const struct nccl_profiler_v5 ncclProfiler_v6 = FUNCTIONS(init_v5, start_event_v5);
const struct nccl_profiler_v5 ncclProfiler_v7 = FUNCTIONS(init_v5, start_event_v5);

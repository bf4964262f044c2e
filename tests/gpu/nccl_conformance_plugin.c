/* A plugin of NCCL's that keeps what it is told, versions 3 to 5 of the interface. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/nccl/nccl_profiler_abi.h"
#include "nccl_conformance.h"

#define EXPORTED __attribute__((visibility("default")))

extern struct conformance_events nccl_conformance_events;
EXPORTED struct conformance_events nccl_conformance_events;

struct communicator {
	uint64_t hash;
	int rank;
};

static struct communicator communicators[64];
static atomic_uint nr_communicators;
static char mark; /* older NCCLs tell of no task of a group without a handle */

static struct conformance_event *add(uint64_t type, const struct communicator *communicator)
{
	uint32_t at = __atomic_fetch_add(&nccl_conformance_events.nr, 1, __ATOMIC_ACQ_REL);
	static struct conformance_event beyond;
	struct conformance_event *event =
		at < CONFORMANCE_EVENTS_MAX ? &nccl_conformance_events.list[at] : &beyond;

	*event = (struct conformance_event){.type = type,
					    .hash = communicator->hash,
					    .rank = communicator->rank,
					    .peer = -1,
					    .tid = syscall(SYS_gettid)};
	return event;
}

static void name(struct conformance_event *event, const char *function, const char *data_type)
{
	snprintf(event->function, sizeof(event->function), "%s", function ? function : "");
	snprintf(event->data_type, sizeof(event->data_type), "%s", data_type ? data_type : "");
}

static int begin(void **context, int *mask, uint32_t version, uint64_t hash, int rank)
{
	struct communicator *communicator =
		&communicators[atomic_fetch_add(&nr_communicators, 1) % 64];

	*communicator = (struct communicator){hash, rank};
	*context = communicator;
	*mask = NCCL_EVENT_COLLECTIVE | NCCL_EVENT_P2P |
		(version >= 5 ? NCCL_EVENT_KERNEL_LAUNCH : 0);
	nccl_conformance_events.version = version;
	add(0, communicator);
	return NCCL_ABI_SUCCESS;
}

static void keep_collective(const struct communicator *communicator,
			    const struct nccl_collective_v4 *told)
{
	struct conformance_event *event = add(NCCL_EVENT_COLLECTIVE, communicator);

	event->sequence = told->sequence;
	event->count = told->count;
	name(event, told->function, told->data_type);
}

static void keep_p2p(const struct communicator *communicator, const struct nccl_p2p_v4 *told)
{
	struct conformance_event *event = add(NCCL_EVENT_P2P, communicator);

	event->count = told->count;
	event->peer = told->peer;
	name(event, told->function, told->data_type);
}

static int init_v3(void **context, int *mask)
{
	return begin(context, mask, 3, 0, -1);
}

static int init_v4(void **context, int *mask, const char *communicator_name, uint64_t hash,
		   int nr_nodes, int nr_ranks, int rank, nccl_logger *logger)
{
	(void)communicator_name, (void)nr_nodes, (void)nr_ranks, (void)logger;
	return begin(context, mask, 4, hash, rank);
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *communicator_name,
		   int nr_nodes, int nr_ranks, int rank, nccl_logger *logger)
{
	(void)communicator_name, (void)nr_nodes, (void)nr_ranks, (void)logger;
	return begin(context, mask, 5, hash, rank);
}

static int start_v3(void *context, void **handle, const struct nccl_event_v1 *event)
{
	struct communicator *communicator = context;
	const struct nccl_collective_v2 *told = &event->collective_v2;
	const struct nccl_p2p_v2 *p2p = &event->p2p_v2;

	*handle = event->type == NCCL_EVENT_GROUP ? &mark : NULL;
	if (event->type == NCCL_EVENT_COLLECTIVE) {
		*communicator = (struct communicator){told->communicator_hash, event->rank};
		keep_collective(communicator,
				&(struct nccl_collective_v4){.sequence = told->sequence,
							     .function = told->function,
							     .count = told->count,
							     .data_type = told->data_type});
	} else if (event->type == NCCL_EVENT_P2P) {
		*communicator = (struct communicator){p2p->communicator_hash, event->rank};
		keep_p2p(communicator, &(struct nccl_p2p_v4){.function = p2p->function,
							     .data_type = p2p->data_type,
							     .count = p2p->count,
							     .peer = p2p->peer});
	} else {
		add(event->type, communicator);
	}
	return NCCL_ABI_SUCCESS;
}

static int start_v4(void *context, void **handle, const struct nccl_event_v1 *event)
{
	*handle = event->type == NCCL_EVENT_GROUP ? &mark : NULL;
	if (event->type == NCCL_EVENT_COLLECTIVE)
		keep_collective(context, &event->collective_v4);
	else if (event->type == NCCL_EVENT_P2P)
		keep_p2p(context, &event->p2p_v4);
	else
		add(event->type, context);
	return NCCL_ABI_SUCCESS;
}

static int start_v5(void *context, void **handle, const struct nccl_event_v5 *event)
{
	struct conformance_event *kept;

	*handle = NULL;
	if (event->type == NCCL_EVENT_COLLECTIVE) {
		keep_collective(context, &event->collective);
	} else if (event->type == NCCL_EVENT_P2P) {
		keep_p2p(context, &event->p2p);
	} else {
		kept = add(event->type, context);
		if (event->type == NCCL_EVENT_COLLECTIVE_API)
			kept->captured = event->collective_api.captured;
	}
	return NCCL_ABI_SUCCESS;
}

static int stop(void *handle)
{
	(void)handle;
	return NCCL_ABI_SUCCESS;
}

static int record(void *handle, int state, void *arguments)
{
	(void)handle, (void)state, (void)arguments;
	return NCCL_ABI_SUCCESS;
}

static int finalize(void *context)
{
	(void)context;
	return NCCL_ABI_SUCCESS;
}

extern const struct nccl_profiler_v1 ncclProfiler_v3;
extern const struct nccl_profiler_v4 ncclProfiler_v4;
extern const struct nccl_profiler_v5 ncclProfiler_v5;
EXPORTED const struct nccl_profiler_v1 ncclProfiler_v3 = {"conformance", init_v3, start_v3,
							  stop,          record,  finalize};
EXPORTED const struct nccl_profiler_v4 ncclProfiler_v4 = {"conformance", init_v4, start_v4,
							  stop,          record,  finalize};
EXPORTED const struct nccl_profiler_v5 ncclProfiler_v5 = {"conformance", init_v5, start_v5,
							  stop,          record,  finalize};

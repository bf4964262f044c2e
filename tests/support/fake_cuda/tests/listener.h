/* A CUPTI client for the tests of fake CUDA: listens to everything and remembers it. */
#ifndef LISTENER_H
#define LISTENER_H

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fake_cuda.h"

#define CALLS_MAX   65536u
#define RECORDS_MAX 65536u
#define GRAPHS_MAX  4096u

struct seen_call {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId cbid;
	CUpti_ApiCallbackSite site;
	uint32_t correlation_id;
	int result;
	const char *symbol;
};

struct seen_record {
	CUpti_ActivityKind kind;
	uint64_t start_ns, end_ns, bytes;
	uint32_t correlation_id, device_id, context_id, stream_id;
	int copy_kind;
	const char *name;
	uint32_t graph_id;
	uint64_t graph_node_id;
};

/* A resource callback of a graph; ids are CUPTI's, 0 where there is no such thing. */
struct seen_graph {
	CUpti_CallbackId cbid;
	CUgraphNodeType type;
	uint32_t graph_id, original_graph_id, exec_id;
	uint64_t node_id, original_node_id;
	bool has_node, has_original;
	uint32_t call; /* how many API callbacks had come before it */
};

struct listener {
	CUpti_SubscriberHandle subscriber;
	_Atomic uint32_t nr_calls, nr_records;
	_Atomic bool refuse_buffers, finalize_at_exit, walk;
	_Atomic uint32_t resources[32];
	_Atomic uint32_t nr_graphs;
	struct seen_graph graphs[GRAPHS_MAX];
	struct seen_call calls[CALLS_MAX];
	struct seen_record records[RECORDS_MAX];
	uintptr_t frames[16];
};

extern struct listener seen;

/* Subscribes to all callbacks of the driver, the runtime and resources, and to all records. */
void listener_subscribe(void);

/* cuptiSubscribe with the listener's callback, nothing enabled; returns CUPTI's result. */
CUptiResult listener_subscribe_as(CUpti_SubscriberHandle *subscriber);

/* Set-up and tear-down of one test: forgets everything and subscribes; resets the modes and
 * finalizes CUPTI. */
int listener_start(void **state);
int listener_stop(void **state);

/* Opens device 0 of a host with four devices, of which this process sees 2 and 0 in this order.
 * Returns 0 or -1. */
int listener_open_devices(void **state);

cudaError_t listener_launch(struct fake_cuda_kernel *kernel, cudaStream_t stream);
void listener_launch_many(struct fake_cuda_kernel *kernel, cudaStream_t stream, int count);

/* Waits for the device and flushes by force. */
void listener_finish(void);

/* What CUPTI says it dropped since the last call. */
size_t listener_dropped(void);

#endif

/* What the tests of captures and of graphs share: a device with a stream and some memory, a graph of two
 * kernels, and what CUPTI said of it. Included by tests, each of which has its own. */
#ifndef GRAPH_FIXTURE_H
#define GRAPH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "listener.h"

#define BYTES 4096u

FAKE_CUDA_KERNEL(first, FAKE_CUDA_FIXED_NS(1000));
FAKE_CUDA_KERNEL(second, FAKE_CUDA_FIXED_NS(2000));

static cudaStream_t stream;
static char *memory;

static inline int open_device(void **state)
{
	if (listener_open_devices(state) != 0)
		return -1;
	return cudaStreamCreate(&stream) == cudaSuccess &&
			       cudaMalloc((void **)&memory, BYTES) == cudaSuccess
		       ? 0
		       : -1;
}

static inline void begin(void)
{
	assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
}

static inline cudaGraph_t end(void)
{
	cudaGraph_t graph;

	assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
	return graph;
}

static inline cudaGraph_t capture_two(void)
{
	begin();
	assert_int_equal(listener_launch(first, stream), cudaSuccess);
	assert_int_equal(listener_launch(second, stream), cudaSuccess);
	return end();
}

static inline cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
	return exec;
}

static inline void launch(cudaGraphExec_t exec)
{
	assert_int_equal(cudaGraphLaunch(exec, stream), cudaSuccess);
}

static inline uint32_t exec_id(cudaGraphExec_t exec)
{
	uint32_t id;

	assert_int_equal(cuptiGetGraphExecId(exec, &id), CUPTI_SUCCESS);
	return id;
}

static inline uint32_t graph_id(cudaGraph_t graph)
{
	uint32_t id;

	assert_int_equal(cuptiGetGraphId(graph, &id), CUPTI_SUCCESS);
	return id;
}

/* The n-th resource callback of this kind, from 0. */
static inline const struct seen_graph *nth(CUpti_CallbackId cbid, uint32_t n)
{
	for (uint32_t i = 0; i < seen.nr_graphs; i++) {
		if (seen.graphs[i].cbid == cbid && n-- == 0)
			return &seen.graphs[i];
	}
	fail_msg("there is no such callback %u", cbid);
	return NULL;
}

static inline void discard(cudaGraphExec_t exec, cudaGraph_t graph)
{
	assert_int_equal(cudaGraphExecDestroy(exec), cudaSuccess);
	assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
}

#endif

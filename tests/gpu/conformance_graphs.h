/* What CUPTI tells of CUDA graphs: captured, built, cloned, updated, launched and destroyed. */
#ifndef CONFORMANCE_GRAPHS_H
#define CONFORMANCE_GRAPHS_H

#include <stddef.h>
#include <stdint.h>

#include "conformance_cuda.h"

/* Borrowed during the call. */
struct graph_subject {
	void *context;
	void *functions[2]; /* kernels with parameters (address, loops) */
	const char *names[2];
	device_address memory;
	size_t bytes; /* memory has twice as many */
};

/* Prints checks and facts. The log subscribes and has kernels, copies and memsets enabled; it is
 * cleared. */
void conformance_graphs_run(const struct graph_subject *subject);

#endif

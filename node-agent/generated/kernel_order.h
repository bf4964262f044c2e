/* Finds the nodes of calls that name none: calls of libraries (extern_kernels.mm) and of PyTorch's own operations.
 * Inductor numbers buffers as it goes through the graph, and such a call makes its buffer when its node's turn comes
 * (PyTorch 2.11, torch/_inductor/graph.py, register_buffer). So the calls of an operation, by their buffers' numbers,
 * are in the order of its nodes, wherever the scheduler has put them. If there are as many calls as nodes, each call
 * has its node. Pure; any thread. */
#ifndef KERNEL_ORDER_H
#define KERNEL_ORDER_H

#include "model_graph.h"
#include "wrapper_code.h"

struct kernel_order {
	uint32_t node; /* index in the graph + 1; 0: not known */
	bool is_proven; /* the comment of the call names the node's operation, and so do all others of it */
};

/* Returns one for each call, which the caller owns (free()). NULL: out of memory. */
struct kernel_order *kernel_order_make(const struct wrapper_code *code,
				       const struct model_graph *graph);

#endif

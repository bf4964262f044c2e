/* Turns CUPTI's callbacks about graph nodes into stacks. It runs on the application's threads, inside the call that
 * makes the nodes. It never blocks, makes no CUDA call and keeps errno. It allocates nothing, with the exception that
 * launch_thread_own() names. */
#ifndef GRAPH_CALLBACK_H
#define GRAPH_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_callback.h"

/* Notes a node that was created. Within a launch, the launch was captured, and the node gets the launch's stack.
 * Otherwise it gets the current stack, that of the call that adds the node. CUPTI reports a copied node here first, and
 * then to graph_callback_copied(). */
void graph_callback_created(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data);

/* Returns how many launches were captured so far. Any thread may call. */
uint64_t graph_callback_captured(void);

/* Notes that a node is a copy of another (by cuGraphClone() or instantiation), and so comes from the same code. If the
 * original is not known, the copy becomes unknown. */
void graph_callback_copied(const struct launch_callback *launch,
			   const struct cupti_library *library,
			   const struct cupti_graph_data *data);

/* Notes that a graph or an executable graph is created, or that a node or an executable graph ends
 * (CUPTI_ABI_RESOURCE_GRAPH_CREATED, _NODE_DESTROYED, _EXEC_...). Once an executable graph is complete, CUPTI is asked
 * again for the ids of the copies that it was made of (graph_copies.h). */
void graph_callback_changed(const struct launch_callback *launch,
			    const struct cupti_library *library, uint32_t cbid,
			    const struct cupti_graph_data *data);

static inline bool graph_callback_is_launch(uint32_t cbid)
{
	return cbid - CUPTI_ABI_GRAPH_LAUNCH <=
	       CUPTI_ABI_GRAPH_LAUNCH_PTSZ - CUPTI_ABI_GRAPH_LAUNCH;
}

/* Notes a graph's launch for the graph's conditional bodies (graph_launches.h). Call it after launch_callback_enter(),
 * and before launch_callback_exit(). wanted: false for a launch outside of the capture window. */
void graph_callback_launched(const struct launch_callback *launch,
			     const struct cupti_library *library,
			     const struct cupti_callback_data *call, bool wanted);

/* Notes that a node of an executable graph was given another node's parameters (cuGraphExecUpdate). CUPTI 13.0 calls
 * the executable graph's node the original one, as measured by tests/gpu/cuda_conformance. */
void graph_callback_updated(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data);

#endif

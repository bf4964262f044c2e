/* CUPTI's news of graph nodes, turned into stacks. On the application's threads, inside the call that
 * makes the nodes: never blocks, allocates nothing (but see launch_thread_own()), makes no CUDA
 * call, keeps errno. */
#ifndef GRAPH_CALLBACK_H
#define GRAPH_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"
#include "inject/cupti/cupti_library.h"
#include "inject/launch/launch_callback.h"

/* A node was created: within a launch, it was captured, and its stack is the launch's; otherwise the
 * call that adds it stands on the stack now. A copy is created, too, and then told to be one. */
void graph_callback_created(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data);

/* How many launches were captured so far. Any thread. */
uint64_t graph_callback_captured(void);

/* A node is a copy of another one (cuGraphClone, instantiation) and is that one's code. An original
 * that is not known makes the copy unknown. */
void graph_callback_copied(const struct launch_callback *launch,
			   const struct cupti_library *library,
			   const struct cupti_graph_data *data);

/* A graph, an executable graph, or the end of a node (CUPTI_ABI_RESOURCE_GRAPH_CREATED, _NODE_DESTROYED, _EXEC_...):
 * when an executable graph is there, the copies that it was made of are asked again which nodes of it they are
 * (graph_copies.h). */
void graph_callback_changed(const struct launch_callback *launch,
			    const struct cupti_library *library, uint32_t cbid,
			    const struct cupti_graph_data *data);

static inline bool graph_callback_is_launch(uint32_t cbid)
{
	return cbid - CUPTI_ABI_GRAPH_LAUNCH <=
	       CUPTI_ABI_GRAPH_LAUNCH_PTSZ - CUPTI_ABI_GRAPH_LAUNCH;
}

/* A graph is launched: call after launch_callback_enter(), and before launch_callback_exit(). Notes it for its
 * conditional bodies (graph_launches.h). wanted: false for one outside of the capture window. */
void graph_callback_launched(const struct launch_callback *launch,
			     const struct cupti_library *library,
			     const struct cupti_callback_data *call, bool wanted);

/* A node of an executable graph was given another's parameters (cuGraphExecUpdate). CUPTI 13.0 calls
 * the executable graph's node the original one, as measured by tests/gpu/cuda_conformance. */
void graph_callback_updated(const struct launch_callback *launch,
			    const struct cupti_library *library,
			    const struct cupti_graph_data *data);

#endif

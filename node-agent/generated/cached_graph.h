/* An entry of Inductor's cache of compiled graphs. Inductor writes it when it has compiled a graph, whether the program
 * asked for anything or not. It is the pickle of an object, and these texts are among its attributes:
 *	cache_key                             the name of the generated file, without ".py"
 *	inductor_post_grad_graph_str          the graph that was compiled (model_graph.h)
 *	inductor_provenance_stack_traces_str  the lines of each kernel (trace_table.h), or None
 * PyTorch 2.11, torch/_inductor/output_code.py (CompiledFxGraph), codecache.py (FxGraphCache). Nothing is unpickled:
 * the names are looked for, and the text behind each. Pure; any thread. */
#ifndef CACHED_GRAPH_H
#define CACHED_GRAPH_H

#include <stdbool.h>

#include "text_span.h"

/* Bytes in which the key lies: it is one of the first attributes. */
#define CACHED_GRAPH_HEAD_SIZE 8192u

/* Returns the key of the file that begins with this text. size 0: it has none. */
struct text_span cached_graph_key(struct text_span head);

/* Returns the graph, and the lines; size 0: there are none. */
struct text_span cached_graph_graph(struct text_span entry);
struct text_span cached_graph_traces(struct text_span entry);

#endif

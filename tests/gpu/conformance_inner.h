/* What CUPTI tells of graphs within CUDA graphs: child graphs, and the bodies of conditional nodes. */
#ifndef CONFORMANCE_INNER_H
#define CONFORMANCE_INNER_H

#include "conformance_graphs.h"

/* As conformance_graphs_run(). */
void conformance_inner_run(const struct graph_subject *subject);

#endif

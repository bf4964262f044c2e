/* How CUDA graphs are recorded: option --graphs of `flamegrid run`, given to the guest in its environment. Pure; any
 * thread. */
#ifndef GRAPH_MODE_H
#define GRAPH_MODE_H

#define GRAPH_MODE_ENV "FLAMEGRID_GRAPHS"

enum graph_mode {
	GRAPH_MODE_NODES,  /* one record for each node that runs (the default) */
	GRAPH_MODE_LAUNCH, /* one record for each launched graph: cheaper, without names */
};

/* "nodes" or "launch"; NULL or "": the default. 0; -EINVAL: neither, and *mode is the default. */
int graph_mode_parse(const char *text, enum graph_mode *mode);

/* Static storage. */
const char *graph_mode_name(enum graph_mode mode);

#endif

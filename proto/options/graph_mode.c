#include "graph_mode.h"

#include <errno.h>
#include <string.h>

const char *graph_mode_name(enum graph_mode mode)
{
	return mode == GRAPH_MODE_LAUNCH ? "launch" : "nodes";
}

int graph_mode_parse(const char *text, enum graph_mode *mode)
{
	*mode = GRAPH_MODE_NODES;
	if (!text || *text == '\0' || strcmp(text, graph_mode_name(GRAPH_MODE_NODES)) == 0)
		return 0;
	if (strcmp(text, graph_mode_name(GRAPH_MODE_LAUNCH)) != 0)
		return -EINVAL;
	*mode = GRAPH_MODE_LAUNCH;
	return 0;
}

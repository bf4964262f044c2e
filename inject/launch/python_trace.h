/* Reads tracebacks as Python writes them: a line for each call, from the outermost on,
 *	File "/home/u/model.py", line 12, in forward
 *	    x = self.norm(x)
 * and a blank line between two of them. Pure; any thread. */
#ifndef PYTHON_TRACE_H
#define PYTHON_TRACE_H

#include <stdint.h>

#include "inject/nvtx/place_list.h"

/* Adds the innermost line of each traceback, "model.py:forward:12". A line of an installed package gives way to the
 * line that led there. Lines that are none of these are skipped. The text needs no NUL. */
void python_trace_places(const char *text, uint32_t size, struct place_list *places);

#endif

/* Writes a trace as JSON in the Trace Event Format, "JSON Object Format" (Google's document of that name), for
 * chrome://tracing and the many programs that read it. A process of the format is a process with its host's name, and
 * a thread is a lane. Times are microseconds with three decimals: to the nanosecond. Stacks are in "stackFrames".
 * Arrows lead from launches to their work. Those between ranks are Perfetto's alone: here the first must come first. */
#ifndef CHROME_STREAM_H
#define CHROME_STREAM_H

#include "trace_stream.h"

/* NULL: out of memory. */
struct trace_stream *chrome_stream_create(FILE *out);

#endif

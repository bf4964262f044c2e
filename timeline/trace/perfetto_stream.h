/* Writes a trace as Perfetto's packets, with the numbers of fields that Perfetto publishes (protos/perfetto/trace:
 * trace.proto, trace_packet.proto, trace_packet_defaults.proto, clock_snapshot.proto, interned_data.proto,
 * profile_common.proto, track_event.proto, track_descriptor.proto, counter_descriptor.proto). Names and stacks are
 * interned, and times are differences. */
#ifndef PERFETTO_STREAM_H
#define PERFETTO_STREAM_H

#include "trace_stream.h"

/* NULL: out of memory. */
struct trace_stream *perfetto_stream_create(FILE *out);

#endif

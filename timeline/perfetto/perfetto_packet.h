/* Writes the packets of a Perfetto trace, with the numbers of fields that Perfetto publishes (protos/perfetto/trace:
 * trace.proto, trace_packet.proto, trace_packet_defaults.proto, clock_snapshot.proto, interned_data.proto,
 * profile_common.proto, track_event.proto, track_descriptor.proto, counter_descriptor.proto). Each process has a
 * sequence of packets, in which names and stacks are interned, and times are differences. Used by one thread. */
#ifndef PERFETTO_PACKET_H
#define PERFETTO_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/writers/protobuf_text.h"

enum perfetto_type {
	PERFETTO_BEGIN = 1,
	PERFETTO_END = 2,
	PERFETTO_INSTANT = 3,
	PERFETTO_COUNTER = 4,
};

struct perfetto_event {
	uint64_t time_ns; /* not before that of the sequence's last event */
	enum perfetto_type type;
	uint32_t track, name, stack; /* name, stack: 0: none */
	uint32_t flows[2];           /* 0: none */
	double value;                /* of a counter */
};

struct perfetto_stream { /* zeroed but for out */
	FILE *out;
	struct protobuf_text packet, part, inner, interned;
	uint32_t sequence;
	uint64_t last_ns;
	bool failed; /* no memory */
};

void perfetto_stream_fini(struct perfetto_stream *stream);

/* Begins a sequence: interned data of the one before are forgotten. sequence: from 1. */
void perfetto_stream_begin(struct perfetto_stream *stream, uint32_t sequence, uint64_t time_ns);

/* Defines a track; tracks and their parents are numbers from 1 of the whole trace. parent 0: none. */
void perfetto_stream_track(struct perfetto_stream *stream, uint32_t track, uint32_t parent,
			   const char *name);

/* Defines the track of a counter. */
void perfetto_stream_counter(struct perfetto_stream *stream, uint32_t track, uint32_t parent,
			     const char *name, const char *unit);

/* Define a name of events, a frame, and a stack of such frames, outermost first; each id, from 1, once in a sequence,
 * before the next event. */
void perfetto_stream_name(struct perfetto_stream *stream, uint32_t id, const char *name);
void perfetto_stream_frame(struct perfetto_stream *stream, uint32_t id, const char *function);
void perfetto_stream_stack(struct perfetto_stream *stream, uint32_t id, const uint64_t *frames,
			   uint32_t nr_frames);

void perfetto_stream_event(struct perfetto_stream *stream, const struct perfetto_event *event);

#endif

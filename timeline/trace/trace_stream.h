/* What a trace is written with, in one format or the other: tracks, names, stacks and events, in the order in which a
 * viewer may read them. Each process has a sequence, in which names and stacks are defined once. One thread. */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum trace_type {
	TRACE_BEGIN = 1,
	TRACE_END = 2,
	TRACE_INSTANT = 3,
	TRACE_COUNTER = 4,
};

struct trace_event {
	uint64_t time_ns; /* not before that of the sequence's last event */
	enum trace_type type;
	uint32_t track, name, stack; /* name, stack: 0: none */
	uint32_t flows[2];           /* 0: none; the first is from a launch to its work */
	double value;                /* of a counter */
};

enum trace_level { /* of a track */
		   TRACE_HOST,
		   TRACE_PROCESS, /* below a host */
		   TRACE_GPU,     /* below a process */
		   TRACE_LANE,    /* below a process or a GPU; it has the events */
};

struct trace_track {
	uint32_t track, parent; /* numbers from 1 of the whole trace, in order; parent 0: none */
	enum trace_level level;
	const char *name; /* borrowed for the call, as all texts */
	const char *unit; /* of a counter; NULL: it is none */
};

struct trace_stream {
	const struct trace_format *format;
	FILE *out; /* borrowed */
	uint32_t sequence;
	bool failed; /* no memory */
};

struct trace_format {
	/* Begins a sequence: names and stacks of the one before are forgotten. stream->sequence is its number, from
	 * 1. */
	void (*begin)(struct trace_stream *stream, uint64_t time_ns);
	void (*track)(struct trace_stream *stream, const struct trace_track *track);
	/* Define a name of events, a frame, and a stack of such frames, outermost first; each id, from 1, once in a
	 * sequence, before the next event. One id is one text in the whole trace. */
	void (*name)(struct trace_stream *stream, uint32_t id, const char *name);
	void (*frame)(struct trace_stream *stream, uint32_t id, const char *function);
	void (*stack)(struct trace_stream *stream, uint32_t id, const uint64_t *frames,
		      uint32_t nr_frames);
	void (*event)(struct trace_stream *stream, const struct trace_event *event);
	void (*end)(struct trace_stream *stream); /* of the trace */
	void (*destroy)(struct trace_stream *stream);
};

#endif

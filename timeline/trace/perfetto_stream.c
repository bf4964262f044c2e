#include "perfetto_stream.h"

#include <stdlib.h>
#include <string.h>

#include "report/writers/protobuf_text.h"

/* Numbers of fields. */
enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum sequence_flag { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum defaults_field { DEFAULTS_CLOCK = 58 };
enum snapshot_field { SNAPSHOT_CLOCK = 1 };
enum clock_field { CLOCK_NUMBER = 1, CLOCK_TIMESTAMP = 2, CLOCK_INCREMENTAL = 3 };
enum interned_field {
	INTERNED_EVENT_NAMES = 2,
	INTERNED_FUNCTION_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
};
enum text_field { TEXT_IID = 1, TEXT_BYTES = 2 }; /* of EventName and InternedString */
enum frame_field { FRAME_IID = 1, FRAME_FUNCTION = 2 };
enum callstack_field { CALLSTACK_IID = 1, CALLSTACK_FRAME = 2 };
enum event_field_number {
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER = 44, /* a double */
	EVENT_FLOW = 47,
	EVENT_CALLSTACK = 56,
};
enum descriptor_field {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
};
enum counter_field { COUNTER_UNIT_NAME = 6 };

#define CLOCK_BOOTTIME_NUMBER 6u  /* the trace's own clock */
#define CLOCK_OWN             64u /* the first of those that a sequence may define */

struct perfetto_stream {
	struct trace_stream base;
	struct protobuf_text packet, part, inner, interned;
	uint64_t last_ns;
};

static struct perfetto_stream *own(struct trace_stream *stream)
{
	return (struct perfetto_stream *)stream;
}

/* Appends a message within another one, and clears it. */
static void end_message(struct perfetto_stream *stream, struct protobuf_text *to, uint32_t field,
			struct protobuf_text *message)
{
	protobuf_text_bytes(to, field, message->bytes, message->size);
	stream->base.failed |= message->failed;
	protobuf_text_clear(message);
}

static void end_packet(struct perfetto_stream *stream)
{
	stream->base.failed |=
		protobuf_text_write(&stream->packet, TRACE_PACKET, stream->base.out) != 0;
}

static void put_clock(struct perfetto_stream *stream, uint32_t clock, uint64_t time_ns,
		      bool is_incremental)
{
	protobuf_text_number(&stream->inner, CLOCK_NUMBER, clock);
	protobuf_text_whole(&stream->inner, CLOCK_TIMESTAMP, time_ns);
	protobuf_text_number(&stream->inner, CLOCK_INCREMENTAL, is_incremental);
	end_message(stream, &stream->part, SNAPSHOT_CLOCK, &stream->inner);
}

static void begin(struct trace_stream *base, uint64_t time_ns)
{
	struct perfetto_stream *stream = own(base);

	stream->last_ns = time_ns;
	put_clock(stream, CLOCK_BOOTTIME_NUMBER, time_ns, false);
	put_clock(stream, CLOCK_OWN, time_ns, true);
	end_message(stream, &stream->packet, PACKET_CLOCK_SNAPSHOT, &stream->part);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, base->sequence);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	protobuf_text_number(&stream->part, DEFAULTS_CLOCK, CLOCK_OWN);
	end_message(stream, &stream->packet, PACKET_DEFAULTS, &stream->part);
	end_packet(stream);
}

static void put_track(struct trace_stream *base, const struct trace_track *track)
{
	struct perfetto_stream *stream = own(base);

	protobuf_text_number(&stream->part, DESCRIPTOR_UUID, track->track);
	protobuf_text_bytes(&stream->part, DESCRIPTOR_NAME, track->name,
			    (uint32_t)strlen(track->name));
	protobuf_text_number(&stream->part, DESCRIPTOR_PARENT, track->parent);
	if (track->unit) {
		protobuf_text_bytes(&stream->inner, COUNTER_UNIT_NAME, track->unit,
				    (uint32_t)strlen(track->unit));
		end_message(stream, &stream->part, DESCRIPTOR_COUNTER, &stream->inner);
	}
	end_message(stream, &stream->packet, PACKET_TRACK_DESCRIPTOR, &stream->part);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, base->sequence);
	end_packet(stream);
}

static void put_text(struct perfetto_stream *stream, uint32_t field, uint32_t id, const char *text)
{
	protobuf_text_number(&stream->part, TEXT_IID, id);
	protobuf_text_bytes(&stream->part, TEXT_BYTES, text, (uint32_t)strlen(text));
	end_message(stream, &stream->interned, field, &stream->part);
}

static void put_name(struct trace_stream *base, uint32_t id, const char *name)
{
	put_text(own(base), INTERNED_EVENT_NAMES, id, name);
}

static void put_frame(struct trace_stream *base, uint32_t id, const char *function)
{
	struct perfetto_stream *stream = own(base);

	put_text(stream, INTERNED_FUNCTION_NAMES, id, function);
	protobuf_text_number(&stream->part, FRAME_IID, id);
	protobuf_text_number(&stream->part, FRAME_FUNCTION, id);
	end_message(stream, &stream->interned, INTERNED_FRAMES, &stream->part);
}

static void put_stack(struct trace_stream *base, uint32_t id, const uint64_t *frames,
		      uint32_t nr_frames)
{
	struct perfetto_stream *stream = own(base);

	protobuf_text_number(&stream->part, CALLSTACK_IID, id);
	for (uint32_t i = 0; i < nr_frames; i++)
		protobuf_text_number(&stream->part, CALLSTACK_FRAME, frames[i]);
	end_message(stream, &stream->interned, INTERNED_CALLSTACKS, &stream->part);
}

static void put_event(struct trace_stream *base, const struct trace_event *event)
{
	struct perfetto_stream *stream = own(base);
	struct protobuf_text *part = &stream->part;
	uint64_t value;

	protobuf_text_whole(&stream->packet, PACKET_TIMESTAMP, event->time_ns - stream->last_ns);
	stream->last_ns = event->time_ns;
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, stream->base.sequence);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	if (stream->interned.size)
		end_message(stream, &stream->packet, PACKET_INTERNED_DATA, &stream->interned);
	protobuf_text_number(part, EVENT_TYPE, event->type);
	protobuf_text_number(part, EVENT_NAME, event->name);
	protobuf_text_number(part, EVENT_TRACK, event->track);
	for (uint32_t i = 0; i < 2; i++)
		if (event->flows[i])
			protobuf_text_fixed(part, EVENT_FLOW, event->flows[i]);
	if (event->type == TRACE_COUNTER) {
		memcpy(&value, &event->value, sizeof(value));
		protobuf_text_fixed(part, EVENT_COUNTER, value);
	}
	protobuf_text_number(part, EVENT_CALLSTACK, event->stack);
	end_message(stream, &stream->packet, PACKET_TRACK_EVENT, part);
	end_packet(stream);
}

static void end(struct trace_stream *base)
{
	(void)base; /* the last packet is the end */
}

static void destroy(struct trace_stream *base)
{
	struct perfetto_stream *stream = own(base);

	protobuf_text_fini(&stream->packet);
	protobuf_text_fini(&stream->part);
	protobuf_text_fini(&stream->inner);
	protobuf_text_fini(&stream->interned);
	free(stream);
}

static const struct trace_format format = {begin,     put_track, put_name, put_frame,
					   put_stack, put_event, end,      destroy};

struct trace_stream *perfetto_stream_create(FILE *out)
{
	struct perfetto_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->base = (struct trace_stream){.format = &format, .out = out};
	return &stream->base;
}

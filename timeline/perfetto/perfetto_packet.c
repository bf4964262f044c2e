#include "perfetto_packet.h"

#include <string.h>

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

void perfetto_stream_fini(struct perfetto_stream *stream)
{
	protobuf_text_fini(&stream->packet);
	protobuf_text_fini(&stream->part);
	protobuf_text_fini(&stream->inner);
	protobuf_text_fini(&stream->interned);
}

/* Appends a message within another one, and clears it. */
static void end_message(struct perfetto_stream *stream, struct protobuf_text *to, uint32_t field,
			struct protobuf_text *message)
{
	protobuf_text_bytes(to, field, message->bytes, message->size);
	stream->failed |= message->failed;
	protobuf_text_clear(message);
}

static void end_packet(struct perfetto_stream *stream)
{
	stream->failed |= protobuf_text_write(&stream->packet, TRACE_PACKET, stream->out) != 0;
}

static void put_clock(struct perfetto_stream *stream, uint32_t clock, uint64_t time_ns,
		      bool is_incremental)
{
	protobuf_text_number(&stream->inner, CLOCK_NUMBER, clock);
	protobuf_text_whole(&stream->inner, CLOCK_TIMESTAMP, time_ns);
	protobuf_text_number(&stream->inner, CLOCK_INCREMENTAL, is_incremental);
	end_message(stream, &stream->part, SNAPSHOT_CLOCK, &stream->inner);
}

void perfetto_stream_begin(struct perfetto_stream *stream, uint32_t sequence, uint64_t time_ns)
{
	stream->sequence = sequence;
	stream->last_ns = time_ns;
	put_clock(stream, CLOCK_BOOTTIME_NUMBER, time_ns, false);
	put_clock(stream, CLOCK_OWN, time_ns, true);
	end_message(stream, &stream->packet, PACKET_CLOCK_SNAPSHOT, &stream->part);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, sequence);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	protobuf_text_number(&stream->part, DEFAULTS_CLOCK, CLOCK_OWN);
	end_message(stream, &stream->packet, PACKET_DEFAULTS, &stream->part);
	end_packet(stream);
}

static void put_track(struct perfetto_stream *stream, uint32_t track, uint32_t parent,
		      const char *name)
{
	protobuf_text_number(&stream->part, DESCRIPTOR_UUID, track);
	protobuf_text_bytes(&stream->part, DESCRIPTOR_NAME, name, (uint32_t)strlen(name));
	protobuf_text_number(&stream->part, DESCRIPTOR_PARENT, parent);
}

static void end_track(struct perfetto_stream *stream)
{
	end_message(stream, &stream->packet, PACKET_TRACK_DESCRIPTOR, &stream->part);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, stream->sequence);
	end_packet(stream);
}

void perfetto_stream_track(struct perfetto_stream *stream, uint32_t track, uint32_t parent,
			   const char *name)
{
	put_track(stream, track, parent, name);
	end_track(stream);
}

void perfetto_stream_counter(struct perfetto_stream *stream, uint32_t track, uint32_t parent,
			     const char *name, const char *unit)
{
	put_track(stream, track, parent, name);
	protobuf_text_bytes(&stream->inner, COUNTER_UNIT_NAME, unit, (uint32_t)strlen(unit));
	end_message(stream, &stream->part, DESCRIPTOR_COUNTER, &stream->inner);
	end_track(stream);
}

static void put_text(struct perfetto_stream *stream, uint32_t field, uint32_t id, const char *text)
{
	protobuf_text_number(&stream->part, TEXT_IID, id);
	protobuf_text_bytes(&stream->part, TEXT_BYTES, text, (uint32_t)strlen(text));
	end_message(stream, &stream->interned, field, &stream->part);
}

void perfetto_stream_name(struct perfetto_stream *stream, uint32_t id, const char *name)
{
	put_text(stream, INTERNED_EVENT_NAMES, id, name);
}

void perfetto_stream_frame(struct perfetto_stream *stream, uint32_t id, const char *function)
{
	put_text(stream, INTERNED_FUNCTION_NAMES, id, function);
	protobuf_text_number(&stream->part, FRAME_IID, id);
	protobuf_text_number(&stream->part, FRAME_FUNCTION, id);
	end_message(stream, &stream->interned, INTERNED_FRAMES, &stream->part);
}

void perfetto_stream_stack(struct perfetto_stream *stream, uint32_t id, const uint64_t *frames,
			   uint32_t nr_frames)
{
	protobuf_text_number(&stream->part, CALLSTACK_IID, id);
	for (uint32_t i = 0; i < nr_frames; i++)
		protobuf_text_number(&stream->part, CALLSTACK_FRAME, frames[i]);
	end_message(stream, &stream->interned, INTERNED_CALLSTACKS, &stream->part);
}

void perfetto_stream_event(struct perfetto_stream *stream, const struct perfetto_event *event)
{
	struct protobuf_text *part = &stream->part;
	uint64_t value;

	protobuf_text_whole(&stream->packet, PACKET_TIMESTAMP, event->time_ns - stream->last_ns);
	stream->last_ns = event->time_ns;
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE, stream->sequence);
	protobuf_text_number(&stream->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	if (stream->interned.size)
		end_message(stream, &stream->packet, PACKET_INTERNED_DATA, &stream->interned);
	protobuf_text_number(part, EVENT_TYPE, event->type);
	protobuf_text_number(part, EVENT_NAME, event->name);
	protobuf_text_number(part, EVENT_TRACK, event->track);
	for (uint32_t i = 0; i < 2; i++)
		if (event->flows[i])
			protobuf_text_fixed(part, EVENT_FLOW, event->flows[i]);
	if (event->type == PERFETTO_COUNTER) {
		memcpy(&value, &event->value, sizeof(value));
		protobuf_text_fixed(part, EVENT_COUNTER, value);
	}
	protobuf_text_number(part, EVENT_CALLSTACK, event->stack);
	end_message(stream, &stream->packet, PACKET_TRACK_EVENT, part);
	end_packet(stream);
}

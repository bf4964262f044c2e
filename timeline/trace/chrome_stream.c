#include "chrome_stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/writers/json_text.h"

struct place {      /* of a track */
	char *name; /* owns: with those above it, down to the process */
	uint32_t process;
	enum trace_level level;
	bool is_of_gpu;
};

struct chrome_stream {
	struct trace_stream base;
	struct place *places; /* owns, as all below; by track */
	char **texts;         /* by id */
	uint32_t *depths;     /* by stack's id; 0: not defined yet */
	uint32_t room_places, room_texts, room_depths;
	char *frames; /* the members of "stackFrames" */
	size_t frames_size;
	FILE *frames_out;
	bool has_events;
};

static struct chrome_stream *own(struct trace_stream *stream)
{
	return (struct chrome_stream *)stream;
}

static const char *text_of(const struct chrome_stream *stream, uint64_t id)
{
	return id < stream->room_texts && stream->texts[id] ? stream->texts[id] : "?";
}

/* ---- definitions */

static void define(struct trace_stream *base, uint32_t id, const char *text)
{
	struct chrome_stream *stream = own(base);

	base->failed |= array_reserve_zeroed(&stream->texts, &stream->room_texts, id + 1ull,
					     sizeof(*stream->texts)) != 0;
	if (base->failed || stream->texts[id])
		return;
	stream->texts[id] = strdup(text);
	base->failed |= !stream->texts[id];
}

/* A frame's id is "STACK.DEPTH". */
static void define_stack(struct trace_stream *base, uint32_t id, const uint64_t *frames,
			 uint32_t nr_frames)
{
	struct chrome_stream *stream = own(base);
	FILE *out = stream->frames_out;

	base->failed |= array_reserve_zeroed(&stream->depths, &stream->room_depths, id + 1ull,
					     sizeof(*stream->depths)) != 0;
	if (base->failed || stream->depths[id])
		return;
	stream->depths[id] = nr_frames;
	for (uint32_t i = 0; i < nr_frames; i++) {
		fprintf(out, "%s\n\"%" PRIu32 ".%" PRIu32 "\":{", ftell(out) ? "," : "", id, i);
		if (i > 0)
			fprintf(out, "\"parent\":\"%" PRIu32 ".%" PRIu32 "\",", id, i - 1);
		fputs("\"name\":", out);
		json_text_write(out, text_of(stream, frames[i]));
		fputc('}', out);
	}
	base->failed |= ferror(out) != 0;
}

/* ---- lines */

static void begin_line(struct chrome_stream *stream, char phase, const struct place *place,
		       uint32_t track)
{
	fprintf(stream->base.out, "%s\n{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
		stream->has_events ? "," : "", phase, place->process, track);
	stream->has_events = true;
}

static void put_time(FILE *out, uint64_t time_ns)
{
	fprintf(out, ",\"ts\":%" PRIu64 ".%03u", time_ns / 1000, (unsigned)(time_ns % 1000));
}

static void put_name(FILE *out, const char *name)
{
	fputs(",\"name\":", out);
	json_text_write(out, name);
}

static void name_track(struct chrome_stream *stream, const struct place *place, uint32_t track)
{
	FILE *out = stream->base.out;

	begin_line(stream, 'M', place, track);
	put_name(out, place->level == TRACE_PROCESS ? "process_name" : "thread_name");
	fputs(",\"args\":{\"name\":", out);
	json_text_write(out, place->name);
	fputs("}}", out);
	if (place->level != TRACE_LANE)
		return;
	begin_line(stream, 'M', place, track);
	put_name(out, "thread_sort_index");
	fprintf(out, ",\"args\":{\"sort_index\":%" PRIu32 "}}", track);
}

static void put_track(struct trace_stream *base, const struct trace_track *track)
{
	struct chrome_stream *stream = own(base);
	struct place *place, *parent;

	base->failed |= array_reserve_zeroed(&stream->places, &stream->room_places,
					     track->track + 1ull, sizeof(*stream->places)) != 0;
	if (base->failed)
		return;
	place = &stream->places[track->track];
	parent = &stream->places[track->parent];
	place->level = track->level;
	place->process = track->level == TRACE_PROCESS ? track->track : parent->process;
	place->is_of_gpu = parent->level == TRACE_GPU;
	const bool has_prefix = track->level == TRACE_PROCESS || place->is_of_gpu;
	if (asprintf(&place->name, "%s%s%s", has_prefix ? parent->name : "", has_prefix ? ": " : "",
		     track->name) < 0) {
		place->name = NULL;
		base->failed = true;
	} else if (track->level == TRACE_PROCESS || (track->level == TRACE_LANE && !track->unit)) {
		name_track(stream, place, track->track);
	}
}

static void put_slice(struct chrome_stream *stream, const struct trace_event *event,
		      const struct place *place)
{
	static const char phases[] = {
		[TRACE_BEGIN] = 'B', [TRACE_END] = 'E', [TRACE_INSTANT] = 'i'};
	FILE *out = stream->base.out;

	begin_line(stream, phases[event->type], place, event->track);
	put_time(out, event->time_ns);
	if (event->type != TRACE_END) {
		put_name(out, text_of(stream, event->name));
		fprintf(out, ",\"cat\":\"%s\"", place->is_of_gpu ? "gpu" : "cpu");
	}
	if (event->type == TRACE_INSTANT)
		fputs(",\"s\":\"t\"", out);
	if (event->stack && event->stack < stream->room_depths && stream->depths[event->stack])
		fprintf(out, ",\"sf\":\"%" PRIu32 ".%" PRIu32 "\"", event->stack,
			stream->depths[event->stack] - 1);
	fputc('}', out);
}

/* From the launch, an instant, to its work, of which there may be several pieces. */
static void put_flow(struct chrome_stream *stream, const struct trace_event *event,
		     const struct place *place)
{
	const bool is_launch = event->type == TRACE_INSTANT;

	if (!event->flows[0] || (!is_launch && !place->is_of_gpu))
		return;
	begin_line(stream, is_launch ? 's' : 't', place, event->track);
	put_time(stream->base.out, event->time_ns);
	fprintf(stream->base.out, ",\"id\":%" PRIu32 ",\"name\":\"launch\",\"cat\":\"launch\"}",
		event->flows[0]);
}

static void put_counter(struct chrome_stream *stream, const struct trace_event *event,
			const struct place *place)
{
	FILE *out = stream->base.out;

	begin_line(stream, 'C', place, event->track);
	put_time(out, event->time_ns);
	put_name(out, place->name);
	fprintf(out, ",\"args\":{\"%%\":%.9g}}", event->value);
}

static void put_event(struct trace_stream *base, const struct trace_event *event)
{
	struct chrome_stream *stream = own(base);
	const struct place *place = &stream->places[event->track];

	if (event->type == TRACE_COUNTER) {
		put_counter(stream, event, place);
	} else {
		put_slice(stream, event, place);
		put_flow(stream, event, place);
	}
}

/* ---- life */

static void begin(struct trace_stream *base, uint64_t time_ns)
{
	(void)time_ns;
	if (base->sequence == 1)
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", base->out);
}

static void end(struct trace_stream *base)
{
	struct chrome_stream *stream = own(base);

	base->failed |= fflush(stream->frames_out) != 0;
	fputs("\n],\"stackFrames\":{", base->out);
	fwrite(stream->frames, 1, stream->frames_size, base->out);
	fputs("\n}}\n", base->out);
}

static void destroy(struct trace_stream *base)
{
	struct chrome_stream *stream = own(base);

	for (uint32_t i = 0; i < stream->room_places; i++)
		free(stream->places[i].name);
	for (uint32_t i = 0; i < stream->room_texts; i++)
		free(stream->texts[i]);
	free(stream->places);
	free(stream->texts);
	free(stream->depths);
	if (stream->frames_out)
		fclose(stream->frames_out);
	free(stream->frames);
	free(stream);
}

static const struct trace_format format = {begin,        put_track, define, define,
					   define_stack, put_event, end,    destroy};

struct trace_stream *chrome_stream_create(FILE *out)
{
	struct chrome_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->base = (struct trace_stream){.format = &format, .out = out};
	stream->frames_out = open_memstream(&stream->frames, &stream->frames_size);
	if (!stream->frames_out) {
		destroy(&stream->base);
		return NULL;
	}
	return &stream->base;
}

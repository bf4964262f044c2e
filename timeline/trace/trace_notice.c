#include "trace_notice.h"

/* false: there is no event. */
static bool find_time(const struct timeline_events *events, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = UINT64_MAX;
	*last_ns = 0;
	for (uint32_t i = 0; i < events->nr_launches; i++) {
		const uint64_t time_ns = events->launches[i].time_ns;

		*first_ns = time_ns < *first_ns ? time_ns : *first_ns;
		*last_ns = time_ns > *last_ns ? time_ns : *last_ns;
	}
	for (uint32_t i = 0; i < events->nr_work; i++) {
		const struct timeline_work *work = &events->work[i];

		*first_ns = work->start_ns < *first_ns ? work->start_ns : *first_ns;
		*last_ns = work->end_ns > *last_ns ? work->end_ns : *last_ns;
	}
	return *first_ns <= *last_ns;
}

uint32_t trace_notice_write(struct trace_stream *stream, uint32_t last_track,
			    const struct timeline_events *events, uint32_t name,
			    const char *sentence)
{
	const struct trace_track tracks[] = {
		{last_track + 1, 0, TRACE_HOST, "profile", NULL},
		{last_track + 2, last_track + 1, TRACE_PROCESS, "what is missing", NULL},
		{last_track + 3, last_track + 2, TRACE_LANE, "the run", NULL},
	};
	uint64_t first_ns, last_ns;

	if (!find_time(events, &first_ns, &last_ns))
		return last_track;
	stream->sequence++;
	stream->format->begin(stream, first_ns);
	for (uint32_t i = 0; i < sizeof(tracks) / sizeof(*tracks); i++)
		stream->format->track(stream, &tracks[i]);
	stream->format->name(stream, name, sentence);
	stream->format->event(stream, &(struct trace_event){.time_ns = first_ns,
							    .type = TRACE_BEGIN,
							    .track = last_track + 3,
							    .name = name});
	stream->format->event(stream, &(struct trace_event){.time_ns = last_ns,
							    .type = TRACE_END,
							    .track = last_track + 3});
	return last_track + 3;
}

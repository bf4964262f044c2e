#include "trace_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chrome_stream.h"
#include "idle_words.h"
#include "perfetto_stream.h"
#include "timeline_lanes.h"
#include "trace_notice.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/message.h"
#include "report/model/report_names.h"
#include "report/model/report_paths.h"
#include "report/writers/leaf_sums.h"
#include "report/writers/text_file.h"

#define LABEL_SIZE 512u

/* Which of a sequence's ids are interned: marks[id] is the sequence. */
struct marks {
	uint32_t *marks; /* owns */
	uint32_t room;
};

struct gpu { /* of a rank: its track */
	uint32_t rank, ordinal, track;
};

struct writer {
	const struct profile *profile;
	const struct report_clocks *clocks;
	const struct timeline_events *events;
	const struct timeline_calls *calls;
	const struct timeline_samples *samples;
	const struct timeline_gauges *gauges;
	const struct capture_pauses *pauses;
	struct report_names *names; /* owns, as all below */
	struct report_paths *paths;
	struct trace_stream *stream;
	struct marks texts, frames, stacks;
	uint32_t *kernels; /* by string: its text + 1; 0: not made yet */
	struct gpu *gpus;
	uint32_t nr_gpus, room_gpus;
	uint32_t *hosts;               /* [id - 1]: its track; 0: not defined yet */
	uint32_t *lanes;               /* of the process: their tracks */
	struct timeline_ranges ranges; /* of the process */
	struct timeline_busy busy;     /* of the process */
	struct trace_counts counts;
	uint32_t nr_tracks;
	uint64_t chain[REPORT_DEPTH_MAX];
};

/* ---- names */

/* Returns 1 if the id was not interned in this sequence, and now is; 0: it was; -ENOMEM. */
static int mark(struct writer *writer, struct marks *marks, uint32_t id)
{
	int error =
		array_reserve_zeroed(&marks->marks, &marks->room, id + 1ull, sizeof(*marks->marks));

	if (error)
		return error;
	if (marks->marks[id] == writer->stream->sequence)
		return 0;
	marks->marks[id] = writer->stream->sequence;
	return 1;
}

/* Gives a text the id of an event's name. */
static int intern_name(struct writer *writer, uint32_t text, uint32_t *id)
{
	int is_new = mark(writer, &writer->texts, text);

	*id = text + 1;
	if (is_new > 0)
		writer->stream->format->name(writer->stream, *id,
					     report_names_get(writer->names, text));
	return is_new < 0 ? is_new : 0;
}

/* "gemm" of "[GPU0_Kernel]gemm", "Memcpy HtoD" of "[GPU0_Memcpy]HtoD", "Memset" of "[GPU0_Memset]". */
static int name_work(struct writer *writer, const struct fold_key *key, uint32_t *text)
{
	char label[LABEL_SIZE], first;
	uint32_t leaf;
	int error = report_names_leaf(writer->names, key, 0, &leaf);

	if (error)
		return error;
	const char *name = leaf_sums_name(report_names_get(writer->names, leaf), &first);
	const char *end = strchr(name, ']');
	if (!first || !end) {
		*text = leaf;
		return 0;
	}
	const bool is_named_kernel = key->kind == RECORD_GPU_KERNEL && end[1];
	if (is_named_kernel)
		return report_names_text(writer->names, end + 1, text);
	snprintf(label, sizeof(label), "%.*s%s%s", (int)(end - name), name, end[1] ? " " : "",
		 end + 1);
	return report_names_text(writer->names, label, text);
}

static int find_work_name(struct writer *writer, const struct timeline_work *work, uint32_t *id)
{
	const struct catalog_size size = catalog_size(writer->profile->collection->catalog);
	const bool is_known = work->name_id <= size.strings;
	const struct fold_key key = {.process_id = work->process_id,
				     .device_id = work->device_id,
				     .name_id = is_known ? work->name_id : 0,
				     .kind = work->kind,
				     .copy_kind = work->copy_kind};
	uint32_t *made = work->kind == RECORD_GPU_KERNEL ? &writer->kernels[key.name_id] : NULL,
		 text;

	if (made && *made)
		return intern_name(writer, *made - 1, id);
	int error = name_work(writer, &key, &text);
	if (!error && made)
		*made = text + 1;
	return error ? error : intern_name(writer, text, id);
}

/* ---- stacks */

static int intern_stack(struct writer *writer, uint32_t node)
{
	uint32_t nr = 0, at = REPORT_DEPTH_MAX;

	for (; node != REPORT_NODE_ROOT && at > 0;
	     node = report_paths_node(writer->paths, node)->parent) {
		const uint32_t text = report_paths_node(writer->paths, node)->name;
		int is_new = mark(writer, &writer->frames, text);

		if (is_new < 0)
			return is_new;
		if (is_new)
			writer->stream->format->frame(writer->stream, text + 1,
						      report_names_get(writer->names, text));
		writer->chain[--at] = text + 1;
		nr++;
	}
	return (int)nr;
}

static int fill_stack(struct writer *writer, uint32_t node, struct trace_event *event)
{
	event->stack = node;
	int is_new = mark(writer, &writer->stacks, node);
	int nr = is_new > 0 ? intern_stack(writer, node) : is_new;
	if (nr < 0)
		return nr;
	if (is_new)
		writer->stream->format->stack(writer->stream, node,
					      writer->chain + REPORT_DEPTH_MAX - nr, (uint32_t)nr);
	return 0;
}

/* The innermost function of a launch's stack is the one of CUDA that was called. */
static int fill_launch(struct writer *writer, const struct timeline_launch *launch,
		       struct trace_event *event)
{
	const struct catalog_size size = catalog_size(writer->profile->collection->catalog);
	const struct fold_key key = {.process_id = launch->process_id,
				     .tid = launch->tid,
				     .stack_id = launch->stack_id,
				     .kind = RECORD_GPU_KERNEL,
				     .matched = 1};
	uint32_t node = REPORT_NODE_ROOT, text;

	event->flows[0] = launch->flow;
	if (launch->stack_id && launch->stack_id <= size.nodes) {
		int error = report_paths_find(writer->paths, &key, &node);

		if (error)
			return error;
	}
	if (node == REPORT_NODE_ROOT) {
		int error = report_names_text(writer->names, "launch", &text);

		return error ? error : intern_name(writer, text, &event->name);
	}
	int error = fill_stack(writer, node, event);
	return error ? error
		     : intern_name(writer, report_paths_node(writer->paths, node)->name,
				   &event->name);
}

/* "all_reduce of 4194304 bytes" */
static int fill_call(struct writer *writer, const struct timeline_call *call,
		     struct trace_event *event)
{
	char label[128];
	uint32_t text;

	event->flows[0] = call->flow;
	if (call->bytes)
		snprintf(label, sizeof(label), "%s of %" PRIu64 " bytes",
			 collective_function_name(call->function), call->bytes);
	else
		snprintf(label, sizeof(label), "%s", collective_function_name(call->function));
	int error = report_names_text(writer->names, label, &text);
	return error ? error : intern_name(writer, text, &event->name);
}

/* ---- tracks */

static uint32_t add_track(struct writer *writer, enum trace_level level, uint32_t parent,
			  const char *name, const char *unit)
{
	writer->stream->format->track(
		writer->stream,
		&(struct trace_track){++writer->nr_tracks, parent, level, name, unit});
	return writer->nr_tracks;
}

/* Says the worst bound of the host's clock, if it was compared with another one. */
static void name_host(const struct writer *writer, uint32_t id, char label[static LABEL_SIZE])
{
	for (uint32_t i = 0; i < writer->clocks->nr_rows; i++) {
		const struct report_clocks_row *row = &writer->clocks->rows[i];

		if (row->id != id)
			continue;
		if (row->measured)
			snprintf(label, LABEL_SIZE, "host %s (clock +/- %" PRIu64 " ns)", row->host,
				 row->bound_ns);
		else
			snprintf(label, LABEL_SIZE, "host %s", row->host);
		return;
	}
	snprintf(label, LABEL_SIZE, "host");
}

static uint32_t find_host(struct writer *writer, uint32_t id)
{
	char label[LABEL_SIZE] = "";

	if (!writer->hosts[id - 1]) {
		name_host(writer, id, label);
		writer->hosts[id - 1] = add_track(writer, TRACE_HOST, 0, label, NULL);
	}
	return writer->hosts[id - 1];
}

static uint32_t add_rank(struct writer *writer, uint32_t process_id)
{
	const struct roster_process *process =
		roster_process(writer->profile->collection->roster, process_id);
	char label[LABEL_SIZE], rank[32] = "";

	if (process->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId32 ", ", process->rank);
	snprintf(label, sizeof(label), "%sprocess %" PRIu32, rank, process->identity.pid);
	return add_track(writer, TRACE_PROCESS, find_host(writer, process->identity.host), label,
			 NULL);
}

static uint32_t add_gpu(struct writer *writer, uint32_t process_id, uint32_t ordinal,
			uint32_t rank_track)
{
	const struct roster *roster = writer->profile->collection->roster;
	const uint32_t id = roster_process_device(roster_process(roster, process_id), ordinal);
	const struct roster_device *device = roster_device(roster, id);
	char label[LABEL_SIZE];

	if (device && device->index >= 0)
		snprintf(label, sizeof(label), "GPU %" PRId32, device->index);
	else
		snprintf(label, sizeof(label), "GPU ? (device %" PRIu32 " of the process)",
			 ordinal);
	return add_track(writer, TRACE_GPU, rank_track, label, NULL);
}

static uint32_t add_lane(struct writer *writer, const struct timeline_lane *lane, uint32_t parent)
{
	char label[LABEL_SIZE], more[32] = "";

	if (lane->kind == TIMELINE_LOAD)
		return add_track(writer, TRACE_LANE, parent, "busy", "%");
	if (lane->kind == TIMELINE_GAUGE)
		return add_track(writer, TRACE_LANE, parent,
				 timeline_gauge_name((enum timeline_gauge_kind)lane->ids[1]),
				 timeline_gauge_unit((enum timeline_gauge_kind)lane->ids[1]));
	if (lane->number)
		snprintf(more, sizeof(more), " (%" PRIu32 ")", lane->number + 1);
	if (lane->kind == TIMELINE_STREAM)
		snprintf(label, sizeof(label), "stream %" PRIu32 " of context %" PRIu32 "%s",
			 lane->ids[2], lane->ids[1], more);
	else if (lane->kind == TIMELINE_IDLE)
		snprintf(label, sizeof(label), "idle");
	else if (lane->kind == TIMELINE_RANGES)
		snprintf(label, sizeof(label), "ranges of thread %" PRIu32, lane->ids[0]);
	else if (lane->kind == TIMELINE_CALLS)
		snprintf(label, sizeof(label), "collectives of thread %" PRIu32 "%s", lane->ids[0],
			 more);
	else if (lane->kind == TIMELINE_THREAD)
		snprintf(label, sizeof(label), "thread %" PRIu32 "%s", lane->ids[0], more);
	else
		snprintf(label, sizeof(label), "waits%s", more);
	return add_track(writer, TRACE_LANE, parent, label, NULL);
}

/* Finds the track of a process's GPU; tracks of another rank do not count. 0: no memory. */
static uint32_t find_gpu(struct writer *writer, uint32_t process_id, uint32_t ordinal,
			 uint32_t rank)
{
	for (uint32_t i = writer->nr_gpus; i > 0 && writer->gpus[i - 1].rank == rank; i--)
		if (writer->gpus[i - 1].ordinal == ordinal)
			return writer->gpus[i - 1].track;
	if (array_reserve(&writer->gpus, &writer->room_gpus, writer->nr_gpus + 1ull,
			  sizeof(*writer->gpus)))
		return 0;
	const uint32_t track = add_gpu(writer, process_id, ordinal, rank);
	writer->gpus[writer->nr_gpus++] = (struct gpu){rank, ordinal, track};
	return track;
}

static int add_lanes(struct writer *writer, uint32_t process_id, const struct timeline_lanes *lanes)
{
	const uint32_t rank = add_rank(writer, process_id);

	free(writer->lanes);
	writer->lanes = malloc((lanes->nr_lanes + 1ull) * sizeof(*writer->lanes));
	if (!writer->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < lanes->nr_lanes; i++) {
		const struct timeline_lane *lane = &lanes->lanes[i];
		const uint32_t parent = lane->kind < TIMELINE_STREAM
						? rank
						: find_gpu(writer, process_id, lane->ids[0], rank);

		if (!parent)
			return -ENOMEM;
		writer->lanes[i] = add_lane(writer, lane, parent);
	}
	return 0;
}

/* ---- events */

static int fill_work(struct writer *writer, const struct timeline_work *work,
		     struct trace_event *event)
{
	if (work->launch != TIMELINE_SOURCE_NONE && work->kind != RECORD_GPU_SYNC)
		event->flows[0] = writer->events->launches[work->launch].flow;
	event->flows[1] = work->flow;
	return find_work_name(writer, work, &event->name);
}

static int fill_idle(struct writer *writer, const struct timeline_idle *idle,
		     struct trace_event *event)
{
	const struct idle_words words = {writer->samples, writer->names, writer->paths};
	const struct timeline_launch *launch = idle->launch == TIMELINE_SOURCE_NONE
						       ? NULL
						       : &writer->events->launches[idle->launch];
	uint32_t text, node;
	int error = idle_words_find(&words, idle, launch, &text, &node);

	if (!error && node != REPORT_NODE_ROOT)
		error = fill_stack(writer, node, event);
	return error ? error : intern_name(writer, text, &event->name);
}

/* Fills in what begins at the point. */
static int fill_point(struct writer *writer, const struct timeline_point *point,
		      struct trace_event *event)
{
	const uint32_t i = point->event;

	switch (point->kind) {
	case TIMELINE_WORK:
		return fill_work(writer, &writer->events->work[i], event);
	case TIMELINE_LAUNCH:
		return fill_launch(writer, &writer->events->launches[i], event);
	case TIMELINE_CALL:
		return fill_call(writer, &writer->calls->calls[i], event);
	case TIMELINE_RANGE:
		return intern_name(writer, writer->ranges.ranges[i].name, &event->name);
	case TIMELINE_IDLE_TIME:
		return fill_idle(writer, &writer->busy.idle[i], event);
	case TIMELINE_GAUGE_VALUE:
		event->value = writer->gauges->gauges[i].value;
		return 0;
	case TIMELINE_BUSY_TIME:
	default:
		event->value =
			(double)writer->busy.loads[i].busy_ns * 100 / (double)writer->busy.step_ns;
		return 0;
	}
}

static int write_point(struct writer *writer, const struct timeline_point *point)
{
	struct trace_event event = {.time_ns = point->time_ns,
				    .type = point->type,
				    .track = writer->lanes[point->lane]};
	int error = point->type == TRACE_END ? 0 : fill_point(writer, point, &event);

	if (!error)
		writer->stream->format->event(writer->stream, &event);
	return error || !writer->stream->failed ? error : -ENOMEM;
}

static int write_process(struct writer *writer, uint32_t process_id,
			 const struct timeline_lanes *lanes)
{
	writer->stream->sequence++;
	writer->stream->format->begin(writer->stream, lanes->points[0].time_ns);
	int error = add_lanes(writer, process_id, lanes);

	for (uint32_t i = 0; i < lanes->nr_points && !error; i++)
		error = write_point(writer, &lanes->points[i]);
	return error                         ? error
	       : ferror(writer->stream->out) ? text_file_flush(writer->stream->out)
					     : 0;
}

/* Gauges alone make no part. */
static void find_gauges(const struct timeline_gauges *gauges, uint32_t process_id,
			struct timeline_part *part)
{
	while (part->first_gauge < gauges->nr_gauges &&
	       gauges->gauges[part->first_gauge].process_id < process_id)
		part->first_gauge++;
	part->end_gauge = part->first_gauge;
	while (part->end_gauge < gauges->nr_gauges &&
	       gauges->gauges[part->end_gauge].process_id == process_id)
		part->end_gauge++;
}

/* Finds the next process's part, which begins at the ends of the last one's. false: there is none. */
static bool find_part(const struct writer *writer, struct timeline_part *part, uint32_t *process_id)
{
	const struct timeline_events *events = writer->events;
	const struct timeline_calls *calls = writer->calls;
	uint32_t id = UINT32_MAX;

	part->first_launch = part->end_launch;
	part->first_work = part->end_work;
	part->first_mark = part->end_mark;
	part->first_call = part->end_call;
	part->first_gauge = part->end_gauge;
	if (part->end_launch < events->nr_launches)
		id = events->launches[part->end_launch].process_id;
	if (part->end_work < events->nr_work && events->work[part->end_work].process_id < id)
		id = events->work[part->end_work].process_id;
	if (part->end_mark < events->nr_marks && events->marks[part->end_mark].process_id < id)
		id = events->marks[part->end_mark].process_id;
	if (part->end_call < calls->nr_calls && calls->calls[part->end_call].process_id < id)
		id = calls->calls[part->end_call].process_id;
	while (part->end_launch < events->nr_launches &&
	       events->launches[part->end_launch].process_id == id)
		part->end_launch++;
	while (part->end_work < events->nr_work && events->work[part->end_work].process_id == id)
		part->end_work++;
	while (part->end_mark < events->nr_marks && events->marks[part->end_mark].process_id == id)
		part->end_mark++;
	while (part->end_call < calls->nr_calls && calls->calls[part->end_call].process_id == id)
		part->end_call++;
	find_gauges(writer->gauges, id, part);
	*process_id = id;
	return id != UINT32_MAX;
}

/* Ranges that no mark ends last until behind the host's last event. */
static uint64_t last_of(const struct timeline_events *events, const struct timeline_part *part)
{
	uint64_t last_ns = 0;

	if (part->end_launch > part->first_launch)
		last_ns = events->launches[part->end_launch - 1].time_ns;
	if (part->end_mark > part->first_mark &&
	    events->marks[part->end_mark - 1].time_ns > last_ns)
		last_ns = events->marks[part->end_mark - 1].time_ns;
	return last_ns + 1;
}

static int write_part(struct writer *writer, const struct timeline_part *part, uint32_t process_id)
{
	const struct timeline_events *events = writer->events;
	const struct timeline_range_names names = {
		.names = writer->names,
		.paths = writer->paths,
		.nr_nodes = catalog_size(writer->profile->collection->catalog).nodes};
	const struct timeline_marks marks = {.marks = events->marks + part->first_mark,
					     .nr_marks = part->end_mark - part->first_mark,
					     .last_ns = last_of(events, part),
					     .from_ns = events->from_ns,
					     .to_ns = events->host_to_ns};
	struct timeline_lanes lanes = {0};
	int error = timeline_ranges_init(&writer->ranges, &names, &marks);

	const struct timeline_shown shown = {events, writer->calls, writer->gauges, &writer->ranges,
					     &writer->busy};
	if (!error)
		error = timeline_busy_init(&writer->busy, events->launches,
					   events->work + part->first_work,
					   part->end_work - part->first_work, writer->pauses);
	if (!error)
		error = timeline_lanes_init(&lanes, &shown, part);
	if (!error && lanes.nr_points)
		error = write_process(writer, process_id, &lanes);
	writer->counts.ranges += writer->ranges.nr_ranges;
	writer->counts.idle += writer->busy.nr_idle;
	writer->counts.loads += writer->busy.nr_loads + part->end_gauge - part->first_gauge;
	timeline_lanes_fini(&lanes);
	timeline_busy_fini(&writer->busy);
	timeline_ranges_fini(&writer->ranges);
	return error;
}

static int write_processes(struct writer *writer)
{
	struct timeline_part part = {0};
	uint32_t process_id;
	int error = 0;

	while (!error && find_part(writer, &part, &process_id))
		error = write_part(writer, &part, process_id);
	return error;
}

static int write_lacks(struct writer *writer, const char *lacks)
{
	uint32_t text;
	int error = lacks ? report_names_text(writer->names, lacks, &text) : 0;

	if (lacks && !error)
		trace_notice_write(writer->stream, writer->nr_tracks, writer->events, text + 1,
				   lacks);
	return error;
}

static void fini(struct writer *writer)
{
	report_paths_destroy(writer->paths);
	report_names_destroy(writer->names);
	if (writer->stream)
		writer->stream->format->destroy(writer->stream);
	free(writer->texts.marks);
	free(writer->frames.marks);
	free(writer->stacks.marks);
	free(writer->kernels);
	free(writer->hosts);
	free(writer->gpus);
	free(writer->lanes);
	free(writer);
}

int trace_writer_write(FILE *out, enum trace_writer_format format, const struct profile *profile,
		       const struct report_clocks *clocks, const struct trace_content *content,
		       struct trace_counts *counts)
{
	const struct collection *collection = profile->collection;
	struct writer *writer = calloc(1, sizeof(*writer));
	int error = -ENOMEM;

	*counts = (struct trace_counts){0};
	if (!writer)
		return error;
	writer->profile = profile;
	writer->clocks = clocks;
	writer->events = content->events;
	writer->calls = content->calls;
	writer->samples = content->samples;
	writer->gauges = content->gauges;
	writer->pauses = content->pauses;
	writer->stream = format == TRACE_WRITER_CHROME ? chrome_stream_create(out)
						       : perfetto_stream_create(out);
	writer->names = report_names_create(profile, DEMANGLE_FULL, REPORT_LINES_ON);
	if (writer->names)
		writer->paths = report_paths_create(collection->catalog, writer->names,
						    &(struct report_paths_view){0});
	writer->kernels =
		calloc(catalog_size(collection->catalog).strings + 1ull, sizeof(*writer->kernels));
	writer->hosts =
		calloc(roster_size(collection->roster).hosts + 1ull, sizeof(*writer->hosts));
	if (writer->stream && writer->paths && writer->kernels && writer->hosts)
		error = write_processes(writer);
	if (!error)
		error = write_lacks(writer, content->lacks);
	if (!error) {
		writer->stream->format->end(writer->stream);
		error = writer->stream->failed ? -ENOMEM : text_file_flush(out);
	}
	*counts = writer->counts;
	fini(writer);
	return error;
}

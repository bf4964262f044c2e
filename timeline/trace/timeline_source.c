#include "timeline_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/correlator.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"

/* The offset of a process's clocks is measured again and again. A difference above this is a clock that was set. Files
 * of version 2 have offsets that hold (event_packer.c), but for those of another start of the aggregator. */
#define STEADY_NS 1000000

struct process {
	int64_t clock_offset_ns; /* CLOCK_MONOTONIC - CUPTI's clock, as it is used */
	bool has_offset;
};

struct timeline_source {
	const char *store_path;
	const struct profile *profile;
	const struct clock_map *map;
	struct process *processes; /* owns; [id - 1] */
	bool *have_events;         /* owns; as processes */
	bool *are_local;           /* owns; [host - 1]: it has the kernel of the common clock */
	bool *are_same; /* owns; as are_local: and no comparison says that its clock is another */
	uint32_t nr_processes, nr_hosts, nr_stacks, nr_names;
	uint32_t placed_host; /* whose time was placed last; 0: none */
	struct clock_map_stretch placed;
	bool placed_same; /* in all of that stretch its clock is the common one */
	/* of the present reading */
	const struct timeline_request *request;
	const struct timeline_sink *sink;
	struct timeline_counts *counts;
	uint64_t first_ns, last_ns;
};

/* ---- clocks */

/* Returns whether the offset of a local host is within the error of the comparison at any time. It is if that is so of
 * each comparison: between two of them the larger offset is no more than the larger error. */
static bool is_same(const struct timeline_source *source, uint32_t host)
{
	uint32_t count;
	const struct clock_offset *offsets = clock_map_host(source->map, host, &count);
	bool is_one = count > 0;

	for (uint32_t i = 0; i < count && is_one; i++)
		is_one = llabs(offsets[i].offset_ns) <= (int64_t)offsets[i].bound_ns;
	return is_one;
}

/* The reference is named by a boot id, and behind a blank by more. */
static void find_local_hosts(struct timeline_source *source)
{
	const struct collection *collection = source->profile->collection;
	const uint32_t reference_id = source->map ? clock_map_reference(source->map) : 0;
	uint32_t size = 0, length;
	const char *reference =
		reference_id ? catalog_string(collection->catalog, reference_id, &size) : NULL;

	for (uint32_t id = 1; reference && id <= source->nr_hosts; id++) {
		const char *boot_id = catalog_string(
			collection->catalog, roster_host(collection->roster, id)->boot_id, &length);

		source->are_local[id - 1] = boot_id && length && length <= size &&
					    memcmp(boot_id, reference, length) == 0 &&
					    (length == size || reference[length] == ' ');
		source->are_same[id - 1] = source->are_local[id - 1] && is_same(source, id);
	}
}

/* Finds what is known of a host's clock. Nodes that share a kernel, as its boot id says, share its clock. */
static bool find_clock(const struct timeline_source *source, uint32_t host, uint64_t time_ns,
		       struct clock_map_stretch *found)
{
	const struct roster *roster = source->profile->collection->roster;
	const struct roster_host *known = roster_host(roster, host);

	if (!source->map)
		return false;
	if (clock_map_stretch_find(source->map, host, time_ns, found))
		return true;
	for (uint32_t id = 1; known && known->boot_id && id <= source->nr_hosts; id++)
		if (roster_host(roster, id)->boot_id == known->boot_id &&
		    clock_map_stretch_find(source->map, id, time_ns, found))
			return true;
	return false;
}

/* Whether no offset in the stretch is larger than the error of both comparisons at its ends. */
static bool is_within_bounds(const struct clock_map_stretch *stretch)
{
	const struct clock_offset *before = stretch->before, *after = stretch->after;

	before = before ? before : after;
	after = after ? after : before;
	const int64_t bound_ns =
		(int64_t)(before->bound_ns > after->bound_ns ? before->bound_ns : after->bound_ns);

	return llabs(before->offset_ns) <= bound_ns && llabs(after->offset_ns) <= bound_ns;
}

/* Puts a time of a host's CLOCK_MONOTONIC on the common clock. The same kernel has the same clock, unless a time
 * namespace shifts it by more than the comparison's error. Events of a host mostly follow one another. false: nobody
 * knows how. */
static bool place(struct timeline_source *source, uint32_t host, uint64_t *time_ns)
{
	struct clock_map_place found;

	if (source->are_same[host - 1])
		return true;
	if (host != source->placed_host || !clock_map_stretch_has(&source->placed, *time_ns)) {
		source->placed_host = 0;
		if (!find_clock(source, host, *time_ns, &source->placed))
			return source->nr_hosts == 1;
		source->placed_host = host;
		source->placed_same =
			source->are_local[host - 1] && is_within_bounds(&source->placed);
	}
	if (source->placed_same)
		return true;
	if (!source->are_local[host - 1]) {
		*time_ns -= (uint64_t)clock_map_stretch_offset(&source->placed, *time_ns);
		return true;
	}
	clock_map_stretch_place(&source->placed, *time_ns, &found);
	if (llabs(found.offset_ns) > (int64_t)found.bound_ns)
		*time_ns -= (uint64_t)found.offset_ns;
	return true;
}

static int64_t offset_of(struct timeline_source *source, const struct message_events *from)
{
	struct process *process = &source->processes[from->process_id - 1];
	const int64_t change_ns = from->clock_offset_ns - process->clock_offset_ns;

	if (!process->has_offset || change_ns > STEADY_NS || change_ns < -STEADY_NS)
		process->clock_offset_ns = from->clock_offset_ns;
	process->has_offset = true;
	return process->clock_offset_ns;
}

/* ---- events */

static bool is_wanted(const struct timeline_request *request, uint32_t process_id,
		      const struct roster_process *process)
{
	if (request->processes && !request->processes[process_id - 1])
		return false;
	return !request->ranks ||
	       (process->rank >= 0 && (uint32_t)process->rank < request->nr_ranks &&
		request->ranks[process->rank]);
}

static bool knows_stack(const struct timeline_source *source, uint32_t stack_id)
{
	return stack_id <= source->nr_stacks;
}

/* The store has what an event names before the log has the event. So the store comes to know it while it is written. */
static void count_unknown(struct timeline_source *source, uint64_t nr)
{
	if (source->profile->written)
		source->counts->unknown += nr;
	else
		source->counts->log.damaged += nr;
}

static bool is_of_window(const struct launch_record *launch)
{
	return launch->flags & RECORD_LAUNCH_MARK && launch->cbid >= RECORD_MARK_WINDOW_END;
}

static int take_launches(struct timeline_source *source, const struct message_events *from,
			 uint32_t host)
{
	const struct timeline_request *request = source->request;
	int error = 0;

	for (uint32_t i = 0; i < from->nr_launches && !error; i++) {
		const struct launch_record *launch = &from->launches[i];
		struct timeline_launch placed = {
			.time_ns = launch->time_ns,
			.process_id = from->process_id,
			.tid = launch->tid,
			.stack_id = launch->stack_id,
			.correlation_id = launch->correlation_id,
			.window = launch->window,
			.flags = (uint16_t)launch->flags,
			.mark = (uint8_t)launch->cbid,
		};

		if (launch->flags & RECORD_LAUNCH_FAILED ||
		    is_of_window(launch) != request->windows_alone)
			continue;
		if (!knows_stack(source, launch->stack_id))
			count_unknown(source, 1);
		else if (!place(source, host, &placed.time_ns))
			source->counts->unclocked++;
		else if (placed.time_ns > TIMELINE_SOURCE_NS_MAX)
			source->counts->log.damaged++;
		else if (placed.time_ns >= request->from_ns && placed.time_ns < request->to_ns)
			error = source->sink->launch(source->sink->context, &placed);
	}
	return error;
}

static void count_other(struct timeline_source *source, const struct gpu_record *record,
			bool has_offset, uint64_t offset_ns, uint32_t host)
{
	const struct timeline_request *request = source->request;
	uint64_t start_ns = record->start_ns + offset_ns;
	const bool is_placed = request->others_ns && has_offset && place(source, host, &start_ns);

	source->counts->others +=
		!is_placed || (start_ns >= request->others_ns && start_ns < request->to_ns);
}

static int take_work(struct timeline_source *source, const struct message_events *from,
		     uint32_t host)
{
	const struct timeline_request *request = source->request;
	const uint64_t offset_ns = from->clock_valid ? (uint64_t)offset_of(source, from) : 0;
	int error = 0;

	for (uint32_t i = 0; i < from->nr_gpu && !error; i++) {
		const struct gpu_record *record = &from->gpu[i];
		struct timeline_work placed = {
			.start_ns = record->start_ns + offset_ns,
			.bytes = record->bytes,
			.process_id = from->process_id,
			.device_id = record->device_id,
			.context_id = record->context_id,
			.stream_id = record->stream_id,
			.name_id = record->name_id,
			.correlation_id = record->correlation_id,
			.capture_stack_id = record->capture_stack_id,
			.window = record->window,
			.kind = record->kind,
			.copy_kind = record->copy_kind,
			.launch = TIMELINE_SOURCE_NONE,
		};

		if (record->kind > RECORD_GPU_SYNC) {
			count_other(source, record, from->clock_valid, offset_ns, host);
			continue;
		}
		if (record->name_id > source->nr_names ||
		    !knows_stack(source, record->capture_stack_id)) {
			count_unknown(source, 1);
			continue;
		}
		if (!from->clock_valid || !place(source, host, &placed.start_ns)) {
			source->counts->unclocked++;
			continue;
		}
		if (placed.start_ns > TIMELINE_SOURCE_NS_MAX ||
		    record->end_ns - record->start_ns > TIMELINE_SOURCE_NS_MAX) {
			source->counts->log.damaged++;
			continue;
		}
		placed.end_ns = placed.start_ns + (record->end_ns - record->start_ns);
		if (placed.end_ns >= request->from_ns && placed.start_ns < request->to_ns)
			error = source->sink->work(source->sink->context, &placed);
	}
	return error;
}

static int take(void *context, const struct message_events *from)
{
	struct timeline_source *source = context;
	const struct roster_process *process =
		roster_process(source->profile->collection->roster, from->process_id);

	if (!process) {
		count_unknown(source, (uint64_t)from->nr_launches + from->nr_gpu);
		return 0;
	}
	source->have_events[from->process_id - 1] = true;
	if (!is_wanted(source->request, from->process_id, process))
		return 0;
	int error = take_launches(source, from, process->identity.host);
	if (error || source->request->windows_alone)
		return error;
	return take_work(source, from, process->identity.host);
}

/* Unknown ones are wanted, so that they are counted. */
static bool wants_process(void *context, uint32_t process_id)
{
	struct timeline_source *source = context;
	const struct roster_process *process =
		roster_process(source->profile->collection->roster, process_id);

	if (process)
		source->have_events[process_id - 1] = true;
	return !process || is_wanted(source->request, process_id, process);
}

/* ---- blocks */

/* Whether it cannot be: then its block's events tell when they were. */
static bool is_impossible(const struct event_span *span)
{
	return span->first_ns <= span->last_ns && span->last_ns > TIMELINE_SOURCE_NS_MAX;
}

/* Puts a span on the common clock. false: nobody knows how, or it has no time. */
static bool place_span(struct timeline_source *source, const struct event_span *span,
		       const struct roster_process **process, uint64_t *first_ns, uint64_t *last_ns)
{
	*process = roster_process(source->profile->collection->roster, span->process_id);
	*first_ns = span->first_ns;
	*last_ns = span->last_ns;
	return *process && span->first_ns <= span->last_ns &&
	       place(source, (*process)->identity.host, first_ns) &&
	       place(source, (*process)->identity.host, last_ns);
}

/* Whether the span may have a part in the wanted time. */
static bool touches(const struct timeline_request *request, uint64_t first_ns, uint64_t last_ns)
{
	return (last_ns >= request->from_ns || request->from_ns - last_ns <= STEADY_NS) &&
	       (first_ns < request->to_ns || first_ns - request->to_ns <= STEADY_NS);
}

/* Whether a mark of a capture window may be in the block. Most blocks of programs that mark steps have none. */
static bool may_have_windows(const struct event_block_head *head, const struct event_span *spans)
{
	for (uint32_t i = 0; i < head->nr_spans; i++)
		if (!(spans[i].marks & EVENT_SPAN_KNOWN) || spans[i].marks & EVENT_SPAN_WINDOWS)
			return true;
	return head->nr_spans == 0;
}

static bool wants(void *context, const struct event_block_head *head,
		  const struct event_span *spans)
{
	struct timeline_source *source = context;
	const struct timeline_request *request = source->request;
	const bool wants_all = request->from_ns == 0 && request->to_ns == UINT64_MAX;
	const struct roster_process *process;
	uint64_t first_ns, last_ns;
	bool is_wanted_one = head->nr_spans == 0;

	if ((request->marks_alone || request->windows_alone) && head->nr_spans && !head->nr_marks)
		return false;
	if (request->windows_alone && !may_have_windows(head, spans))
		return false;
	for (uint32_t i = 0; i < head->nr_spans && !is_wanted_one; i++) {
		process = roster_process(source->profile->collection->roster, spans[i].process_id);
		if (process && !is_wanted(request, spans[i].process_id, process))
			continue;
		if (is_impossible(&spans[i])) {
			source->counts->log.damaged++;
			is_wanted_one = true;
		} else if (!place_span(source, &spans[i], &process, &first_ns, &last_ns))
			is_wanted_one = wants_all; /* so that it is counted */
		else
			is_wanted_one = touches(request, first_ns, last_ns);
	}
	return is_wanted_one;
}

int timeline_source_read(struct timeline_source *source, const struct timeline_request *request,
			 const struct timeline_sink *sink, struct timeline_counts *counts)
{
	const struct event_asks asks = {
		.take = take,
		.wants = wants,
		.wants_process = wants_process,
		.context = source,
		.profile = source->profile->has_timeline ? source->profile->timeline_id : NULL,
	};

	*counts = (struct timeline_counts){0};
	source->request = request;
	source->sink = sink;
	source->counts = counts;
	memset(source->processes, 0, source->nr_processes * sizeof(*source->processes));
	return event_reader_read(source->store_path, &asks, &counts->log);
}

int timeline_source_estimate(struct timeline_source *source, const struct timeline_request *request,
			     uint64_t *nr_events)
{
	const struct event_asks asks = {
		.wants = wants,
		.context = source,
		.profile = source->profile->has_timeline ? source->profile->timeline_id : NULL,
	};
	struct event_sums sums = {0};

	source->request = request;
	const int error = event_reader_read(source->store_path, &asks, &sums);
	*nr_events = sums.launches + sums.records;
	return error;
}

/* ---- the extent */

static void note_time(struct timeline_source *source, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns < source->first_ns)
		source->first_ns = first_ns;
	if (last_ns > source->last_ns)
		source->last_ns = last_ns;
}

static int note_launch(void *context, const struct timeline_launch *launch)
{
	note_time(context, launch->time_ns, launch->time_ns);
	return 0;
}

static int note_work(void *context, const struct timeline_work *work)
{
	note_time(context, work->start_ns, work->end_ns);
	return 0;
}

/* Blocks without spans that can be are read. */
static bool note_spans(void *context, const struct event_block_head *head,
		       const struct event_span *spans)
{
	struct timeline_source *source = context;
	const struct roster_process *process;
	uint64_t first_ns, last_ns;
	bool is_read = head->nr_spans == 0;

	for (uint32_t i = 0; i < head->nr_spans; i++) {
		if (is_impossible(&spans[i])) {
			is_read = true;
			continue;
		}
		if (place_span(source, &spans[i], &process, &first_ns, &last_ns))
			note_time(source, first_ns, last_ns);
		if (process)
			source->have_events[spans[i].process_id - 1] = true;
	}
	return is_read;
}

int timeline_source_extent(struct timeline_source *source, uint64_t *first_ns, uint64_t *last_ns)
{
	const struct timeline_sink sink = {note_launch, note_work, source};
	const struct event_asks asks = {
		.take = take,
		.wants = note_spans,
		.context = source,
		.profile = source->profile->has_timeline ? source->profile->timeline_id : NULL,
	};
	struct timeline_counts counts = {0};

	source->request = &TIMELINE_REQUEST_ALL;
	source->sink = &sink;
	source->counts = &counts;
	source->first_ns = UINT64_MAX;
	source->last_ns = 0;
	int error = event_reader_read(source->store_path, &asks, &counts.log);
	*first_ns = source->first_ns == UINT64_MAX ? 0 : source->first_ns;
	*last_ns = source->last_ns;
	return error;
}

/* ---- life */

struct timeline_source *timeline_source_create(const char *store_path,
					       const struct profile *profile,
					       const struct clock_map *map)
{
	const struct roster_size size = roster_size(profile->collection->roster);
	const struct catalog_size names = catalog_size(profile->collection->catalog);
	struct timeline_source *source = calloc(1, sizeof(*source));

	if (!source)
		return NULL;
	*source = (struct timeline_source){
		.store_path = store_path,
		.profile = profile,
		.map = map,
		.nr_processes = size.processes,
		.nr_hosts = size.hosts,
		.nr_stacks = names.nodes,
		.nr_names = names.strings,
		.processes = calloc(size.processes + 1ull, sizeof(*source->processes)),
		.have_events = calloc(size.processes + 1ull, sizeof(*source->have_events)),
		.are_local = calloc(size.hosts + 1ull, sizeof(*source->are_local)),
		.are_same = calloc(size.hosts + 1ull, sizeof(*source->are_same)),
	};
	if (!source->processes || !source->have_events || !source->are_local || !source->are_same) {
		timeline_source_destroy(source);
		return NULL;
	}
	find_local_hosts(source);
	return source;
}

struct timeline_source *timeline_source_again(const struct timeline_source *source)
{
	return timeline_source_create(source->store_path, source->profile, source->map);
}

void timeline_source_destroy(struct timeline_source *source)
{
	if (!source)
		return;
	free(source->processes);
	free(source->have_events);
	free(source->are_local);
	free(source->are_same);
	free(source);
}

const struct profile *timeline_source_profile(const struct timeline_source *source)
{
	return source->profile;
}

const char *timeline_source_store(const struct timeline_source *source)
{
	return source->store_path;
}

const struct clock_map *timeline_source_map(const struct timeline_source *source)
{
	return source->map;
}

bool timeline_source_wants(const struct timeline_source *source,
			   const struct timeline_request *request, uint32_t process_id)
{
	const struct roster_process *process =
		roster_process(source->profile->collection->roster, process_id);

	return process && is_wanted(request, process_id, process);
}

bool timeline_source_place(struct timeline_source *source, const struct timeline_request *request,
			   uint32_t process_id, uint64_t *time_ns)
{
	const struct roster_process *process =
		roster_process(source->profile->collection->roster, process_id);

	return process && is_wanted(request, process_id, process) &&
	       place(source, process->identity.host, time_ns);
}

bool timeline_source_place_realtime(struct timeline_source *source, uint32_t process_id,
				    uint64_t *time_ns)
{
	const struct roster_process *process =
		roster_process(source->profile->collection->roster, process_id);

	if (!process || !source->processes[process_id - 1].has_offset)
		return false;
	*time_ns += (uint64_t)source->processes[process_id - 1].clock_offset_ns;
	return place(source, process->identity.host, time_ns);
}

uint32_t timeline_source_silent(const struct timeline_source *source,
				const struct timeline_request *request,
				const struct timeline_counts *read)
{
	uint32_t nr = 0;

	for (uint32_t id = 1; id <= source->nr_processes && !read->log.dropped_events; id++) {
		const struct roster_process *process =
			roster_process(source->profile->collection->roster, id);
		const struct correlator_counts *counts =
			process->correlator ? correlator_counts(process->correlator)
					    : &process->counts;

		nr += counts->records && !source->have_events[id - 1] &&
		      is_wanted(request, id, process);
	}
	return nr;
}

#include "clock_evidence.h"

#include <errno.h>
#include <stdlib.h>

#include "clock_refine.h"

#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/collective_match.h"
#include "base/array.h"

struct evidence {
	const struct collective_log *log;
	const struct collective_log_call *calls;
	const struct roster *roster;
	const struct clock_map *map;
	const struct clock_offset *offsets;
	struct clock_refine_part *parts; /* owns */
	uint32_t nr_parts, room_parts, nr_collectives;
	/* owns; for each offset: its part in the current collective, + 1 */
	uint32_t *part_of;
};

static uint64_t distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

/* Returns the index of the nearest comparison. */
static uint32_t find_nearest(const struct clock_offset *offsets, uint32_t count, uint64_t time_ns)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (distance(offsets[middle + 1].time_ns, time_ns) <=
		    distance(offsets[middle].time_ns, time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns how much steeper or flatter than the clocks the line between two comparisons may be, since both ends are only
 * known within their bounds. */
static uint64_t slope_slack(const struct clock_offset *from, const struct clock_offset *to,
			    uint64_t passed_ns)
{
	uint64_t whole_ns = distance(from->time_ns, to->time_ns);

	if (whole_ns == 0)
		return from->bound_ns + to->bound_ns;
	return (uint64_t)((double)(from->bound_ns + to->bound_ns) * (double)passed_ns /
			  (double)whole_ns) +
	       1;
}

/* Places a kernel's times on the clock of the nearest comparison, and bounds their error. */
static bool place(const struct evidence *evidence, const struct collective_log_call *call,
		  struct clock_refine_part *part)
{
	const struct roster_process *process = roster_process(evidence->roster, call->process);
	const struct collective_gpu *gpu = &call->gpu;
	struct clock_map_place found;
	uint32_t count;

	if (!process || !gpu->known || !gpu->clock_known)
		return false;
	const struct clock_offset *own =
		clock_map_host(evidence->map, process->identity.host, &count);
	uint64_t start_ns = gpu->start_ns + (uint64_t)gpu->clock_offset_ns;
	if (!own || start_ns > (uint64_t)CLOCK_REFINE_NS_MAX ||
	    gpu->ns > (uint64_t)CLOCK_REFINE_NS_MAX - start_ns)
		return false;
	uint32_t nearest = find_nearest(own, count, start_ns);
	const struct clock_offset *at = &own[nearest];
	uint64_t passed_ns = distance(at->time_ns, start_ns);
	clock_map_find(evidence->map, process->identity.host, start_ns, &found);
	int64_t moved_ns = found.offset_ns - at->offset_ns;
	*part = (struct clock_refine_part){
		.start_ns = start_ns - (uint64_t)moved_ns,
		.end_ns = start_ns + gpu->ns - (uint64_t)moved_ns,
		.slack_ns = CLOCK_EVIDENCE_GPU_NS + clock_map_stray(passed_ns + gpu->ns),
		.collective = evidence->nr_collectives,
		.bounds = (uint32_t)(at - evidence->offsets),
	};
	if (start_ns > at->time_ns && nearest + 1 < count)
		part->slack_ns += slope_slack(at, at + 1, passed_ns);
	if (start_ns < at->time_ns && nearest > 0)
		part->slack_ns += slope_slack(at, at - 1, passed_ns);
	return part->end_ns <= (uint64_t)CLOCK_REFINE_NS_MAX;
}

/* Ranks of one host share one part. */
static void add_part(struct evidence *evidence, const struct clock_refine_part *part)
{
	uint32_t *known = &evidence->part_of[part->bounds];

	if (!*known) {
		evidence->parts[evidence->nr_parts++] = *part;
		*known = evidence->nr_parts;
		return;
	}
	struct clock_refine_part *of = &evidence->parts[*known - 1];
	of->start_ns = part->start_ns > of->start_ns ? part->start_ns : of->start_ns;
	of->end_ns = part->end_ns < of->end_ns ? part->end_ns : of->end_ns;
	of->slack_ns = part->slack_ns > of->slack_ns ? part->slack_ns : of->slack_ns;
}

/* Takes a collective, unless it has only one host, or the times of one host contradict each other. */
static void take_collective(struct evidence *evidence, const struct collective_match *match,
			    const uint32_t *row)
{
	const uint32_t begin = evidence->nr_parts;
	bool possible = true;

	for (uint32_t i = 0; i < match->nr_members; i++) {
		struct clock_refine_part part;

		if (place(evidence, &evidence->calls[match->entries[row[i]].call], &part))
			add_part(evidence, &part);
	}
	for (uint32_t i = begin; i < evidence->nr_parts; i++) {
		evidence->part_of[evidence->parts[i].bounds] = 0;
		possible = possible && evidence->parts[i].start_ns <= evidence->parts[i].end_ns;
	}
	if (!possible || evidence->nr_parts - begin < 2)
		evidence->nr_parts = begin;
	else
		evidence->nr_collectives++;
}

static int take_communicator(void *context, struct collective_match *match)
{
	struct evidence *evidence = context;
	const uint32_t width = match->nr_members;
	uint64_t *times;
	int error = collective_match_compare(match, evidence->log, &times);

	free(times);
	for (uint32_t i = 0; i < match->nr_rows && !error; i++) {
		error = array_reserve(&evidence->parts, &evidence->room_parts,
				      (uint64_t)evidence->nr_parts + width,
				      sizeof(*evidence->parts));
		if (!error)
			take_collective(evidence, match, match->places + match->rows[i].entries);
	}
	collective_match_fini(match);
	return error;
}

/* Offsets with another reference than the map's have no part, and stay. */
static int narrow(const struct evidence *evidence, struct clock_offset *offsets, uint32_t count,
		  uint32_t *used)
{
	struct clock_refine_bounds *bounds = calloc(count + 1ul, sizeof(*bounds));

	if (!bounds)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		bounds[i].low_ns = offsets[i].offset_ns - (int64_t)offsets[i].bound_ns;
		bounds[i].high_ns = offsets[i].offset_ns + (int64_t)offsets[i].bound_ns;
	}
	int error = clock_refine(evidence->parts, evidence->nr_parts, bounds, count);
	for (uint32_t i = 0; i < count && !error; i++) {
		int64_t width_ns = bounds[i].high_ns - bounds[i].low_ns;

		used[i] = bounds[i].nr_used;
		if ((uint64_t)width_ns >= 2 * offsets[i].bound_ns)
			continue;
		offsets[i].offset_ns = bounds[i].low_ns + width_ns / 2;
		offsets[i].bound_ns = (uint64_t)(width_ns + 1) / 2;
	}
	free(bounds);
	return error;
}

int clock_evidence_apply(const struct collective_log *log, const struct roster *roster,
			 const struct clock_map *map, struct clock_offset *offsets, uint32_t count,
			 uint32_t *used)
{
	struct evidence evidence = {.log = log, .roster = roster, .map = map, .offsets = offsets};
	uint32_t nr_calls;

	evidence.calls = collective_log_calls(log, &nr_calls);
	evidence.part_of = calloc(count + 1ul, sizeof(*evidence.part_of));
	int error = evidence.part_of ? collective_match_each(log, roster_size(roster).processes,
							     true, take_communicator, &evidence)
				     : -ENOMEM;
	if (!error)
		error = narrow(&evidence, offsets, count, used);
	free(evidence.part_of);
	free(evidence.parts);
	return error == -EINVAL ? -ERANGE : error;
}

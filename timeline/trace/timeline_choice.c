#include "timeline_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline_gaps.h"

#include "aggregator/profile/roster.h"

#define AROUND_NS 100000u /* at least so much is shown before and behind a wait or gap */
#define NAME_SIZE 64u

struct looker {
	struct timeline_steps steps;
	struct timeline_gaps *gaps; /* owns; NULL: only steps are looked for */
	struct capture_pauses pauses;
	struct timeline_work wait; /* the longest; its kind is 0 if there is none */
};

static int take_launch(void *context, const struct timeline_launch *launch)
{
	struct looker *looker = context;

	return timeline_steps_add(&looker->steps, launch);
}

static int take_work(void *context, const struct timeline_work *work)
{
	struct looker *looker = context;

	if (!looker->gaps)
		return 0;
	if (work->kind == RECORD_GPU_SYNC &&
	    (!looker->wait.kind ||
	     work->end_ns - work->start_ns > looker->wait.end_ns - looker->wait.start_ns))
		looker->wait = *work;
	return timeline_gaps_add(looker->gaps, work);
}

/* Call fini() in any case. */
static int look(struct timeline_source *source, const struct timeline_request *request,
		bool wants_gaps, struct looker *looker, struct timeline_counts *counts)
{
	const struct timeline_sink sink = {take_launch, take_work, looker};
	struct timeline_request all = *request;

	*looker = (struct looker){0};
	if (wants_gaps && !(looker->gaps = timeline_gaps_create(timeline_source_profile(source))))
		return -ENOMEM;
	all.from_ns = 0;
	all.to_ns = UINT64_MAX;
	all.marks_alone = !wants_gaps;
	int error = capture_pauses_read(&looker->pauses, source, request);
	if (!error)
		error = timeline_source_read(source, &all, &sink, counts);
	return error ? error : timeline_steps_finish(&looker->steps, &looker->pauses);
}

static void fini(struct looker *looker)
{
	timeline_steps_fini(&looker->steps);
	timeline_gaps_destroy(looker->gaps);
	capture_pauses_fini(&looker->pauses);
}

/* "rank 3", or "process 1234". */
static void name_process(struct timeline_source *source, uint32_t id, char name[static NAME_SIZE])
{
	const struct roster_process *process =
		roster_process(timeline_source_profile(source)->collection->roster, id);

	if (process->rank >= 0)
		snprintf(name, NAME_SIZE, "rank %" PRId32, process->rank);
	else
		snprintf(name, NAME_SIZE, "process %" PRIu32, process->identity.pid);
}

/* "GPU2", by the host's order; "GPU?". */
static void name_gpu(struct timeline_source *source, const struct timeline_gap *gap,
		     char name[static NAME_SIZE])
{
	const struct roster *roster = timeline_source_profile(source)->collection->roster;
	const struct roster_device *device =
		roster_device(roster, roster_process_device(roster_process(roster, gap->process_id),
							    gap->device_id));

	if (device && device->index >= 0)
		snprintf(name, NAME_SIZE, "GPU%" PRId32, device->index);
	else
		snprintf(name, NAME_SIZE, "GPU?");
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) / 1e6;
}

#define NO_WHOLE "no step has both its begin and its end in the timeline"

/* Why there is no whole step. */
static const char *no_steps(const struct timeline_steps *steps)
{
	if (!steps->nr_open)
		return TIMELINE_CHOICE_NO_STEPS;
	return steps->nr_cut ? NO_WHOLE TIMELINE_CHOICE_CUT : NO_WHOLE;
}

static int say_no_step(const struct timeline_steps *steps, uint32_t number,
		       struct timeline_choice *choice)
{
	uint32_t first = UINT32_MAX, last = 0, before = 0, behind = UINT32_MAX;

	for (uint32_t i = 0; i < steps->nr_steps; i++) {
		const uint32_t other = steps->steps[i].number;

		first = other < first ? other : first;
		last = other > last ? other : last;
		before = other < number && other > before ? other : before;
		behind = other > number && other < behind ? other : behind;
	}
	if (!steps->nr_steps)
		snprintf(choice->text, sizeof(choice->text), "%s", no_steps(steps));
	else if (number > first && number < last)
		snprintf(choice->text, sizeof(choice->text),
			 "step %" PRIu32 " is not there: steps %" PRIu32 " and %" PRIu32
			 " are the nearest with both their begin and their end in the timeline",
			 number, before, behind);
	else
		snprintf(choice->text, sizeof(choice->text),
			 "step %" PRIu32 " is not there: steps %" PRIu32 " to %" PRIu32
			 " have both their begin and their end in the timeline",
			 number, first, last);
	return -ENODATA;
}

/* "63.201 to 63.330 ms each, 88.756 ms from the first begin to the last end" */
static void say_step(uint32_t number, uint64_t least_ns, uint64_t most_ns,
		     struct timeline_choice *choice)
{
	const double all = ms(choice->from_ns, choice->to_ns);

	if (choice->nr_steps == 1)
		snprintf(choice->text, sizeof(choice->text),
			 "step %" PRIu32 " of 1 process: %.3f ms", number, all);
	else
		snprintf(choice->text, sizeof(choice->text),
			 "step %" PRIu32 " of %" PRIu32 " processes: %.3f to %.3f ms each, %.3f ms "
			 "from the first begin to the last end",
			 number, choice->nr_steps, ms(0, least_ns), ms(0, most_ns), all);
}

int timeline_choice_step(struct timeline_source *source, const struct timeline_request *request,
			 uint32_t number, struct timeline_choice *choice)
{
	struct looker looker;
	uint64_t least_ns = UINT64_MAX, most_ns = 0;

	*choice = (struct timeline_choice){.is_step = true, .from_ns = UINT64_MAX};
	int error = look(source, request, false, &looker, &choice->counts);
	if (!error)
		error = timeline_steps_find(&looker.steps, number, &choice->steps,
					    &choice->nr_steps);
	for (uint32_t i = 0; i < choice->nr_steps; i++) {
		const struct timeline_step *step = &choice->steps[i];
		const uint64_t long_ns = step->end_ns - step->begin_ns;

		if (step->begin_ns < choice->from_ns)
			choice->from_ns = step->begin_ns;
		if (step->end_ns > choice->to_ns)
			choice->to_ns = step->end_ns;
		least_ns = long_ns < least_ns ? long_ns : least_ns;
		most_ns = long_ns > most_ns ? long_ns : most_ns;
	}
	if (!error && !choice->nr_steps)
		error = say_no_step(&looker.steps, number, choice);
	else if (!error)
		say_step(number, least_ns, most_ns, choice);
	fini(&looker);
	return error;
}

static int choose_step(struct timeline_source *source, const struct timeline_steps *steps,
		       const struct timeline_step *step, uint64_t median_ns, uint32_t nr,
		       struct timeline_choice *choice)
{
	char name[NAME_SIZE];

	name_process(source, step->process_id, name);
	choice->from_ns = step->begin_ns;
	choice->to_ns = step->end_ns;
	choice->is_step = true;
	snprintf(choice->text, sizeof(choice->text),
		 "step %" PRIu32 " of %s is the slowest of %" PRIu32
		 ": %.3f ms, where the median is %.3f ms%s",
		 step->number, name, nr, ms(step->begin_ns, step->end_ns), ms(0, median_ns),
		 nr < steps->nr_steps ? "; the first step of each process does not count" : "");
	return timeline_steps_find(steps, step->number, &choice->steps, &choice->nr_steps);
}

static void choose_around(uint64_t start_ns, uint64_t end_ns, struct timeline_choice *choice)
{
	const uint64_t long_ns = end_ns - start_ns;
	const uint64_t around_ns = long_ns > AROUND_NS ? long_ns : AROUND_NS;

	choice->from_ns = start_ns > around_ns ? start_ns - around_ns : 0;
	choice->to_ns = end_ns < UINT64_MAX - around_ns ? end_ns + around_ns : UINT64_MAX;
}

static int choose_other(struct timeline_source *source, struct looker *looker,
			struct timeline_choice *choice)
{
	const struct timeline_work *wait = &looker->wait;
	const char *none = looker->steps.nr_open ? "no step has both its begin and its end"
						 : "no step is marked";
	struct timeline_gap gap;
	char name[NAME_SIZE], gpu[NAME_SIZE], other[128] = "";
	const bool has_gap = timeline_gaps_largest(looker->gaps, &looker->pauses, &gap);

	if (has_gap &&
	    (!wait->kind || ms(gap.start_ns, gap.end_ns) >= ms(wait->start_ns, wait->end_ns))) {
		name_process(source, gap.process_id, name);
		name_gpu(source, &gap, gpu);
		if (wait->kind)
			snprintf(other, sizeof(other), "; the longest wait of a host takes %.3f ms",
				 ms(wait->start_ns, wait->end_ns));
		snprintf(choice->text, sizeof(choice->text),
			 "%s, so this is the largest gap of a GPU: %.3f ms without work before %s "
			 "went on with %s%s",
			 none, ms(gap.start_ns, gap.end_ns), name, gpu, other);
		choose_around(gap.start_ns, gap.end_ns, choice);
		return 0;
	}
	if (!wait->kind) {
		snprintf(choice->text, sizeof(choice->text), "%s; nor has a GPU a gap",
			 no_steps(&looker->steps));
		return -ENODATA;
	}
	name_process(source, wait->process_id, name);
	if (has_gap)
		snprintf(other, sizeof(other), "; the largest gap of a GPU is %.3f ms",
			 ms(gap.start_ns, gap.end_ns));
	snprintf(choice->text, sizeof(choice->text),
		 "%s, so this is the longest wait of a host for its GPU: %.3f ms of %s%s", none,
		 ms(wait->start_ns, wait->end_ns), name, other);
	choose_around(wait->start_ns, wait->end_ns, choice);
	return 0;
}

int timeline_choice_worst(struct timeline_source *source, const struct timeline_request *request,
			  struct timeline_choice *choice)
{
	struct looker looker;
	uint64_t median_ns;
	uint32_t nr;

	*choice = (struct timeline_choice){0};
	int error = look(source, request, true, &looker, &choice->counts);
	const struct timeline_step *slowest = NULL;

	if (!error)
		error = timeline_steps_slowest(&looker.steps, &slowest, &median_ns, &nr);
	if (slowest)
		error = choose_step(source, &looker.steps, slowest, median_ns, nr, choice);
	else if (!error)
		error = choose_other(source, &looker, choice);
	fini(&looker);
	return error;
}

void timeline_choice_fini(struct timeline_choice *choice)
{
	free(choice->steps);
	choice->steps = NULL;
	choice->nr_steps = 0;
}

#include "timeline_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "mark_runs.h"

#include "base/array.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

int timeline_steps_add(struct timeline_steps *steps, const struct timeline_launch *launch)
{
	if (!(launch->flags & RECORD_LAUNCH_MARK) ||
	    (launch->mark != RECORD_MARK_STEP && launch->mark != RECORD_MARK_STEP_END))
		return 0;
	if (array_reserve(&steps->marks, &steps->room_marks, steps->nr_marks + 1ull,
			  sizeof(*steps->marks)))
		return -ENOMEM;
	steps->marks[steps->nr_marks++] = *launch;
	return 0;
}

/* Where times are equal, ends come first. */
static int by_thread(const void *a, const void *b)
{
	const struct timeline_launch *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->tid, right->tid);
	order = order ? order : COMPARE(left->time_ns, right->time_ns);
	order = order ? order : COMPARE(right->mark, left->mark);
	return order ? order : COMPARE(left->correlation_id, right->correlation_id);
}

static int by_process(const void *a, const void *b)
{
	const struct timeline_step *left = a, *right = b;

	return COMPARE(left->process_id, right->process_id);
}

static int add_step(struct timeline_steps *steps, const struct timeline_launch *begin,
		    uint64_t end_ns)
{
	if (array_reserve(&steps->steps, &steps->room_steps, steps->nr_steps + 1ull,
			  sizeof(*steps->steps)))
		return -ENOMEM;
	steps->steps[steps->nr_steps++] = (struct timeline_step){
		.begin_ns = begin->time_ns,
		.end_ns = end_ns,
		.process_id = begin->process_id,
		.tid = begin->tid,
		.number = begin->correlation_id,
		.is_first = begin->correlation_id == 1,
	};
	return 0;
}

int timeline_steps_finish(struct timeline_steps *steps, const struct capture_pauses *pauses)
{
	const struct timeline_launch *open = NULL;
	int error = mark_runs_set(steps->marks, steps->nr_marks);

	if (steps->nr_marks)
		qsort(steps->marks, steps->nr_marks, sizeof(*steps->marks), by_thread);
	for (uint32_t i = 0; i < steps->nr_marks && !error; i++) {
		const struct timeline_launch *mark = &steps->marks[i];

		if (open && (open->process_id != mark->process_id || open->tid != mark->tid ||
			     !mark_runs_end(open, mark))) {
			steps->nr_open++;
			steps->nr_cut += open->process_id == mark->process_id &&
					 open->window != mark->window;
			open = NULL;
		}
		if (open &&
		    capture_pauses_touch(pauses, open->process_id, open->time_ns, mark->time_ns)) {
			steps->nr_open++;
			steps->nr_cut++;
		} else if (open)
			error = add_step(steps, open, mark->time_ns);
		open = mark->mark == RECORD_MARK_STEP ? mark : NULL;
	}
	steps->nr_open += open != NULL;
	return error;
}

void timeline_steps_fini(struct timeline_steps *steps)
{
	free(steps->marks);
	free(steps->steps);
	*steps = (struct timeline_steps){0};
}

int timeline_steps_find(const struct timeline_steps *steps, uint32_t number,
			struct timeline_step **found, uint32_t *nr)
{
	*nr = 0;
	*found = calloc(steps->nr_steps + 1ull, sizeof(**found));
	if (!*found)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps->nr_steps; i++)
		if (steps->steps[i].number == number)
			(*found)[(*nr)++] = steps->steps[i];
	return 0;
}

const struct timeline_step *timeline_steps_of(const struct timeline_step *steps, uint32_t nr,
					      uint32_t process_id)
{
	const struct timeline_step wanted = {.process_id = process_id};

	return nr ? bsearch(&wanted, steps, nr, sizeof(*steps), by_process) : NULL;
}

const struct timeline_step *timeline_steps_at(const struct timeline_step *steps, uint32_t nr,
					      const struct timeline_launch *launch)
{
	const struct timeline_step *step = timeline_steps_of(steps, nr, launch->process_id);

	return step && launch->time_ns >= step->begin_ns && launch->time_ns < step->end_ns ? step
											   : NULL;
}

static int by_time(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Whether the step counts; a process's steps follow one another. */
static bool counts(const struct timeline_steps *steps, uint32_t i)
{
	const struct timeline_step *step = &steps->steps[i];

	return !step->is_first ||
	       ((i == 0 || step[-1].process_id != step->process_id) &&
		(i + 1 == steps->nr_steps || step[1].process_id != step->process_id));
}

int timeline_steps_slowest(const struct timeline_steps *steps, const struct timeline_step **slowest,
			   uint64_t *median_ns, uint32_t *nr)
{
	uint64_t *times = malloc((steps->nr_steps + 1ull) * sizeof(*times));
	const struct timeline_step *longest = NULL;

	*slowest = NULL;
	*median_ns = 0;
	*nr = 0;
	if (!times)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps->nr_steps; i++) {
		const struct timeline_step *step = &steps->steps[i];

		if (!counts(steps, i))
			continue;
		times[(*nr)++] = step->end_ns - step->begin_ns;
		if (!longest || times[*nr - 1] > longest->end_ns - longest->begin_ns)
			longest = step;
	}
	if (longest) {
		qsort(times, *nr, sizeof(*times), by_time);
		*median_ns = times[*nr / 2];
	}
	free(times);
	*slowest = longest;
	return 0;
}

#include "timeline_busy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define STEP_LEAST_NS 1000u

struct maker {
	struct timeline_busy *made;
	const struct timeline_launch *launches;
	const struct capture_pauses *pauses;
	const struct timeline_work *work, *end; /* of the process: the present piece, and the end */
	uint32_t device_id;
	uint64_t begin_ns, end_ns; /* of the stretch of work; both 0: none yet */
	uint64_t step, busy_ns;    /* number of the present step, and what is in it so far */
	uint64_t last_ns;          /* the last load */
};

/* Finds the shortest step with which the time has few enough. */
static uint64_t find_step(uint64_t span_ns)
{
	static const uint64_t times[] = {1, 2, 5};

	for (uint64_t unit_ns = STEP_LEAST_NS;; unit_ns *= 10)
		for (uint32_t i = 0; i < 3; i++)
			if (span_ns / (unit_ns * times[i]) < TIMELINE_BUSY_STEPS - 2)
				return unit_ns * times[i];
}

static int add_load(struct maker *maker, uint64_t step, uint64_t busy_ns)
{
	struct timeline_busy *made = maker->made;

	if (busy_ns == maker->last_ns)
		return 0;
	maker->last_ns = busy_ns;
	if (array_reserve(&made->loads, &made->room_loads, made->nr_loads + 1ull,
			  sizeof(*made->loads)))
		return -ENOMEM;
	made->loads[made->nr_loads++] =
		(struct timeline_load){step * made->step_ns, busy_ns, maker->device_id};
	return 0;
}

/* Ends the steps before this one. Those between are idle. */
static int go_to(struct maker *maker, uint64_t step)
{
	int error = 0;

	if (step == maker->step)
		return 0;
	error = add_load(maker, maker->step, maker->busy_ns);
	if (!error && step > maker->step + 1)
		error = add_load(maker, maker->step + 1, 0);
	maker->step = step;
	maker->busy_ns = 0;
	return error;
}

static int add_stretch(struct maker *maker)
{
	const uint64_t step_ns = maker->made->step_ns;
	int error = 0;

	for (uint64_t at_ns = maker->begin_ns, next_ns; at_ns < maker->end_ns && !error;
	     at_ns = next_ns) {
		const uint64_t left_ns = step_ns - at_ns % step_ns;

		next_ns = maker->end_ns - at_ns > left_ns ? at_ns + left_ns : maker->end_ns;
		error = go_to(maker, at_ns / step_ns);
		maker->busy_ns += next_ns - at_ns;
	}
	return error;
}

/* Finds the first launch of the work that begins when the present piece does, as far as launches are here. */
static uint32_t find_launch(const struct maker *maker)
{
	uint32_t found = TIMELINE_SOURCE_NONE;

	for (const struct timeline_work *work = maker->work;
	     work < maker->end && work->start_ns == maker->work->start_ns; work++)
		if (work->device_id == maker->device_id && work->kind != RECORD_GPU_SYNC &&
		    work->launch < found)
			found = work->launch;
	return found;
}

static int add_piece(struct maker *maker, const struct timeline_idle *piece)
{
	struct timeline_busy *made = maker->made;

	if (piece->begin_ns >= piece->end_ns)
		return 0;
	if (array_reserve(&made->idle, &made->room_idle, made->nr_idle + 1ull, sizeof(*made->idle)))
		return -ENOMEM;
	made->idle[made->nr_idle++] = *piece;
	return 0;
}

/* Adds the pauses of the gap, and what is before each of them. The rest is left. */
static int add_pauses(struct maker *maker, struct timeline_idle *rest)
{
	const uint32_t process_id = maker->work->process_id;
	const struct capture_pause *pause;
	int error = 0;

	while (!error && rest->begin_ns < rest->end_ns &&
	       (pause = capture_pauses_find(maker->pauses, process_id, rest->begin_ns)) != NULL &&
	       pause->begin_ns < rest->end_ns) {
		struct timeline_idle piece = *rest;

		piece.launch = TIMELINE_SOURCE_NONE;
		if (pause->begin_ns > piece.begin_ns) {
			piece.end_ns = pause->begin_ns;
			error = add_piece(maker, &piece);
			piece.begin_ns = pause->begin_ns;
		}
		piece.end_ns = pause->end_ns < rest->end_ns ? pause->end_ns : rest->end_ns;
		piece.reason = TIMELINE_IDLE_PAUSE;
		if (!error)
			error = add_piece(maker, &piece);
		rest->begin_ns = piece.end_ns;
	}
	return error;
}

/* Adds the gap before the present piece of work. */
static int add_idle(struct maker *maker)
{
	struct timeline_idle piece = {.begin_ns = maker->end_ns,
				      .end_ns = maker->work->start_ns,
				      .device_id = maker->device_id,
				      .launch = find_launch(maker)};

	if (piece.end_ns - piece.begin_ns < TIMELINE_BUSY_IDLE_NS)
		return 0;
	int error = add_pauses(maker, &piece);
	if (error)
		return error;
	if (piece.launch == TIMELINE_SOURCE_NONE)
		return add_piece(maker, &piece);
	const uint64_t time_ns = maker->launches[piece.launch].time_ns;
	struct timeline_idle start = piece;

	start.reason = TIMELINE_IDLE_START;
	if (time_ns > start.begin_ns)
		start.begin_ns = time_ns < start.end_ns ? time_ns : start.end_ns;
	piece.end_ns = start.begin_ns;
	piece.reason = piece.end_ns - piece.begin_ns < TIMELINE_BUSY_HOST_NS
			       ? TIMELINE_IDLE_LAUNCHES
			       : TIMELINE_IDLE_HOST;
	error = add_piece(maker, &piece);
	return error ? error : add_piece(maker, &start);
}

static int add_work(struct maker *maker)
{
	const struct timeline_work *work = maker->work;
	int error = 0;

	if (maker->end_ns && work->start_ns > maker->end_ns) {
		error = add_stretch(maker);
		if (!error)
			error = add_idle(maker);
		maker->begin_ns = work->start_ns;
	} else if (!maker->end_ns) {
		maker->begin_ns = work->start_ns;
		maker->step = work->start_ns / maker->made->step_ns;
	}
	if (work->end_ns > maker->end_ns)
		maker->end_ns = work->end_ns;
	return error;
}

static int add_device(struct timeline_busy *busy, const struct timeline_launch *launches,
		      const struct timeline_work *work, uint32_t nr_work,
		      const struct capture_pauses *pauses, uint32_t device_id)
{
	struct maker maker = {.made = busy,
			      .launches = launches,
			      .pauses = pauses,
			      .work = work,
			      .end = work + nr_work,
			      .device_id = device_id};
	int error = 0;

	for (; maker.work < maker.end && !error; maker.work++)
		if (maker.work->device_id == device_id && maker.work->kind != RECORD_GPU_SYNC)
			error = add_work(&maker);
	if (!error)
		error = add_stretch(&maker);
	if (!error)
		error = add_load(&maker, maker.step, maker.busy_ns);
	return error ? error : add_load(&maker, maker.step + 1, 0);
}

int timeline_busy_init(struct timeline_busy *busy, const struct timeline_launch *launches,
		       const struct timeline_work *work, uint32_t nr_work,
		       const struct capture_pauses *pauses)
{
	uint32_t devices[RECORD_DEVICES_MAX + 1], nr = 0, known;
	uint64_t last_ns = 0;
	int error = 0;

	*busy = (struct timeline_busy){0};
	for (uint32_t i = 0; i < nr_work; i++) {
		last_ns = work[i].end_ns > last_ns ? work[i].end_ns : last_ns;
		for (known = 0; known < nr && devices[known] != work[i].device_id; known++)
			;
		if (known == nr && nr <= RECORD_DEVICES_MAX && work[i].kind != RECORD_GPU_SYNC)
			devices[nr++] = work[i].device_id;
	}
	if (nr)
		busy->step_ns = find_step(last_ns - work[0].start_ns);
	for (uint32_t i = 0; i < nr && !error; i++)
		error = add_device(busy, launches, work, nr_work, pauses, devices[i]);
	return error;
}

void timeline_busy_fini(struct timeline_busy *busy)
{
	free(busy->idle);
	free(busy->loads);
	*busy = (struct timeline_busy){0};
}

#include "uncaptured.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "base/array.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_begin(const void *a, const void *b)
{
	const struct capture_pause *left = a, *right = b;
	const int order = COMPARE(left->process_id, right->process_id);

	return order ? order : COMPARE(left->begin_ns, right->begin_ns);
}

/* Makes pauses of one device that overlap one. */
static void join(struct capture_pauses *pauses)
{
	uint32_t nr = 0;

	if (pauses->nr_pauses)
		qsort(pauses->pauses, pauses->nr_pauses, sizeof(*pauses->pauses), by_begin);
	for (uint32_t i = 0; i < pauses->nr_pauses; i++) {
		const struct capture_pause *pause = &pauses->pauses[i];
		struct capture_pause *last = nr ? &pauses->pauses[nr - 1] : NULL;

		if (!last || last->process_id != pause->process_id ||
		    pause->begin_ns > last->end_ns)
			pauses->pauses[nr++] = *pause;
		else if (pause->end_ns > last->end_ns)
			last->end_ns = pause->end_ns;
	}
	pauses->nr_pauses = nr;
}

/* Gives each pause of a process to all devices that it has described. */
static int find_devices(struct uncaptured *uncaptured)
{
	struct capture_pauses *devices = &uncaptured->devices;
	uint32_t room = 0;

	for (uint32_t i = 0; i < uncaptured->processes.nr_pauses; i++) {
		struct capture_pause pause = uncaptured->processes.pauses[i];
		const struct roster_process *process =
			roster_process(uncaptured->roster, pause.process_id);

		for (uint32_t k = 0; k < process->nr_devices; k++) {
			pause.process_id = process->devices[k].device;
			if (array_reserve(&devices->pauses, &room, devices->nr_pauses + 1ull,
					  sizeof(*devices->pauses)))
				return -ENOMEM;
			devices->pauses[devices->nr_pauses++] = pause;
		}
	}
	join(devices);
	return 0;
}

int uncaptured_init(struct uncaptured *uncaptured, const struct roster *roster,
		    struct capture_pauses pauses)
{
	*uncaptured = (struct uncaptured){.roster = roster, .processes = pauses};
	return find_devices(uncaptured);
}

int uncaptured_read(struct uncaptured *uncaptured, struct timeline_source *source,
		    const struct timeline_request *request)
{
	struct capture_pauses pauses;
	const int error = capture_pauses_read(&pauses, source, request);
	const int result = uncaptured_init(
		uncaptured, timeline_source_profile(source)->collection->roster, pauses);

	return error ? error : result;
}

/* ---- steps */

struct taker { /* of pauses */
	struct capture_pauses *pauses;
	uint32_t room;
	uint32_t first; /* of a process, where there are several */
};

/* Leaves out what is before and behind the step. */
static int leave_out(struct taker *taker, uint32_t id, const struct timeline_step *step)
{
	struct capture_pauses *pauses = taker->pauses;

	if (array_reserve(&pauses->pauses, &taker->room, pauses->nr_pauses + 2ull,
			  sizeof(*pauses->pauses)))
		return -ENOMEM;
	pauses->pauses[pauses->nr_pauses++] = (struct capture_pause){0, step->begin_ns, id};
	pauses->pauses[pauses->nr_pauses++] = (struct capture_pause){step->end_ns, UINT64_MAX, id};
	return 0;
}

/* Takes the device, if it is the process's first work on it. */
static int take_device(struct taker *taker, uint32_t device, const struct timeline_step *step)
{
	const struct capture_pauses *pauses = taker->pauses;

	for (uint32_t i = taker->first; i < pauses->nr_pauses; i += 2)
		if (pauses->pauses[i].process_id == device)
			return 0;
	return leave_out(taker, device, step);
}

static int take_devices(struct taker *taker, const struct roster *roster,
			const struct timeline_step *steps, uint32_t nr_steps,
			const struct timeline_events *events)
{
	int error = 0;

	for (uint32_t i = 0; i < events->nr_work && !error; i++) {
		const struct timeline_work *work = &events->work[i];
		const struct roster_process *process = roster_process(roster, work->process_id);
		const struct timeline_launch *launch = work->launch == TIMELINE_SOURCE_NONE
							       ? NULL
							       : &events->launches[work->launch];
		const struct timeline_step *step =
			launch ? timeline_steps_at(steps, nr_steps, launch) : NULL;
		const uint32_t device =
			process ? roster_process_device(process, work->device_id) : 0;

		if (i == 0 || work->process_id != work[-1].process_id)
			taker->first = taker->pauses->nr_pauses;
		if (step && device && work->kind <= RECORD_GPU_GRAPH)
			error = take_device(taker, device, step);
	}
	return error;
}

int uncaptured_steps(struct uncaptured *uncaptured, const struct roster *roster,
		     const struct timeline_step *steps, uint32_t nr_steps,
		     const struct timeline_events *events)
{
	struct taker processes = {.pauses = &uncaptured->processes};
	struct taker devices = {.pauses = &uncaptured->devices};
	int error = 0;

	*uncaptured = (struct uncaptured){.roster = roster, .is_of_steps = true};
	for (uint32_t i = 0; i < nr_steps && !error; i++)
		error = leave_out(&processes, steps[i].process_id, &steps[i]);
	if (!error)
		error = take_devices(&devices, roster, steps, nr_steps, events);
	join(&uncaptured->processes);
	join(&uncaptured->devices);
	return error;
}

void uncaptured_fini(struct uncaptured *uncaptured)
{
	capture_pauses_fini(&uncaptured->processes);
	capture_pauses_fini(&uncaptured->devices);
}

static const struct capture_pauses *pauses_of(const struct uncaptured *uncaptured,
					      const struct timeline_key *key, uint32_t *id)
{
	const bool is_device = key->level == TIMELINE_DEVICE;

	*id = is_device ? key->device_id : key->process_id;
	return is_device ? &uncaptured->devices : &uncaptured->processes;
}

bool uncaptured_step_of(const struct uncaptured *uncaptured, const struct timeline_key *key,
			uint64_t *from_ns, uint64_t *to_ns)
{
	uint32_t id;
	const struct capture_pauses *pauses = pauses_of(uncaptured, key, &id);
	const struct capture_pause *before = capture_pauses_find(pauses, id, 0);

	/* Steps that have no time in common left one pause. */
	if (!uncaptured->is_of_steps || !before || before->end_ns == UINT64_MAX)
		return false;
	*from_ns = before->end_ns;
	*to_ns = before[1].begin_ns;
	return true;
}

/* ---- sums */

static uint64_t part_ns(const struct capture_pause *pause, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t begin_ns = pause->begin_ns > from_ns ? pause->begin_ns : from_ns;
	const uint64_t end_ns = pause->end_ns < to_ns ? pause->end_ns : to_ns;

	return begin_ns < end_ns ? end_ns - begin_ns : 0;
}

uint64_t uncaptured_sum_ns(const struct uncaptured *uncaptured, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < uncaptured->processes.nr_pauses; i++)
		ns += part_ns(&uncaptured->processes.pauses[i], from_ns, to_ns);
	return ns;
}

uint64_t uncaptured_pauses_ns(const struct uncaptured *uncaptured, const struct timeline_key *key,
			      uint64_t from_ns, uint64_t to_ns)
{
	uint32_t id;
	const struct capture_pauses *pauses = pauses_of(uncaptured, key, &id);
	const struct capture_pause *pause = capture_pauses_find(pauses, id, from_ns);
	uint64_t ns = 0;

	if (key->level > TIMELINE_WORK || !pause)
		return 0;
	for (; pause < pauses->pauses + pauses->nr_pauses && pause->process_id == id &&
	       pause->begin_ns < to_ns;
	     pause++)
		ns += part_ns(pause, from_ns, to_ns);
	return ns;
}

/* ---- work within pauses */

int uncaptured_work_init(struct uncaptured_work *work, const struct uncaptured *of)
{
	*work = (struct uncaptured_work){0};
	if (!of || !of->processes.nr_pauses)
		return 0;
	work->of = of;
	work->busy = timeline_table_create();
	return work->busy ? 0 : -ENOMEM;
}

void uncaptured_work_fini(struct uncaptured_work *work)
{
	timeline_table_destroy(work->busy);
	*work = (struct uncaptured_work){0};
}

/* Adds the piece's parts that are in pauses. */
static int add(struct uncaptured_work *work, const struct timeline_work *piece,
	       const struct capture_pauses *pauses, uint32_t id, const struct timeline_key *key)
{
	const struct capture_pause *pause = capture_pauses_find(pauses, id, piece->start_ns);
	int error = 0;

	for (; pause && !error && pause < pauses->pauses + pauses->nr_pauses &&
	       pause->process_id == id && pause->begin_ns < piece->end_ns;
	     pause++)
		error = timeline_table_add(
			work->busy, key,
			pause->begin_ns > piece->start_ns ? pause->begin_ns : piece->start_ns,
			pause->end_ns < piece->end_ns ? pause->end_ns : piece->end_ns);
	return error;
}

int uncaptured_work_add(struct uncaptured_work *work, const struct timeline_work *piece)
{
	if (!work->busy || piece->kind > RECORD_GPU_GRAPH || piece->start_ns == 0)
		return 0;
	const uint32_t process_id = piece->process_id;
	const uint32_t device = roster_process_device(roster_process(work->of->roster, process_id),
						      piece->device_id);
	struct timeline_key key = {
		.level = TIMELINE_WORK, .process_id = process_id, .device_id = piece->device_id};
	int error = add(work, piece, &work->of->processes, process_id, &key);

	key.context_id = piece->context_id;
	key.stream_id = piece->stream_id;
	key.level = TIMELINE_STREAM;
	if (!error)
		error = add(work, piece, &work->of->processes, process_id, &key);
	key = (struct timeline_key){
		.level = TIMELINE_DEVICE, .process_id = ROSTER_WRITER, .device_id = device};
	return error || !device ? error : add(work, piece, &work->of->devices, device, &key);
}

uint64_t uncaptured_work_busy_ns(const struct uncaptured_work *work, const struct timeline_key *key)
{
	struct timeline_key own = *key;

	/* A device that nobody described is busy with its process's work. */
	if (key->level == TIMELINE_ORDINAL)
		own.level = TIMELINE_WORK;
	const struct timeline_entry *entry =
		work->busy ? timeline_table_find(work->busy, &own) : NULL;
	return entry ? stream_timeline_busy_ns(entry->timeline) : 0;
}

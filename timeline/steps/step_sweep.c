#include "step_sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "step_pending.h"
#include "step_pieces.h"
#include "step_running.h"

#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "timeline/trace/nccl_names.h"

#define LAUNCHES_BACK 4096u /* among so many launches the thread's last one is looked for */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct edge { /* of an interval of work */
	uint64_t time_ns;
	uint32_t work, order; /* order: of the launches */
	uint8_t part;         /* enum step_part */
	bool is_begin;
};

struct process {
	uint32_t id;
	uint64_t idle_ns;            /* when its GPUs fell idle; 0: they have not worked yet */
	struct timeline_launch last; /* of the stretches before; stack_id 0: none */
};

struct step_sweep {
	struct step_pieces pieces;
	const struct nccl_waits *nccl;
	struct process *processes; /* owns; [id - 1] */
	uint32_t nr_processes;
	struct nccl_names names;
	struct edge *edges; /* owns; of the present process and stretch */
	uint32_t nr_edges, room_edges;
	struct step_pending pending;
	const struct timeline_events *events;
	uint64_t from_ns, to_ns;
};

/* ---- life */

struct step_sweep *step_sweep_create(struct step_rows *rows, const struct profile *profile,
				     const struct nccl_waits *nccl)
{
	struct step_sweep *sweep = calloc(1, sizeof(*sweep));

	if (!sweep)
		return NULL;
	*sweep = (struct step_sweep){
		.nccl = nccl,
		.nr_processes = roster_size(profile->collection->roster).processes,
	};
	sweep->processes = calloc(sweep->nr_processes + 1ull, sizeof(*sweep->processes));
	if (nccl_names_init(&sweep->names, profile->collection->catalog) ||
	    step_pieces_init(&sweep->pieces, rows, sweep->nr_processes) || !sweep->processes) {
		step_sweep_destroy(sweep);
		return NULL;
	}
	for (uint32_t i = 0; i < sweep->nr_processes; i++)
		sweep->processes[i].id = i + 1;
	return sweep;
}

void step_sweep_destroy(struct step_sweep *sweep)
{
	if (!sweep)
		return;
	free(sweep->processes);
	step_pieces_fini(&sweep->pieces);
	nccl_names_fini(&sweep->names);
	free(sweep->edges);
	step_pending_fini(&sweep->pending);
	free(sweep);
}

/* ---- idle time */

/* Returns the stack of the thread's launch before this one, which is in the stretch. 0: it is not known. */
static uint32_t find_before(const struct step_sweep *sweep, const struct process *process,
			    const struct timeline_launch *launch)
{
	const struct timeline_launch *first = sweep->events->launches, *at = launch;

	for (uint32_t i = 0; i < LAUNCHES_BACK && at > first; i++) {
		at--;
		if (at->process_id != launch->process_id)
			break;
		if (at->tid == launch->tid && !(at->flags & RECORD_LAUNCH_HOST))
			return at->stack_id;
	}
	return process->last.tid == launch->tid && process->last.time_ns < launch->time_ns
		       ? process->last.stack_id
		       : 0;
}

/* Finds the launch of work, in its stretch or before. false: it is not known. */
static bool find_launch(struct step_sweep *sweep, const struct process *process,
			const struct timeline_work *work, struct step_pending_launch *found)
{
	if (work->launch != TIMELINE_SOURCE_NONE) {
		const struct timeline_launch *launch = &sweep->events->launches[work->launch];

		*found = (struct step_pending_launch){
			.launch = *launch, .before = find_before(sweep, process, launch)};
		return true;
	}
	const struct step_pending_launch *pending = step_pending_find(&sweep->pending, work);
	if (pending)
		*found = *pending;
	return pending != NULL;
}

/* Ends a gap at end_ns, where this launch's work begins; NULL: its launch is not known. */
static void add_gap(struct step_sweep *sweep, struct process *process, uint64_t end_ns,
		    const struct step_pending_launch *found)
{
	struct step_piece piece = {
		.begin_ns = process->idle_ns, .end_ns = end_ns, .part = STEP_IDLE_UNKNOWN};

	if (!found) {
		step_pieces_add(&sweep->pieces, process->id, &piece);
		return;
	}
	const struct timeline_launch *launch = &found->launch;
	uint64_t launched_ns = launch->time_ns < end_ns ? launch->time_ns : end_ns;
	if (launched_ns < process->idle_ns)
		launched_ns = process->idle_ns;
	piece = (struct step_piece){
		.begin_ns = process->idle_ns,
		.end_ns = launched_ns,
		.part = launched_ns - process->idle_ns < TIMELINE_BUSY_HOST_NS ? STEP_IDLE_LAUNCHES
									       : STEP_IDLE_HOST,
		.tid = launch->tid,
		.before = found->before,
		.after = launch->stack_id,
	};
	step_pieces_add(&sweep->pieces, process->id, &piece);
	piece = (struct step_piece){
		.begin_ns = launched_ns, .end_ns = end_ns, .part = STEP_IDLE_START};
	step_pieces_add(&sweep->pieces, process->id, &piece);
}

/* ---- the parts of work */

/* Work comes first whose launch was first, and that of an unknown launch last. */
static uint32_t order_of(struct step_sweep *sweep, uint32_t index)
{
	const struct timeline_work *work = &sweep->events->work[index];

	if (work->launch != TIMELINE_SOURCE_NONE)
		return work->launch + 1;
	return step_pending_find(&sweep->pending, work) ? 0 : UINT32_MAX;
}

/* Adds an interval, cut to the stretch. 0 or -ENOMEM. */
static int add_interval(struct step_sweep *sweep, uint32_t work, uint64_t begin_ns, uint64_t end_ns,
			enum step_part part)
{
	if (begin_ns < sweep->from_ns)
		begin_ns = sweep->from_ns;
	if (end_ns > sweep->to_ns)
		end_ns = sweep->to_ns;
	if (begin_ns >= end_ns)
		return 0;
	if (array_reserve(&sweep->edges, &sweep->room_edges, sweep->nr_edges + 2ull,
			  sizeof(*sweep->edges)))
		return -ENOMEM;
	struct edge edge = {begin_ns, work, order_of(sweep, work), (uint8_t)part, true};
	sweep->edges[sweep->nr_edges++] = edge;
	edge.time_ns = end_ns;
	edge.is_begin = false;
	sweep->edges[sweep->nr_edges++] = edge;
	return 0;
}

static int add_work(struct step_sweep *sweep, uint32_t index)
{
	const struct timeline_work *work = &sweep->events->work[index];
	uint64_t wait_ns;

	if (work->kind == RECORD_GPU_SYNC)
		return 0;
	if (work->kind == RECORD_GPU_GRAPH)
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_GRAPHS);
	if (work->kind != RECORD_GPU_KERNEL)
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_COPIES);
	if (!nccl_names_have(&sweep->names, work->name_id))
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_COMPUTE);
	if (!sweep->nccl || !nccl_waits_find(sweep->nccl, work->process_id, work->correlation_id,
					     work->end_ns - work->start_ns, &wait_ns))
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_NCCL);
	int error = add_interval(sweep, index, work->start_ns, work->start_ns + wait_ns,
				 STEP_NCCL_WAITS);
	return error ? error
		     : add_interval(sweep, index, work->start_ns + wait_ns, work->end_ns,
				    STEP_NCCL_MOVES);
}

static int by_time(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;
	int order = COMPARE(left->time_ns, right->time_ns);

	order = order ? order : COMPARE(left->is_begin, right->is_begin);
	order = order ? order : COMPARE(left->order, right->order);
	return order ? order : COMPARE(left->work, right->work);
}

static uint64_t launch_time(struct step_sweep *sweep, uint32_t index)
{
	const struct timeline_work *work = &sweep->events->work[index];

	if (work->launch != TIMELINE_SOURCE_NONE)
		return sweep->events->launches[work->launch].time_ns;
	const struct step_pending_launch *pending = step_pending_find(&sweep->pending, work);
	return pending ? pending->launch.time_ns : STEP_RUNNING_UNKNOWN;
}

/* Walks over the edges of a process. */
static void walk(struct step_sweep *sweep, struct process *process)
{
	struct step_running running = {0};
	uint64_t at_ns = sweep->from_ns;

	for (uint32_t i = 0; i < sweep->nr_edges; i++) {
		const struct edge *edge = &sweep->edges[i];
		struct step_pending_launch found;

		if (running.nr && edge->time_ns > at_ns) {
			struct step_piece piece = {.begin_ns = at_ns, .end_ns = edge->time_ns};

			piece.part = step_running_part(&running, &piece.launched_ns);
			step_pieces_add(&sweep->pieces, process->id, &piece);
		} else if (!running.nr && edge->time_ns > process->idle_ns) {
			const bool is_known = find_launch(sweep, process,
							  &sweep->events->work[edge->work], &found);

			add_gap(sweep, process, edge->time_ns, is_known ? &found : NULL);
		}
		at_ns = edge->time_ns;
		if (edge->is_begin)
			step_running_begin(&running, edge->part, edge->work,
					   launch_time(sweep, edge->work));
		else
			step_running_end(&running, edge->part, edge->work);
		if (!running.nr)
			process->idle_ns = at_ns;
	}
}

/* ---- stretches */

/* Adds the work [first, end), which is of one process. 0 or -ENOMEM. */
static int take_process(struct step_sweep *sweep, uint32_t first, uint32_t end)
{
	struct process *process = &sweep->processes[sweep->events->work[first].process_id - 1];
	int error = 0;

	sweep->nr_edges = 0;
	if (!step_pieces_has(&sweep->pieces, process->id))
		return 0;
	for (uint32_t i = first; i < end && !error; i++)
		error = add_work(sweep, i);
	if (error || !sweep->nr_edges)
		return error;
	qsort(sweep->edges, sweep->nr_edges, sizeof(*sweep->edges), by_time);
	walk(sweep, process);
	return 0;
}

static bool is_in(const struct step_sweep *sweep, const struct timeline_launch *launch)
{
	return launch->process_id && launch->process_id <= sweep->nr_processes &&
	       step_pieces_has(&sweep->pieces, launch->process_id) &&
	       launch->time_ns >= sweep->from_ns && launch->time_ns < sweep->to_ns &&
	       !(launch->flags & RECORD_LAUNCH_HOST);
}

/* Keeps the launches of the stretch whose work may come later. 0 or -ENOMEM. */
static int keep_launches(struct step_sweep *sweep)
{
	const struct timeline_events *events = sweep->events;
	uint64_t *ends_ns = calloc(events->nr_launches + 1ull, sizeof(*ends_ns));
	int error = ends_ns ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < events->nr_work && !error; i++) {
		const struct timeline_work *work = &events->work[i];

		if (work->launch != TIMELINE_SOURCE_NONE && work->end_ns > ends_ns[work->launch])
			ends_ns[work->launch] = work->end_ns;
	}
	step_pending_next(&sweep->pending, sweep->to_ns);
	for (uint32_t i = 0; i < events->nr_launches && !error; i++) {
		const struct timeline_launch *launch = &events->launches[i];
		struct step_pending_launch kept = {.launch = *launch, .end_ns = ends_ns[i]};

		if (!is_in(sweep, launch) || step_pending_is_old(&kept, sweep->to_ns))
			continue;
		kept.before = find_before(sweep, &sweep->processes[launch->process_id - 1], launch);
		error = step_pending_add(&sweep->pending, &kept);
	}
	for (uint32_t i = 0; i < events->nr_launches && !error; i++)
		if (is_in(sweep, &events->launches[i]))
			sweep->processes[events->launches[i].process_id - 1].last =
				events->launches[i];
	step_pending_sort(&sweep->pending);
	free(ends_ns);
	return error;
}

int step_sweep_add(struct step_sweep *sweep, const struct timeline_events *events, uint64_t from_ns,
		   uint64_t to_ns)
{
	int error = 0;

	sweep->events = events;
	sweep->from_ns = from_ns;
	sweep->to_ns = to_ns;
	for (uint32_t i = 0, end; i < events->nr_work && !error; i = end) {
		const uint32_t id = events->work[i].process_id;

		for (end = i; end < events->nr_work && events->work[end].process_id == id; end++)
			;
		if (id && id <= sweep->nr_processes)
			error = take_process(sweep, i, end);
	}
	return error ? error : keep_launches(sweep);
}

void step_sweep_end(struct step_sweep *sweep)
{
	for (uint32_t i = 0; i < sweep->nr_processes; i++)
		add_gap(sweep, &sweep->processes[i], UINT64_MAX, NULL);
}

#include "step_sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"

#define LAUNCHES_BACK 4096u /* among so many launches the thread's last one is looked for */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

struct edge { /* of an interval of work */
	uint64_t time_ns;
	uint32_t work;
	uint8_t part; /* enum step_part */
	bool is_begin;
};

struct cursor { /* the rows of a thread that have not ended */
	uint32_t next, end;
};

struct process {
	struct cursor *cursors; /* borrowed from the sweep's */
	uint32_t nr_cursors;
	uint64_t idle_ns;            /* when its GPUs fell idle; 0: they have not worked yet */
	struct timeline_launch last; /* of the stretches before; stack_id 0: none */
};

enum kernel_name { NAME_NEW, NAME_NCCL, NAME_OTHER };

struct step_sweep {
	struct step_rows *rows;
	const struct profile *profile;
	const struct step_nccl *nccl;
	struct process *processes; /* owns; [id - 1] */
	struct cursor *cursors;    /* owns */
	uint8_t *names;            /* owns; by string: enum kernel_name */
	uint32_t nr_processes, nr_names;
	struct edge *edges; /* owns; of the present process and stretch */
	uint32_t nr_edges, room_edges;
	const struct timeline_events *events;
	uint64_t from_ns, to_ns;
};

/* ---- life */

static void find_cursors(struct step_sweep *sweep)
{
	const struct step_row *rows = sweep->rows->rows;
	uint32_t nr = 0;

	for (uint32_t i = 0, end; i < sweep->rows->nr_rows; i = end) {
		struct process *process = &sweep->processes[rows[i].process_id - 1];

		for (end = i; end < sweep->rows->nr_rows && rows[end].tid == rows[i].tid &&
			      rows[end].process_id == rows[i].process_id;
		     end++)
			;
		sweep->cursors[nr] = (struct cursor){i, end};
		if (!process->nr_cursors++)
			process->cursors = &sweep->cursors[nr];
		nr++;
	}
}

struct step_sweep *step_sweep_create(struct step_rows *rows, const struct profile *profile,
				     const struct step_nccl *nccl)
{
	struct step_sweep *sweep = calloc(1, sizeof(*sweep));

	if (!sweep)
		return NULL;
	*sweep = (struct step_sweep){
		.rows = rows,
		.profile = profile,
		.nccl = nccl,
		.nr_processes = roster_size(profile->collection->roster).processes,
		.nr_names = catalog_size(profile->collection->catalog).strings + 1,
	};
	sweep->processes = calloc(sweep->nr_processes + 1ull, sizeof(*sweep->processes));
	sweep->cursors = calloc(rows->nr_rows + 1ull, sizeof(*sweep->cursors));
	sweep->names = calloc(sweep->nr_names, 1);
	if (!sweep->processes || !sweep->cursors || !sweep->names) {
		step_sweep_destroy(sweep);
		return NULL;
	}
	find_cursors(sweep);
	return sweep;
}

void step_sweep_destroy(struct step_sweep *sweep)
{
	if (!sweep)
		return;
	free(sweep->processes);
	free(sweep->cursors);
	free(sweep->names);
	free(sweep->edges);
	free(sweep);
}

/* ---- parts of rows */

/* A stretch of one part, with what is known of its begin and end where it is idle. */
struct piece {
	uint64_t begin_ns, end_ns;
	enum step_part part;
	const struct timeline_launch *before, *after; /* NULL: not known */
};

static void note_gap(struct step_row *row, const struct piece *piece, uint64_t begin_ns,
		     uint64_t end_ns)
{
	if (end_ns - begin_ns <= row->gap.end_ns - row->gap.begin_ns)
		return;
	row->gap = (struct step_gap){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.tid = piece->after ? piece->after->tid : 0,
		.before = piece->before ? piece->before->stack_id : 0,
		.after = piece->after ? piece->after->stack_id : 0,
	};
}

/* Pieces of a process come in order of time. */
static void add_piece(struct step_sweep *sweep, struct process *process, const struct piece *piece)
{
	if (piece->begin_ns >= piece->end_ns)
		return;
	for (uint32_t i = 0; i < process->nr_cursors; i++) {
		struct cursor *cursor = &process->cursors[i];

		while (cursor->next < cursor->end &&
		       sweep->rows->rows[cursor->next].end_ns <= piece->begin_ns)
			cursor->next++;
		for (uint32_t k = cursor->next; k < cursor->end; k++) {
			struct step_row *row = &sweep->rows->rows[k];
			const uint64_t begin_ns =
				piece->begin_ns > row->begin_ns ? piece->begin_ns : row->begin_ns;
			const uint64_t end_ns =
				piece->end_ns < row->end_ns ? piece->end_ns : row->end_ns;

			if (row->begin_ns >= piece->end_ns)
				break;
			row->parts_ns[piece->part] += end_ns - begin_ns;
			if (piece->part == STEP_IDLE_HOST)
				note_gap(row, piece, begin_ns, end_ns);
		}
	}
}

/* ---- idle time */

/* Finds the launch of the same thread before this one. */
static const struct timeline_launch *find_before(const struct step_sweep *sweep,
						 const struct process *process,
						 const struct timeline_launch *launch)
{
	const struct timeline_launch *first = sweep->events->launches, *at = launch;

	for (uint32_t i = 0; i < LAUNCHES_BACK && at > first; i++) {
		at--;
		if (at->process_id != launch->process_id)
			break;
		if (at->tid == launch->tid && !(at->flags & RECORD_LAUNCH_HOST))
			return at;
	}
	return process->last.stack_id && process->last.tid == launch->tid &&
			       process->last.time_ns < launch->time_ns
		       ? &process->last
		       : NULL;
}

/* Ends a gap at end_ns, where this launch's work begins; NULL: its launch is not known. */
static void add_gap(struct step_sweep *sweep, struct process *process, uint64_t end_ns,
		    const struct timeline_launch *launch)
{
	struct piece piece = {.begin_ns = process->idle_ns, .end_ns = end_ns};
	uint64_t launched_ns = launch && launch->time_ns < end_ns ? launch->time_ns : end_ns;

	if (!launch) {
		piece.part = STEP_IDLE_UNKNOWN;
		add_piece(sweep, process, &piece);
		return;
	}
	if (launched_ns < process->idle_ns)
		launched_ns = process->idle_ns;
	piece.end_ns = launched_ns;
	piece.part = launched_ns - process->idle_ns < STEP_ROWS_HOST_NS ? STEP_IDLE_LAUNCHES
									: STEP_IDLE_HOST;
	if (piece.part == STEP_IDLE_HOST) {
		piece.after = launch;
		piece.before = find_before(sweep, process, launch);
	}
	add_piece(sweep, process, &piece);
	piece = (struct piece){launched_ns, end_ns, STEP_IDLE_START, NULL, NULL};
	add_piece(sweep, process, &piece);
}

/* ---- the parts of work */

static bool is_nccl(struct step_sweep *sweep, uint32_t name_id)
{
	uint32_t size;

	if (name_id >= sweep->nr_names)
		return false;
	if (!sweep->names[name_id]) {
		const char *name =
			catalog_string(sweep->profile->collection->catalog, name_id, &size);

		sweep->names[name_id] = nccl_kernel_is(name, size) ? NAME_NCCL : NAME_OTHER;
	}
	return sweep->names[name_id] == NAME_NCCL;
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
	sweep->edges[sweep->nr_edges++] = (struct edge){begin_ns, work, (uint8_t)part, true};
	sweep->edges[sweep->nr_edges++] = (struct edge){end_ns, work, (uint8_t)part, false};
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
	if (!is_nccl(sweep, work->name_id))
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_COMPUTE);
	if (!sweep->nccl || !step_nccl_find(sweep->nccl, work->process_id, work->correlation_id,
					    work->end_ns - work->start_ns, &wait_ns))
		return add_interval(sweep, index, work->start_ns, work->end_ns, STEP_NCCL);
	int error = add_interval(sweep, index, work->start_ns, work->start_ns + wait_ns,
				 STEP_NCCL_WAITS);
	return error ? error
		     : add_interval(sweep, index, work->start_ns + wait_ns, work->end_ns,
				    STEP_NCCL_MOVES);
}

/* Of what begins at one time, work comes first whose launch was first; that of an unknown launch comes last. */
static int by_time(const void *a, const void *b, void *context)
{
	const struct step_sweep *sweep = context;
	const struct edge *left = a, *right = b;
	int order = COMPARE(left->time_ns, right->time_ns);

	order = order ? order : COMPARE(left->is_begin, right->is_begin);
	order = order ? order
		      : COMPARE(sweep->events->work[left->work].launch,
				sweep->events->work[right->work].launch);
	return order ? order : COMPARE(left->work, right->work);
}

/* Walks over the edges of a process. */
static void walk(struct step_sweep *sweep, struct process *process)
{
	uint32_t running[STEP_PARTS] = {0}, nr_running = 0;
	uint64_t at_ns = sweep->from_ns;

	for (uint32_t i = 0; i < sweep->nr_edges; i++) {
		const struct edge *edge = &sweep->edges[i];
		const uint32_t launch = sweep->events->work[edge->work].launch;

		if (nr_running && edge->time_ns > at_ns) {
			enum step_part part = STEP_COMPUTE;

			while (!running[part])
				part++;
			add_piece(sweep, process,
				  &(struct piece){at_ns, edge->time_ns, part, NULL, NULL});
		} else if (!nr_running && edge->time_ns > process->idle_ns) {
			add_gap(sweep, process, edge->time_ns,
				launch == TIMELINE_SOURCE_NONE ? NULL
							       : &sweep->events->launches[launch]);
		}
		at_ns = edge->time_ns;
		running[edge->part] += edge->is_begin ? 1 : UINT32_MAX;
		nr_running += edge->is_begin ? 1 : UINT32_MAX;
		if (!nr_running)
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
	if (!process->nr_cursors)
		return 0;
	for (uint32_t i = first; i < end && !error; i++)
		error = add_work(sweep, i);
	if (error || !sweep->nr_edges)
		return error;
	qsort_r(sweep->edges, sweep->nr_edges, sizeof(*sweep->edges), by_time, sweep);
	walk(sweep, process);
	return 0;
}

static void keep_launches(struct step_sweep *sweep)
{
	const struct timeline_events *events = sweep->events;

	for (uint32_t i = 0; i < events->nr_launches; i++) {
		const struct timeline_launch *launch = &events->launches[i];

		if (launch->process_id <= sweep->nr_processes && launch->time_ns < sweep->to_ns &&
		    !(launch->flags & RECORD_LAUNCH_HOST))
			sweep->processes[launch->process_id - 1].last = *launch;
	}
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
	keep_launches(sweep);
	return error;
}

void step_sweep_end(struct step_sweep *sweep)
{
	for (uint32_t i = 0; i < sweep->nr_processes; i++)
		add_gap(sweep, &sweep->processes[i], UINT64_MAX, NULL);
}

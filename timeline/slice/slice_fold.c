#include "slice_fold.h"

#include <errno.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/session_modules.h"

/* NULL: the launch was not kept. */
static const struct timeline_launch *launch_of(const struct timeline_events *events,
					       const struct timeline_work *work)
{
	return work->launch == TIMELINE_SOURCE_NONE ? NULL : &events->launches[work->launch];
}

static bool is_within(const struct slice_fold *fold, uint64_t time_ns)
{
	return time_ns >= fold->from_ns && time_ns < fold->to_ns;
}

static bool is_launch_within(const struct slice_fold *fold, const struct timeline_launch *launch)
{
	return fold->nr_steps ? timeline_steps_at(fold->steps, fold->nr_steps, launch) != NULL
			      : is_within(fold, launch->time_ns);
}

static bool belongs(const struct slice_fold *fold, const struct timeline_work *work,
		    const struct timeline_launch *launch)
{
	if (fold->nr_steps)
		return launch && is_launch_within(fold, launch);
	return is_within(fold, work->start_ns);
}

static struct gpu_record record_of(const struct timeline_work *work)
{
	return (struct gpu_record){
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
		.bytes = work->bytes,
		.device_id = work->device_id,
		.context_id = work->context_id,
		.stream_id = work->stream_id,
		.name_id = work->name_id,
		.capture_stack_id = work->capture_stack_id,
		.correlation_id = work->correlation_id,
		.window = work->window,
		.kind = work->kind,
		.copy_kind = work->copy_kind,
	};
}

static int add_total(struct collection *collection, const struct timeline_events *events,
		     const struct timeline_work *work)
{
	const struct fold_key key = timeline_events_key(events, work);
	const uint32_t hash = fold_table_hash(&key);
	struct fold_row *row = fold_table_find(collection->totals, &key, hash);

	if (!row)
		row = fold_table_append(collection->totals, &key, hash);
	return row ? fold_row_add_one(row, work->end_ns - work->start_ns, work->bytes) : -ENOMEM;
}

static int add_busy(struct collection *collection, struct roster_process *process,
		    const struct timeline_work *work)
{
	const struct gpu_record record = record_of(work);
	uint32_t size;
	const char *name = catalog_string(collection->catalog, work->name_id, &size);

	return session_events_busy(collection, process, work->process_id, &record,
				   work->kind == RECORD_GPU_KERNEL && nccl_kernel_is(name, size));
}

static int add_work(struct slice_fold *fold, struct collection *collection,
		    const struct timeline_events *events, const struct timeline_work *work)
{
	const struct timeline_launch *launch = launch_of(events, work);
	struct roster_process *process = roster_process(collection->roster, work->process_id);

	if (!process || work->end_ns - work->start_ns > CORRELATOR_DURATION_MAX_NS)
		return 0;
	int error = add_total(collection, events, work);
	if (!error)
		error = add_busy(collection, process, work);
	if (!error)
		error = uncaptured_work_add(fold->in_pauses, work);
	process->changed = true;
	process->counts.records++;
	if (launch)
		process->counts.matched++;
	else
		process->counts.unmatched++;
	if (work->kind == RECORD_GPU_SYNC) {
		fold->nr_waits++;
	} else {
		fold->nr_work++;
		fold->nr_launchless += !launch;
	}
	return error;
}

static void count_launch(struct collection *collection, const struct timeline_launch *launch)
{
	struct roster_process *process = roster_process(collection->roster, launch->process_id);

	if (!process || launch->flags & RECORD_LAUNCH_HOST)
		return;
	process->changed = true;
	process->counts.launches++;
}

int slice_fold_add(struct slice_fold *fold, struct collection *collection,
		   const struct timeline_events *events)
{
	int error = 0;

	for (uint32_t i = 0; i < events->nr_work && !error; i++) {
		const struct timeline_work *work = &events->work[i];

		if (belongs(fold, work, launch_of(events, work)))
			error = add_work(fold, collection, events, work);
	}
	for (uint32_t i = 0; i < events->nr_launches && !error; i++)
		if (is_launch_within(fold, &events->launches[i]))
			count_launch(collection, &events->launches[i]);
	return error;
}

#include "straggler_timed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_window.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/idle_fold.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_idle.h"
#include "aggregator/store/store_kept.h"
#include "base/array.h"
#include "report/model/report_kind.h"
#include "report/profile/profile.h"

/* The samples of a process. */
struct samples {
	struct host_sample *list; /* owns */
	uint32_t count;
};

/* The work of a device. */
struct device {
	uint32_t id;
	struct idle_work *work; /* owns */
	uint32_t nr_work;
	uint64_t records, from_ns, to_ns;
};

struct gaps {
	struct idle_gap *list; /* owns */
	uint32_t count;
};

/* ---- samples */

static int take_sample(const struct straggler_timed *timed, uint32_t process,
		       const struct host_sample *sample)
{
	const struct straggler_window_list *windows = &timed->windows->host;
	uint64_t start_ns =
		sample->time_ns > sample->duration_ns ? sample->time_ns - sample->duration_ns : 0;
	struct fold_row row;

	memset(&row, 0, sizeof(row));
	/* A tick shows where the thread was at its end, for which its period stands. */
	if (sample->kind == HOST_SAMPLE_OFF_CPU)
		row.ns = straggler_window_overlap(windows, start_ns, sample->time_ns);
	else if (straggler_window_has(windows, sample->time_ns))
		row.ns = sample->duration_ns;
	if (row.ns == 0)
		return 0;
	row.count = 1;
	row.key.process_id = process;
	row.key.device_id = RECORD_DEVICE_NONE;
	row.key.stack_id = sample->stack_id;
	row.key.name_id = sample->name_id;
	row.key.tid = sample->tid;
	row.key.kind = (uint8_t)(REPORT_KIND_HOST + sample->kind);
	row.key.matched = 1;
	return timed->take(timed->context, &row);
}

/* ---- GPUs */

static uint64_t on_host_clock(const struct idle_work *work, uint64_t gpu_ns)
{
	return gpu_ns + work->clock_offset_ns;
}

/* Adds the parts of a gap that lie in the windows. */
static int add_gap(const struct straggler_window_list *list, const struct idle_work *before,
		   const struct idle_work *after, struct gaps *gaps)
{
	uint64_t start_ns = on_host_clock(after, before->end_ns);
	uint64_t end_ns = on_host_clock(after, after->start_ns);
	int error = 0;

	for (uint32_t i = straggler_window_first(list, start_ns);
	     i < list->count && list->windows[i].start_ns < end_ns && !error; i++) {
		const struct straggler_window *window = &list->windows[i];
		const struct idle_gap gap = {
			.start_ns = window->start_ns > start_ns ? window->start_ns : start_ns,
			.end_ns = window->end_ns < end_ns ? window->end_ns : end_ns,
			.tid = after->tid,
		};

		if (gap.start_ns < gap.end_ns)
			error = array_append(&gaps->list, &gaps->count, &gap, sizeof(gap));
	}
	return error;
}

static int take_idle(const struct straggler_timed *timed, const struct fold_table *table)
{
	uint32_t count;
	const struct fold_row *rows = fold_table_rows(table, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		struct fold_row row = rows[i];

		row.key.copy_kind = row.key.kind;
		row.key.kind = REPORT_KIND_IDLE;
		row.key.matched = 1;
		error = timed->take(timed->context, &row);
	}
	return error;
}

static int fold_gaps(const struct straggler_timed *timed, uint32_t process, uint32_t device,
		     const struct gaps *gaps, const struct samples *samples)
{
	struct fold_table *table = fold_table_create();
	int error = table ? idle_fold(table, process, device, gaps->list, gaps->count,
				      samples->list, samples->count, false)
			  : -ENOMEM;

	if (!error)
		error = take_idle(timed, table);
	fold_table_destroy(table);
	return error;
}

/* Adds a device's gaps that the process's work ended. */
static int add_work(const struct straggler_timed *timed, uint32_t process, struct device *device,
		    const struct samples *samples)
{
	struct gaps gaps = {0};
	int error = 0;

	device->nr_work = idle_work_merge(device->work, device->nr_work);
	for (uint32_t i = 1; i < device->nr_work && !error; i++)
		if (device->work[i].process_id == process)
			error = add_gap(&timed->windows->idle, &device->work[i - 1],
					&device->work[i], &gaps);
	if (!error && gaps.count)
		error = fold_gaps(timed, process, device->id, &gaps, samples);
	free(gaps.list);
	return error;
}

static int take_device(const struct straggler_timed *timed, uint32_t process, uint32_t id,
		       const struct samples *samples)
{
	const struct roster_process *of =
		roster_process(timed->profile->collection->roster, process);
	struct device device = {.id = id};
	int error = store_idle_read_work(timed->database, id, of->identity.writer, &device.work,
					 &device.nr_work, &device.records, &device.from_ns,
					 &device.to_ns);

	if (!error)
		error = add_work(timed, process, &device, samples);
	free(device.work);
	return error;
}

int straggler_timed_host(const struct straggler_timed *timed, uint32_t process)
{
	const struct roster_process *of =
		roster_process(timed->profile->collection->roster, process);
	struct samples samples = {0};
	int error =
		store_kept_read(timed->database, KEPT_HOST, process, &samples.list, &samples.count);

	for (uint32_t i = 0; i < samples.count && !error; i++)
		error = take_sample(timed, process, &samples.list[i]);
	for (uint32_t i = 0; i < of->nr_devices && samples.count && !error; i++)
		error = take_device(timed, process, of->devices[i].device, &samples);
	free(samples.list);
	return error;
}

static int take_piece(const struct straggler_timed *timed, uint32_t process,
		      const struct host_sample *piece)
{
	const struct straggler_windows *windows = timed->windows;
	const uint64_t start_ns = piece->time_ns - piece->duration_ns;
	const bool begins = straggler_window_has(&windows->gpu, start_ns);
	const uint64_t ns = windows->is_stall ? straggler_window_overlap(&windows->gpu, start_ns,
									 piece->time_ns)
			    : begins          ? piece->duration_ns
					      : 0;
	struct fold_row row;

	if (!begins && !ns)
		return 0;
	memset(&row, 0, sizeof(row));
	row.ns = ns;
	row.count = 1;
	row.key.process_id = process;
	row.key.device_id = RECORD_DEVICE_NONE;
	row.key.stack_id = piece->stack_id;
	row.key.name_id = piece->name_id;
	row.key.tid = piece->tid;
	row.key.kind = kept_kind_work(piece->kind);
	row.key.copy_kind = kept_kind_copy(piece->kind);
	row.key.matched = piece->stack_id != 0;
	return timed->take(timed->context, &row);
}

int straggler_timed_gpu(const struct straggler_timed *timed, uint32_t process)
{
	struct samples pieces = {0};
	int error =
		store_kept_read(timed->database, KEPT_GPU, process, &pieces.list, &pieces.count);

	for (uint32_t i = 0; i < pieces.count && !error; i++)
		error = take_piece(timed, process, &pieces.list[i]);
	free(pieces.list);
	return error;
}

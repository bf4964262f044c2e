#include "straggler_timed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_window.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_idle.h"
#include "base/array.h"
#include "report/model/report_kind.h"
#include "report/profile/idle_fold.h"
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
	const struct straggler_windows *windows = timed->windows;
	uint64_t start_ns =
		sample->time_ns > sample->duration_ns ? sample->time_ns - sample->duration_ns : 0;
	struct fold_row row;

	memset(&row, 0, sizeof(row));
	/* A tick shows where the thread was at its end, for which its period stands. */
	row.ns = sample->kind == HOST_SAMPLE_OFF_CPU
			 ? straggler_window_overlap(windows->host, windows->nr_host, start_ns,
						    sample->time_ns)
		 : straggler_window_overlap(windows->host, windows->nr_host, sample->time_ns,
					    sample->time_ns + 1)
			 ? sample->duration_ns
			 : 0;
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

/* Clocks are modulo 2^64. */
static bool is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

/* Returns whether all work of the device in the windows is there. */
static bool covers(const struct device *device, const struct straggler_windows *windows)
{
	const struct idle_work *first = &device->work[0],
			       *last = &device->work[device->nr_work - 1];

	if (windows->nr_gpu == 0)
		return false;
	return !is_before(windows->gpu[0].start_ns, on_host_clock(first, device->from_ns)) &&
	       (device->to_ns == UINT64_MAX ||
		!is_before(on_host_clock(last, device->to_ns),
			   windows->gpu[windows->nr_gpu - 1].end_ns));
}

/* Adds the parts of a gap that lie in the windows. */
static int add_gap(const struct straggler_windows *windows, const struct idle_work *before,
		   const struct idle_work *after, struct gaps *gaps)
{
	uint64_t start_ns = on_host_clock(after, before->end_ns);
	uint64_t end_ns = on_host_clock(after, after->start_ns);
	int error = 0;

	for (uint32_t i = straggler_window_first(windows->gpu, windows->nr_gpu, start_ns);
	     i < windows->nr_gpu && windows->gpu[i].start_ns < end_ns && !error; i++) {
		const struct straggler_window *window = &windows->gpu[i];
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

/* Adds a device's busy and idle time that is the process's: work that it launched, and gaps that such work ended. */
static int add_work(const struct straggler_timed *timed, uint32_t process, struct device *device,
		    const struct samples *samples, struct straggler_busy *busy)
{
	const struct straggler_windows *windows = timed->windows;
	struct gaps gaps = {0};
	int error = 0;

	if (device->nr_work == 0)
		return 0;
	device->nr_work = idle_work_merge(device->work, device->nr_work);
	busy->devices++;
	busy->cut += !covers(device, windows);
	for (uint32_t i = 0; i < device->nr_work && !error; i++) {
		const struct idle_work *work = &device->work[i];

		if (work->process_id != process)
			continue;
		busy->ns += straggler_window_overlap(windows->gpu, windows->nr_gpu,
						     on_host_clock(work, work->start_ns),
						     on_host_clock(work, work->end_ns));
		if (i > 0)
			error = add_gap(windows, work - 1, work, &gaps);
	}
	if (!error && gaps.count)
		error = fold_gaps(timed, process, device->id, &gaps, samples);
	free(gaps.list);
	return error;
}

static int take_device(const struct straggler_timed *timed, uint32_t process, uint32_t id,
		       const struct samples *samples, struct straggler_busy *busy)
{
	const struct roster_process *of =
		roster_process(timed->profile->collection->roster, process);
	struct device device = {.id = id};
	int error = store_idle_read_work(timed->database, id, of->identity.writer, &device.work,
					 &device.nr_work, &device.records, &device.from_ns,
					 &device.to_ns);

	if (!error)
		error = add_work(timed, process, &device, samples, busy);
	free(device.work);
	return error;
}

int straggler_timed_each(const struct straggler_timed *timed, uint32_t process,
			 struct straggler_busy *busy)
{
	const struct roster_process *of =
		roster_process(timed->profile->collection->roster, process);
	struct samples samples = {0};
	int error =
		store_idle_read_samples(timed->database, process, &samples.list, &samples.count);

	for (uint32_t i = 0; i < samples.count && !error; i++)
		error = take_sample(timed, process, &samples.list[i]);
	for (uint32_t i = 0; i < of->nr_devices && samples.count && !error; i++)
		error = take_device(timed, process, of->devices[i].device, &samples, busy);
	free(samples.list);
	return error;
}

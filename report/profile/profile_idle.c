#include "profile_idle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile_ledger.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/idle_fold.h"
#include "aggregator/core/idle_gaps.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/load/store_busy.h"
#include "aggregator/store/store_idle.h"
#include "aggregator/store/store_kept.h"

/* The sources of idle time, and the result. */
struct folding {
	struct database *database;
	const struct collection *collection;
	struct fold_table *idle;
	uint64_t left_out; /* records and samples that were not kept */
};

struct device {
	uint32_t id, writer;
	struct idle_work *work; /* owns */
	uint32_t nr_work;
	uint64_t records, from_ns, to_ns;
	uint64_t window_ns; /* captured, from its first work to its last */
};

static uint64_t idle_ns(const struct timeline_entry *entry, struct timeline_sums *sums)
{
	stream_timeline_sums(entry->timeline, sums);
	return stream_timeline_idle_ns(entry->timeline);
}

static bool is_counted(const struct fold_row *row)
{
	return row->key.kind <= HOST_SAMPLE_OFF_CPU;
}

/* Counts the samples that could explain idle time. */
static uint64_t count_samples(const struct collection *collection)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(collection->samples, &nr_rows);
	uint64_t count = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		if (is_counted(&rows[i]))
			count += rows[i].count;
	return count;
}

static int add(struct fold_table *table, uint32_t process, uint32_t device, enum idle_cause cause,
	       uint64_t ns)
{
	const struct fold_key key = {
		.process_id = process, .device_id = device, .kind = (uint8_t)cause};

	return ns ? fold_table_add(table, &key, 1, ns, 0) : 0;
}

/* ---- times between capture windows, which are no gaps */

/* Adds pauses to the work. They have no process yet. */
static int add_pauses(struct device *device, struct stream_timeline *pauses)
{
	struct timeline_sums sums;
	uint32_t nr_open;
	const struct timeline_interval *open = stream_timeline_open(pauses, &nr_open);
	const uint32_t nr = device->nr_work;
	struct idle_work *work = realloc(device->work, (nr + 1ull + nr_open) * sizeof(*work));

	if (!work)
		return -ENOMEM;
	device->work = work;
	for (uint32_t i = 0; i < nr_open; i++)
		device->work[device->nr_work++] =
			(struct idle_work){.start_ns = open[i].start_ns, .end_ns = open[i].end_ns};
	stream_timeline_sums(pauses, &sums);
	/* Older pauses are not known one by one. */
	if (sums.horizon_ns > device->from_ns)
		device->from_ns = sums.horizon_ns;
	return 0;
}

/* The launch that ends a gap before a pause is that of the next work. What is behind all work ends no gap, and pauses
 * before all work are behind none. */
static void give_processes(struct device *device)
{
	uint32_t from = 0, to = device->nr_work;

	while (to > from && device->work[to - 1].process_id == 0)
		to--;
	while (from < to && device->work[from].process_id == 0)
		from++;
	for (uint32_t i = to; i-- > from;) {
		struct idle_work *work = &device->work[i];

		if (work->process_id)
			continue;
		work->process_id = work[1].process_id;
		work->tid = work[1].tid;
		work->clock_offset_ns = work[1].clock_offset_ns;
	}
	device->nr_work = to - from;
	memmove(device->work, device->work + from, device->nr_work * sizeof(*device->work));
}

static int leave_out_pauses(const struct folding *folding, struct device *device)
{
	const struct timeline_key key = {.level = TIMELINE_DEVICE_PAUSES,
					 .process_id = device->writer,
					 .device_id = device->id};
	struct timeline_table *table = timeline_table_create();
	int error = table ? store_busy_read(folding->database, folding->collection, &key, table)
			  : -ENOMEM;
	const struct timeline_entry *pauses = error ? NULL : timeline_table_find(table, &key);

	if (pauses && device->nr_work)
		error = add_pauses(device, pauses->timeline);
	if (pauses && device->nr_work && !error) {
		device->nr_work = idle_work_merge(device->work, device->nr_work);
		give_processes(device);
	}
	timeline_table_destroy(table);
	return error;
}

/* ---- gaps */

/* Finds the device's gaps by process, if all work is known. *ns: their sum. */
static int find_gaps(struct device *device, const struct roster *roster, struct process_gap **gaps,
		     uint32_t *nr_gaps, uint64_t *ns)
{
	const struct idle_gaps_span span = {device->from_ns, device->to_ns, device->window_ns};

	device->nr_work = idle_work_merge(device->work, device->nr_work);
	for (uint32_t i = 0; i < device->nr_work; i++)
		if (!roster_process(roster, device->work[i].process_id))
			return -EPROTO;
	return idle_gaps_find(device->work, device->nr_work, &span, gaps, nr_gaps, ns);
}

/* Returns whether the kernel took no more samples of the process than these. */
static bool are_all_samples(const struct roster_process *process, uint64_t nr_samples)
{
	return profile_ledger_of(process, LEDGER_SAMPLES) == nr_samples;
}

static int fold_process(const struct folding *folding, uint32_t device, uint32_t process,
			const struct idle_gap *gaps, uint32_t nr_gaps)
{
	struct host_sample *samples = NULL;
	uint32_t nr_samples;
	int error = store_kept_read(folding->database, KEPT_HOST, process, &samples, &nr_samples);

	if (!error)
		error = idle_fold(
			folding->idle, process, device, gaps, nr_gaps, samples, nr_samples,
			are_all_samples(roster_process(folding->collection->roster, process),
					nr_samples));
	free(samples);
	return error;
}

static int fold_gaps(const struct folding *folding, uint32_t device, const struct process_gap *gaps,
		     uint32_t nr_gaps)
{
	struct idle_gap *plain = malloc((nr_gaps + 1ul) * sizeof(*plain));
	int error = plain ? 0 : -ENOMEM;

	for (uint32_t i = 0, count; i < nr_gaps && !error; i += count) {
		count = idle_gaps_of_process(gaps + i, nr_gaps - i, plain);
		error = fold_process(folding, device, gaps[i].process_id, plain, count);
	}
	free(plain);
	return error;
}

/* ---- devices */

/* What belongs to no thread stands with the writer's first process that has the device. */
static uint32_t first_process(const struct roster *roster, uint32_t device, uint32_t writer)
{
	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		for (uint32_t i = 0; i < process->nr_devices; i++)
			if (process->identity.writer == writer &&
			    process->devices[i].device == device)
				return id;
	}
	return 0;
}

/* Folds all idle time of a device: the gaps, and the rest, which was too short or is not fully known. */
static int fold_device(struct folding *folding, const struct timeline_entry *entry)
{
	const struct roster *roster = folding->collection->roster;
	struct device device = {.id = entry->key.device_id, .writer = entry->key.process_id};
	uint32_t nr_gaps = 0, process = first_process(roster, device.id, device.writer);
	struct process_gap *gaps = NULL;
	struct timeline_sums sums;
	uint64_t whole_ns = idle_ns(entry, &sums), ns = 0;

	device.window_ns = sums.last_ns - sums.first_ns - sums.uncaptured_ns;
	int error = store_idle_read_work(folding->database, device.id, device.writer, &device.work,
					 &device.nr_work, &device.records, &device.from_ns,
					 &device.to_ns);

	if (!error && process == 0)
		error = -EPROTO;
	if (!error && sums.uncaptured_ns)
		error = leave_out_pauses(folding, &device);
	if (!error)
		error = find_gaps(&device, roster, &gaps, &nr_gaps, &ns);
	if (ns > whole_ns && device.records < sums.records)
		ns = nr_gaps = 0; /* work of before the device was described lies in them */
	if (!error && (ns > whole_ns || device.records > sums.records))
		error = -EPROTO;
	if (!error)
		error = fold_gaps(folding, device.id, gaps, nr_gaps);
	if (!error)
		error = add(folding->idle, process, device.id,
			    device.records == sums.records ? IDLE_SHORT : IDLE_UNKNOWN,
			    whole_ns - ns);
	folding->left_out += sums.records - device.records;
	free(gaps);
	free(device.work);
	return error;
}

static int fold_entry(struct folding *folding, const struct timeline_entry *entry)
{
	struct timeline_sums sums;

	if (entry->key.level == TIMELINE_DEVICE)
		return fold_device(folding, entry);
	if (entry->key.level != TIMELINE_ORDINAL)
		return 0;
	if (!roster_process(folding->collection->roster, entry->key.process_id))
		return -EPROTO;
	uint64_t ns = idle_ns(entry, &sums);
	if (sums.records == 0) /* the device is known now */
		return 0;
	folding->left_out += sums.records;
	return add(folding->idle, entry->key.process_id, 0, IDLE_UNKNOWN, ns);
}

int profile_idle_load(struct database *database, const struct collection *collection,
		      bool is_damaged, struct fold_table **idle, uint64_t *left_out)
{
	struct folding folding = {
		.database = database, .collection = collection, .idle = fold_table_create()};
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(collection->timelines, &nr_entries);
	uint64_t nr_samples = count_samples(collection);
	int64_t nr_kept = 0;
	int error = 0;

	*left_out = 0;
	*idle = folding.idle;
	if (!*idle)
		return -ENOMEM;
	if (nr_samples == 0)
		return 0;
	error = database_query_number(
		database, "SELECT sum(count) FROM sample_blocks WHERE sort = 0", &nr_kept);
	/* Of a damaged page's sums nothing is there, but single samples may be. */
	if (!error && (uint64_t)nr_kept > nr_samples && !is_damaged)
		error = -EPROTO;
	if ((uint64_t)nr_kept < nr_samples)
		folding.left_out = nr_samples - (uint64_t)nr_kept;
	for (uint32_t i = 0; i < nr_entries && !error; i++)
		error = fold_entry(&folding, &entries[i]);
	*left_out = folding.left_out;
	return error;
}

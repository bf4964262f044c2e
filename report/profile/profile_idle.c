#include "profile_idle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "idle_fold.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_idle.h"
#include "aggregator/store/store_kept.h"

/* The sources of idle time, and the result. */
struct folding {
	struct database *database;
	const struct collection *collection;
	struct fold_table *idle;
	uint64_t left_out; /* records and samples that were not kept */
};

/* A pause takes this time at least, and a tenth of the time from the device's first work to its last. So a device has
 * nine at most. */
#define PAUSE_MIN_NS UINT64_C(1000000000)

/* A gap, and the process whose launch ended it. */
struct gap {
	struct idle_gap gap;
	uint32_t process_id;
};

struct device {
	uint32_t id, writer;
	struct idle_work *work; /* owns */
	uint32_t nr_work;
	uint64_t records, from_ns, to_ns;
	uint64_t window_ns; /* from its first work to its last */
};

static uint64_t idle_ns(const struct timeline_entry *entry, struct timeline_sums *sums)
{
	stream_timeline_sums(entry->timeline, sums);
	return sums->last_ns - sums->first_ns - stream_timeline_busy_ns(entry->timeline);
}

static bool is_counted(const struct fold_row *row)
{
	return row->key.kind != HOST_SAMPLE_CALL;
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

/* ---- gaps */

static int by_process(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;
	int order = (x->process_id > y->process_id) - (x->process_id < y->process_id);

	return order ? order
		     : (x->gap.start_ns > y->gap.start_ns) - (x->gap.start_ns < y->gap.start_ns);
}

/* If the clocks make no sense, the thread is not known. */
static struct gap gap_before(const struct device *device, const struct idle_work *last,
			     const struct idle_work *next)
{
	struct gap gap = {
		.gap = {.start_ns = last->end_ns + next->clock_offset_ns,
			.end_ns = next->start_ns + next->clock_offset_ns,
			.tid = next->tid},
		.process_id = next->process_id,
	};

	if (gap.gap.start_ns > gap.gap.end_ns)
		gap.gap = (struct idle_gap){last->end_ns, next->start_ns, 0, false};
	const uint64_t ns = gap.gap.end_ns - gap.gap.start_ns;
	gap.gap.is_pause = ns >= PAUSE_MIN_NS && ns >= device->window_ns / 10;
	return gap;
}

/* Finds the device's gaps by process, if all work is known. *ns: their sum. */
static int find_gaps(struct device *device, const struct roster *roster, struct gap **gaps,
		     uint32_t *nr_gaps, uint64_t *ns)
{
	const struct idle_work *work = device->work;

	*nr_gaps = 0;
	*ns = 0;
	device->nr_work = idle_work_merge(device->work, device->nr_work);
	*gaps = malloc((device->nr_work + 1u) * sizeof(**gaps));
	if (!*gaps)
		return -ENOMEM;
	for (uint32_t i = 1; i < device->nr_work; i++) {
		if (!roster_process(roster, work[i].process_id))
			return -EPROTO;
		if (work[i - 1].end_ns < device->from_ns || work[i].start_ns > device->to_ns)
			continue;
		(*gaps)[(*nr_gaps)++] = gap_before(device, &work[i - 1], &work[i]);
		*ns += work[i].start_ns - work[i - 1].end_ns;
	}
	if (*nr_gaps)
		qsort(*gaps, *nr_gaps, sizeof(**gaps), by_process);
	return 0;
}

/* Returns whether the kernel took no more samples of the process than these. */
static bool are_all_samples(const struct roster_process *process, uint64_t nr_samples)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (process->ledger[i].reason == LEDGER_SAMPLES)
			taken += process->ledger[i].count;
	return taken == nr_samples;
}

static int fold_process(const struct folding *folding, uint32_t device, const struct gap *gaps,
			uint32_t nr_gaps)
{
	struct idle_gap *plain = malloc(nr_gaps * sizeof(*plain));
	struct host_sample *samples = NULL;
	uint32_t nr_samples;
	int error = plain ? store_kept_read(folding->database, KEPT_HOST, gaps[0].process_id,
					    &samples, &nr_samples)
			  : -ENOMEM;

	for (uint32_t i = 0; i < nr_gaps && !error; i++)
		plain[i] = gaps[i].gap;
	if (!error)
		error = idle_fold(folding->idle, gaps[0].process_id, device, plain, nr_gaps,
				  samples, nr_samples,
				  are_all_samples(roster_process(folding->collection->roster,
								 gaps[0].process_id),
						  nr_samples));
	free(samples);
	free(plain);
	return error;
}

static int fold_gaps(const struct folding *folding, uint32_t device, const struct gap *gaps,
		     uint32_t nr_gaps)
{
	int error = 0;

	for (uint32_t i = 0, next; i < nr_gaps && !error; i = next) {
		for (next = i + 1; next < nr_gaps && gaps[next].process_id == gaps[i].process_id;)
			next++;
		error = fold_process(folding, device, gaps + i, next - i);
	}
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
	struct gap *gaps = NULL;
	struct timeline_sums sums;
	uint64_t whole_ns = idle_ns(entry, &sums), ns = 0;

	device.window_ns = sums.last_ns - sums.first_ns;
	int error = store_idle_read_work(folding->database, device.id, device.writer, &device.work,
					 &device.nr_work, &device.records, &device.from_ns,
					 &device.to_ns);

	if (!error && process == 0)
		error = -EPROTO;
	if (!error)
		error = find_gaps(&device, roster, &gaps, &nr_gaps, &ns);
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

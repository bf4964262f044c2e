#include "idle_reasons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/correlator.h"
#include "aggregator/core/fold_table.h"
#include "aggregator/core/idle_gaps.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_idle.h"
#include "aggregator/store/store_kept.h"
#include "base/array.h"

struct device {
	struct idle_reason_sums sums;
	uint64_t settled_ns; /* CUPTI's clock: gaps that end by then are in the sums */
	uint32_t block;      /* the first one in the store with work after settled_ns */
};

struct idle_reasons {
	struct device *devices; /* owns; by the roster's id less one */
	uint32_t nr_devices, room, turn;
};

struct idle_reasons *idle_reasons_create(void)
{
	return calloc(1, sizeof(struct idle_reasons));
}

void idle_reasons_destroy(struct idle_reasons *reasons)
{
	if (!reasons)
		return;
	free(reasons->devices);
	free(reasons);
}

/* ---- from rows to reasons */

static bool is_text(const struct catalog *catalog, uint32_t id, const char *text)
{
	uint32_t size;
	const char *data = catalog_string(catalog, id, &size);

	return size == strlen(text) && memcmp(data, text, size) == 0;
}

static enum idle_reason reason_of(const struct catalog *catalog, const struct fold_key *key)
{
	switch (key->kind) {
	case IDLE_CPU:
		return IDLE_REASON_ON_CPU;
	case IDLE_OFF_CPU:
		return is_text(catalog, key->name_id, HOST_SAMPLE_RUN_QUEUE) ||
				       is_text(catalog, key->name_id, HOST_SAMPLE_PREEMPTED)
			       ? IDLE_REASON_NO_CPU
			       : IDLE_REASON_WAITING;
	default:
		return IDLE_REASON_UNKNOWN;
	}
}

static int fold_process(struct database *database, uint32_t process, const struct idle_gap *gaps,
			uint32_t nr_gaps, struct fold_table *rows)
{
	struct host_sample *samples = NULL;
	uint32_t nr_samples;
	int error = store_kept_read_since(database, KEPT_HOST, process, gaps[0].start_ns, &samples,
					  &nr_samples);

	if (!error)
		error = idle_fold(rows, process, 0, gaps, nr_gaps, samples, nr_samples, false);
	free(samples);
	return error;
}

/* Adds nothing to the sums on error. */
static int add_gaps(struct device *device, struct database *database, const struct catalog *catalog,
		    const struct process_gap *gaps, uint32_t nr_gaps)
{
	struct idle_gap *plain = malloc((nr_gaps + 1ul) * sizeof(*plain));
	struct fold_table *table = fold_table_create();
	int error = plain && table ? 0 : -ENOMEM;
	uint32_t nr_rows;

	for (uint32_t i = 0, count; i < nr_gaps && !error; i += count) {
		count = idle_gaps_of_process(gaps + i, nr_gaps - i, plain);
		error = fold_process(database, gaps[i].process_id, plain, count, table);
	}
	const struct fold_row *rows = error ? NULL : fold_table_rows(table, &nr_rows);

	for (uint32_t i = 0; rows && i < nr_rows; i++)
		device->sums.ns[reason_of(catalog, &rows[i].key)] += rows[i].ns;
	fold_table_destroy(table);
	free(plain);
	return error;
}

/* ---- devices */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns the start of the last work up to a time: the end of the last gap up to then. */
static uint64_t last_start(const struct idle_work *work, uint32_t nr_work, uint64_t to_ns)
{
	while (nr_work && work[nr_work - 1].start_ns > to_ns)
		nr_work--;
	return nr_work ? work[nr_work - 1].start_ns : 0;
}

static bool has_device(const struct roster_process *process, uint32_t device)
{
	for (uint32_t i = 0; i < process->nr_devices; i++)
		if (process->devices[i].device == device)
			return true;
	return false;
}

/* Returns since when something may run on the device that CUPTI has not told yet. */
static uint64_t running_since(const struct roster *roster, uint32_t device, uint64_t newest_ns)
{
	const uint64_t since_ns =
		newest_ns > IDLE_REASONS_LONGEST_NS ? newest_ns - IDLE_REASONS_LONGEST_NS : 0;
	const uint32_t nr_processes = roster_size(roster).processes;
	uint64_t earliest_ns = UINT64_MAX;

	for (uint32_t id = 1; id <= nr_processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		if (!process->correlator || !has_device(process, device))
			continue;
		const uint64_t ns = correlator_unanswered(process->correlator, since_ns);

		earliest_ns = ns < earliest_ns ? ns : earliest_ns;
	}
	return earliest_ns;
}

/* Takes up the gaps of work, which is in order. */
static int settle(struct device *device, struct database *database, const struct catalog *catalog,
		  const struct idle_work *work, uint32_t nr_work, struct idle_gaps_span span)
{
	struct process_gap *gaps;
	uint32_t nr_gaps;
	uint64_t ns;
	int error = idle_gaps_find(work, nr_work, &span, &gaps, &nr_gaps, &ns);

	if (!error && nr_gaps)
		error = add_gaps(device, database, catalog, gaps, nr_gaps);
	const uint64_t settled_ns = last_start(work, nr_work, span.to_ns);

	if (!error && settled_ns > device->settled_ns)
		device->settled_ns = settled_ns;
	free(gaps);
	return error;
}

static int look_at(struct device *device, uint32_t id, struct database *database,
		   const struct collection *collection, bool all)
{
	struct idle_gaps_span span = {.window_ns = UINT64_MAX};
	struct idle_work *work;
	uint32_t nr_work;
	int error = store_idle_read_newer(database, id, device->settled_ns, &device->block, &work,
					  &nr_work, &span.from_ns, &span.to_ns);

	if (error || nr_work == 0)
		return error;
	nr_work = idle_work_merge(work, nr_work);
	const uint64_t newest_ns = work[nr_work - 1].end_ns;
	const uint64_t settled_ns =
		newest_ns > IDLE_REASONS_SETTLE_NS ? newest_ns - IDLE_REASONS_SETTLE_NS : 0;

	device->sums.are_known = true;
	if (!all)
		span.to_ns =
			least(span.to_ns,
			      least(settled_ns, running_since(collection->roster, id, newest_ns)));
	if (span.from_ns < device->settled_ns)
		span.from_ns = device->settled_ns;
	error = settle(device, database, collection->catalog, work, nr_work, span);
	free(work);
	return error;
}

int idle_reasons_look(struct idle_reasons *reasons, struct database *database,
		      const struct collection *collection, bool all)
{
	const uint32_t nr_devices = roster_size(collection->roster).devices;
	int64_t has_work;
	int error = array_reserve(&reasons->devices, &reasons->room, nr_devices,
				  sizeof(*reasons->devices));

	if (error)
		return error;
	for (; reasons->nr_devices < nr_devices; reasons->nr_devices++)
		reasons->devices[reasons->nr_devices] = (struct device){0};
	/* Most jobs sample no threads. */
	if (database_query_number(database, "SELECT EXISTS (SELECT 1 FROM idle_devices)",
				  &has_work) ||
	    !has_work)
		return 0;
	reasons->turn = (reasons->turn + 1) % IDLE_REASONS_TURNS;
	for (uint32_t i = 0; i < nr_devices && !error; i++)
		if (all || i % IDLE_REASONS_TURNS == reasons->turn ||
		    !reasons->devices[i].sums.are_known)
			error = look_at(&reasons->devices[i], i + 1, database, collection, all);
	return error;
}

const struct idle_reason_sums *idle_reasons_of(const struct idle_reasons *reasons, uint32_t device)
{
	static const struct idle_reason_sums none;

	return device && device <= reasons->nr_devices ? &reasons->devices[device - 1].sums : &none;
}

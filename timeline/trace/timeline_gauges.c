#include "timeline_gauges.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_placement.h"
#include "aggregator/store/store_schema.h"
#include "base/array.h"
#include "report/telemetry/gpm_use.h"
#include "report/telemetry/gpu_telemetry.h"

/* A row of telemetry on the clock of the timeline. */
struct row {
	uint64_t begin_ns, last_ns;
	uint32_t known; /* bits of kinds */
	double values[TIMELINE_GAUGE_KINDS];
};

/* Samples of counters, one after the other. */
struct run {
	uint64_t begin_ns, end_ns;
	uint32_t known; /* bits of kinds */
};

struct taker {
	struct timeline_gauges *gauges;
	struct timeline_source *source;
	uint64_t from_ns, to_ns;
	uint32_t process_id, device_id;
	int error;
	struct row *rows; /* owns; of the device */
	uint32_t nr_rows, room_rows;
	struct run *runs; /* owns; of the device */
	uint32_t nr_runs, room_runs;
};

static const struct {
	const char *name, *unit;
	double (*value)(const struct device_telemetry *row); /* 0: not known; NULL: a use */
	enum telemetry_use use;
} kinds[TIMELINE_GAUGE_KINDS] = {
	[TIMELINE_SM_CLOCK] = {"SM clock", "MHz", gpu_telemetry_sm_mhz, 0},
	[TIMELINE_MEMORY_CLOCK] = {"memory clock", "MHz", gpu_telemetry_memory_mhz, 0},
	[TIMELINE_POWER] = {"power", "W", gpu_telemetry_watts, 0},
	[TIMELINE_SM_ACTIVE] = {"SM active", "%", NULL, TELEMETRY_SM},
	[TIMELINE_TENSOR] = {"tensor", "%", NULL, TELEMETRY_TENSOR},
	[TIMELINE_DRAM] = {"DRAM", "%", NULL, TELEMETRY_DRAM},
};

static bool find_value(const struct device_telemetry *row, enum timeline_gauge_kind kind,
		       double *value)
{
	if (kinds[kind].value) {
		*value = kinds[kind].value(row);
		return *value > 0;
	}
	*value = 100 * gpm_use_mean(row, kinds[kind].use);
	return *value >= 0;
}

static void take_value(struct taker *taker, enum timeline_gauge_kind kind, uint64_t time_ns,
		       double value)
{
	struct timeline_gauges *gauges = taker->gauges;

	if (array_reserve(&gauges->gauges, &gauges->room_gauges, gauges->nr_gauges + 1ull,
			  sizeof(*gauges->gauges))) {
		taker->error = -ENOMEM;
		return;
	}
	gauges->gauges[gauges->nr_gauges++] =
		(struct timeline_gauge){time_ns < taker->from_ns ? taker->from_ns : time_ns,
					taker->process_id, taker->device_id, kind, value};
}

static void take_row(void *context, const struct device_telemetry *row)
{
	struct taker *taker = context;
	struct row made = {.begin_ns = row->begin_ns, .last_ns = row->last_ns};

	if (!timeline_source_place_realtime(taker->source, taker->process_id, &made.begin_ns) ||
	    !timeline_source_place_realtime(taker->source, taker->process_id, &made.last_ns) ||
	    made.begin_ns >= taker->to_ns || made.last_ns <= taker->from_ns || taker->error)
		return;
	for (uint32_t i = 0; i < TIMELINE_GAUGE_KINDS; i++)
		if (find_value(row, (enum timeline_gauge_kind)i, &made.values[i]))
			made.known |= 1u << i;
	taker->error = array_reserve(&taker->rows, &taker->room_rows, taker->nr_rows + 1ull,
				     sizeof(*taker->rows));
	if (!taker->error)
		taker->rows[taker->nr_rows++] = made;
}

/* ---- samples of counters: finer than rows, where there are any */

static const struct {
	enum timeline_gauge_kind kind;
	enum counter_use use;
} sampled[] = {
	{TIMELINE_SM_ACTIVE, COUNTER_SM},
	{TIMELINE_TENSOR, COUNTER_TENSOR},
	{TIMELINE_DRAM, COUNTER_DRAM},
};

/* Joins a sample to the run before it, or begins one. */
static int add_to_run(struct taker *taker, uint64_t begin_ns, uint64_t end_ns, uint32_t known)
{
	struct run *last = taker->nr_runs ? &taker->runs[taker->nr_runs - 1] : NULL;
	const uint64_t length_ns = end_ns - begin_ns;

	if (last && last->known == known && begin_ns < last->end_ns + length_ns) {
		last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
		return 0;
	}
	const int error = array_reserve(&taker->runs, &taker->room_runs, taker->nr_runs + 1ull,
					sizeof(*taker->runs));
	if (!error)
		taker->runs[taker->nr_runs++] = (struct run){begin_ns, end_ns, known};
	return error;
}

static int take_sample(void *context, const struct counter_sample *sample)
{
	struct taker *taker = context;
	uint64_t begin_ns = sample->begin_ns, end_ns = sample->end_ns;
	uint32_t known = 0;

	if (!timeline_source_place_realtime(taker->source, taker->process_id, &begin_ns) ||
	    !timeline_source_place_realtime(taker->source, taker->process_id, &end_ns) ||
	    begin_ns >= taker->to_ns || end_ns <= taker->from_ns || end_ns <= begin_ns)
		return 0;
	for (uint32_t i = 0; i < sizeof(sampled) / sizeof(*sampled); i++) {
		if (!(sample->known & COUNTER_KNOWS_USE(sampled[i].use)))
			continue;
		known |= 1u << sampled[i].kind;
		take_value(taker, sampled[i].kind, begin_ns,
			   100.0 * sample->use[sampled[i].use] / COUNTER_WHOLE);
	}
	return taker->error ? taker->error : add_to_run(taker, begin_ns, end_ns, known);
}

/* Returns whether samples tell of a kind at a time. Runs and rows are by time. */
static bool is_sampled(const struct taker *taker, uint32_t kind, uint64_t time_ns)
{
	uint32_t low = 0, high = taker->nr_runs;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (taker->runs[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < taker->nr_runs && taker->runs[low].begin_ns <= time_ns &&
	       (taker->runs[low].known & 1u << kind);
}

/* At the end of a run the row that goes on tells again. */
static void resume_rows(struct taker *taker, const struct run *run)
{
	uint32_t i = taker->nr_rows;

	while (i > 0 && taker->rows[i - 1].begin_ns > run->end_ns)
		i--;
	if (i == 0 || taker->rows[i - 1].last_ns <= run->end_ns || run->end_ns >= taker->to_ns)
		return;
	for (uint32_t kind = 0; kind < TIMELINE_GAUGE_KINDS && !taker->error; kind++)
		if (run->known & taker->rows[i - 1].known & 1u << kind)
			take_value(taker, (enum timeline_gauge_kind)kind, run->end_ns,
				   taker->rows[i - 1].values[kind]);
}

static void give_rows(struct taker *taker)
{
	for (uint32_t i = 0; i < taker->nr_rows; i++)
		for (uint32_t kind = 0; kind < TIMELINE_GAUGE_KINDS && !taker->error; kind++)
			if ((taker->rows[i].known & 1u << kind) &&
			    !is_sampled(taker, kind, taker->rows[i].begin_ns))
				take_value(taker, (enum timeline_gauge_kind)kind,
					   taker->rows[i].begin_ns, taker->rows[i].values[kind]);
	for (uint32_t i = 0; i < taker->nr_runs; i++)
		resume_rows(taker, &taker->runs[i]);
}

static bool has_samples(const struct placement_log *log, uint32_t device)
{
	uint32_t count;
	const struct counter_state *states = placement_log_counter_states(log, &count);

	for (uint32_t i = 0; i < count; i++)
		if (states[i].device_id == device && states[i].kept)
			return true;
	return false;
}

static int take_samples(struct taker *taker, const char *store_path, uint32_t device)
{
	struct database *database;
	int error = database_open(store_path, true, &database, NULL);

	if (!error)
		error = store_placement_counters(database, device, take_sample, taker);
	database_close(database);
	return error;
}

/* Takes what is known of a device, which a process has as taker->device_id. */
static void take_device(struct taker *taker, const char *store_path,
			const struct placement_log *log, uint32_t device)
{
	taker->nr_rows = taker->nr_runs = 0;
	gpu_telemetry_each(log, device, 0, UINT64_MAX, take_row, taker);
	if (!taker->error && has_samples(log, device))
		taker->error = take_samples(taker, store_path, device);
	give_rows(taker);
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_device(const void *a, const void *b)
{
	const struct timeline_gauge *left = a, *right = b;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->device_id, right->device_id);
	order = order ? order : COMPARE(left->kind, right->kind);
	return order ? order : COMPARE(left->time_ns, right->time_ns);
}

/* A profile that was loaded for its names alone has none yet. */
static int load_telemetry(const char *store_path, struct collection *collection)
{
	struct database *database;
	uint32_t count;

	placement_log_telemetry(collection->placements, &count);
	if (count)
		return 0;
	int error = database_open(store_path, true, &database, NULL);
	if (error)
		return error;
	error = store_schema_show(database);
	if (!error)
		error = store_placement_read(database, collection);
	database_close(database);
	return error;
}

int timeline_gauges_init(struct timeline_gauges *gauges, struct timeline_source *source,
			 const char *store_path, uint64_t from_ns, uint64_t to_ns)
{
	struct collection *collection = timeline_source_profile(source)->collection;
	const uint32_t nr_processes = roster_size(collection->roster).processes;
	struct taker taker = {
		.gauges = gauges, .source = source, .from_ns = from_ns, .to_ns = to_ns};

	*gauges = (struct timeline_gauges){0};
	taker.error = load_telemetry(store_path, collection);
	for (uint32_t id = 1; id <= nr_processes && !taker.error; id++) {
		const struct roster_process *process = roster_process(collection->roster, id);

		taker.process_id = id;
		for (uint32_t i = 0; i < process->nr_devices && !taker.error; i++) {
			taker.device_id = process->devices[i].device_id;
			take_device(&taker, store_path, collection->placements,
				    process->devices[i].device);
		}
	}
	free(taker.rows);
	free(taker.runs);
	if (gauges->nr_gauges)
		qsort(gauges->gauges, gauges->nr_gauges, sizeof(*gauges->gauges), by_device);
	return taker.error;
}

void timeline_gauges_fini(struct timeline_gauges *gauges)
{
	free(gauges->gauges);
	*gauges = (struct timeline_gauges){0};
}

const char *timeline_gauge_name(enum timeline_gauge_kind kind)
{
	return kinds[kind].name;
}

const char *timeline_gauge_unit(enum timeline_gauge_kind kind)
{
	return kinds[kind].unit;
}

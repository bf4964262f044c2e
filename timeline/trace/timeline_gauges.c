#include "timeline_gauges.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/collection.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_placement.h"
#include "aggregator/store/store_schema.h"
#include "base/array.h"
#include "report/telemetry/gpu_telemetry.h"
#include "report/telemetry/gpu_use.h"

struct taker {
	struct timeline_gauges *gauges;
	struct timeline_source *source;
	uint64_t from_ns, to_ns;
	uint32_t process_id, device_id;
	int error;
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
	*value = 100 * gpu_use_mean(row, kinds[kind].use);
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
	uint64_t begin_ns = row->begin_ns, last_ns = row->last_ns;
	double value;

	if (!timeline_source_place_realtime(taker->source, taker->process_id, &begin_ns) ||
	    !timeline_source_place_realtime(taker->source, taker->process_id, &last_ns) ||
	    begin_ns >= taker->to_ns || last_ns <= taker->from_ns)
		return;
	for (uint32_t i = 0; i < TIMELINE_GAUGE_KINDS && !taker->error; i++)
		if (find_value(row, (enum timeline_gauge_kind)i, &value))
			take_value(taker, (enum timeline_gauge_kind)i, begin_ns, value);
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
	struct taker taker = {gauges, source, from_ns, to_ns, 0, 0, 0};

	*gauges = (struct timeline_gauges){0};
	taker.error = load_telemetry(store_path, collection);
	for (uint32_t id = 1; id <= nr_processes && !taker.error; id++) {
		const struct roster_process *process = roster_process(collection->roster, id);

		taker.process_id = id;
		for (uint32_t i = 0; i < process->nr_devices && !taker.error; i++) {
			taker.device_id = process->devices[i].device_id;
			gpu_telemetry_each(collection->placements, process->devices[i].device, 0,
					   UINT64_MAX, take_row, &taker);
		}
	}
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

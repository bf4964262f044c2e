#include "report_busy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report_tree.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "report/names/clean_text.h"
#include "report/telemetry/gpu_counters.h"
#include "report/telemetry/gpu_telemetry.h"

static const char *clean_string(struct report_busy *busy, const struct catalog *catalog,
				uint32_t string_id)
{
	uint32_t size;
	const char *text = catalog_string(catalog, string_id, &size);
	char *clean = clean_text_of(text, size);

	if (clean)
		busy->texts[busy->nr_texts++] = clean;
	return clean;
}

static int describe(struct report_busy *busy, const struct collection *collection,
		    const struct timeline_key *key, struct report_busy_row *row)
{
	const struct roster *roster = collection->roster;
	const struct roster_process *process = roster_process(roster, key->process_id);
	uint32_t device_id = key->device_id;

	if (key->level != TIMELINE_DEVICE) {
		if (!process)
			return -EPROTO;
		device_id = roster_process_device(process, key->device_id);
		row->rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE;
		row->pid = process->identity.pid;
	}
	const struct roster_device *device = roster_device(roster, device_id);
	const struct roster_host *host =
		roster_host(roster, device ? device->host : process->identity.host);
	if (device && device->index >= 0)
		row->gpu = device->index;
	struct message_stream stream = {0};
	if (key->level == TIMELINE_STREAM) {
		const struct message_context *context =
			context_list_find(&process->contexts, key->context_id);

		roster_process_stream(process, key->context_id, key->stream_id, &stream);
		row->green = context && (context->flags & DEFINITION_CONTEXT_GREEN);
		row->multiprocessors = context ? context->nr_multiprocessors : 0;
	}
	if (stream.flags & DEFINITION_STREAM_PRIORITY)
		row->stream_priority = stream.priority;
	row->stream_default = stream.flags & DEFINITION_STREAM_DEFAULT;
	row->stream_name = clean_string(busy, collection->catalog, stream.name);
	row->host = clean_string(busy, collection->catalog, host ? host->node : 0);
	row->device_name = clean_string(busy, collection->catalog, device ? device->name : 0);
	return row->host && row->device_name && row->stream_name ? 0 : -ENOMEM;
}

/* In a merged profile several writers may have watched a device. Idle time is that within each writer's own time:
 * nobody knows what the device did in between. */
static void add_writer(struct report_busy_row *row, const struct report_busy_row *other)
{
	row->nr_parts += other->nr_parts;
	row->records += other->records;
	row->busy_ns += other->busy_ns;
	row->idle_ns += other->idle_ns;
	row->uncaptured_ns += other->uncaptured_ns;
	row->overlap_ns += other->overlap_ns;
	row->late += other->late;
	row->late_ns += other->late_ns;
	if (other->first_ns < row->first_ns)
		row->first_ns = other->first_ns;
	if (other->last_ns > row->last_ns)
		row->last_ns = other->last_ns;
}

/* rows_of: for each device the number of its row, 0: none yet. */
static int add_row(struct report_busy *busy, const struct collection *collection, uint32_t *rows_of,
		   const struct timeline_entry *entry)
{
	struct report_busy_row *row = &busy->rows[busy->nr_rows];
	struct timeline_sums sums;

	stream_timeline_sums(entry->timeline, &sums);
	if (sums.records == 0) /* a device has it that was described later */
		return 0;
	*row = (struct report_busy_row){
		.gpu = REPORT_GPU_NONE,
		.rank = REPORT_RANK_NONE,
		.stream_priority = REPORT_PRIORITY_NONE,
		.whole_device = entry->key.level != TIMELINE_STREAM,
		.context_id = entry->key.context_id,
		.stream_id = entry->key.stream_id,
		.nr_parts = 1,
		.records = sums.records,
		.first_ns = sums.first_ns,
		.last_ns = sums.last_ns,
		.busy_ns = stream_timeline_busy_ns(entry->timeline),
		.late = sums.late,
		.late_ns = sums.late_ns,
		.idle_ns = stream_timeline_idle_ns(entry->timeline),
		.uncaptured_ns = sums.uncaptured_ns,
	};
	row->overlap_ns = sums.sum_ns - sums.late_ns - row->busy_ns;
	if (entry->key.level == TIMELINE_DEVICE) {
		if (!roster_device(collection->roster, entry->key.device_id))
			return -EPROTO;
		if (rows_of[entry->key.device_id]) {
			add_writer(&busy->rows[rows_of[entry->key.device_id] - 1], row);
			return 0;
		}
		rows_of[entry->key.device_id] = busy->nr_rows + 1;
		gpu_telemetry_of(collection->placements, entry->key.device_id, &row->telemetry);
		gpu_counters_of(collection->placements, entry->key.device_id, &row->counters);
	}
	busy->nr_rows++;
	return describe(busy, collection, &entry->key, row);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
	const struct report_busy_row *x = a, *y = b;
	const int64_t numbers[][2] = {
		{x->gpu, y->gpu},
		{!x->whole_device, !y->whole_device},
		{x->pid, y->pid},
		{x->context_id, y->context_id},
		{x->stream_id, y->stream_id},
	};
	int order = strcmp(x->host, y->host);

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && order == 0; i++)
		order = compare_numbers(numbers[i][0], numbers[i][1]);
	return order;
}

/* The time of one device that one writer knows. */
struct span {
	uint32_t device;
	uint64_t first_ns, last_ns;
};

static int by_device(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int order = compare_numbers(x->device, y->device);

	return order ? order : (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static void mark_overlaps(struct report_busy *busy, const uint32_t *rows_of, struct span *spans,
			  uint32_t nr_spans)
{
	uint64_t last_ns = 0;

	if (nr_spans)
		qsort(spans, nr_spans, sizeof(*spans), by_device);
	for (uint32_t i = 0; i < nr_spans; i++) {
		if (i == 0 || spans[i].device != spans[i - 1].device)
			last_ns = 0;
		if (spans[i].first_ns < last_ns)
			busy->rows[rows_of[spans[i].device] - 1].is_inexact = true;
		if (spans[i].last_ns > last_ns)
			last_ns = spans[i].last_ns;
	}
}

static int find_overlaps(struct report_busy *busy, const uint32_t *rows_of,
			 const struct timeline_entry *entries, uint32_t nr_entries)
{
	struct span *spans = calloc(nr_entries + 1ull, sizeof(*spans));
	uint32_t nr_spans = 0;

	if (!spans)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_entries; i++) {
		struct timeline_sums sums;

		if (entries[i].key.level != TIMELINE_DEVICE)
			continue;
		stream_timeline_sums(entries[i].timeline, &sums);
		spans[nr_spans++] =
			(struct span){entries[i].key.device_id, sums.first_ns, sums.last_ns};
	}
	mark_overlaps(busy, rows_of, spans, nr_spans);
	free(spans);
	return 0;
}

int report_busy_create(const struct profile *profile, struct report_busy **busy)
{
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(profile->collection->timelines, &nr_entries);
	uint32_t *rows_of =
		calloc(roster_size(profile->collection->roster).devices + 1ull, sizeof(*rows_of));
	int error = 0;

	*busy = calloc(1, sizeof(**busy));
	if (!*busy || !rows_of) {
		free(rows_of);
		free(*busy);
		*busy = NULL;
		return -ENOMEM;
	}
	(*busy)->rows = calloc(nr_entries ? nr_entries : 1, sizeof(*(*busy)->rows));
	(*busy)->texts = calloc(nr_entries ? 3 * (size_t)nr_entries : 1, sizeof(char *));
	if (!(*busy)->rows || !(*busy)->texts)
		error = -ENOMEM;
	for (uint32_t i = 0; i < nr_entries && !error; i++)
		if (entries[i].key.level <= TIMELINE_ORDINAL)
			error = add_row(*busy, profile->collection, rows_of, &entries[i]);
	if (!error)
		error = find_overlaps(*busy, rows_of, entries, nr_entries);
	free(rows_of);
	if (error) {
		report_busy_destroy(*busy);
		*busy = NULL;
		return error;
	}
	if ((*busy)->nr_rows)
		qsort((*busy)->rows, (*busy)->nr_rows, sizeof(*(*busy)->rows), by_place);
	return 0;
}

void report_busy_destroy(struct report_busy *busy)
{
	if (!busy)
		return;
	array_free_texts(busy->texts, busy->nr_texts);
	free(busy->rows);
	free(busy);
}

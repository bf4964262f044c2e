#include "report_placement.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/placement_log.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/message.h"
#include "report/names/clean_text.h"

static int compare(const void *left, const void *right)
{
	const struct report_placement_row *a = left, *b = right;
	int order;

	if (a->rank != b->rank)
		return a->rank < 0 || (b->rank >= 0 && a->rank > b->rank) ? 1 : -1;
	order = strcmp(a->host, b->host);
	if (order)
		return order;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Returns the first row of the log that is not before this process and thread. The rows are sorted. */
static uint32_t find_thread(const struct placement_thread *threads, uint32_t count,
			    uint32_t process, uint32_t tid)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct placement_thread *thread = &threads[middle];

		if (thread->process < process || (thread->process == process && thread->tid < tid))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t node_of(const struct placement_log *log, uint32_t device)
{
	uint32_t count;
	const struct placement_device *devices = placement_log_devices(log, &count);

	for (uint32_t i = 0; i < count; i++)
		if (devices[i].device == device)
			return devices[i].numa_node;
	return PLACEMENT_NODE_NONE;
}

/* Totals repeat each pair of thread and device, once for each activity. */
struct pair {
	uint32_t process, tid, device;
};

static int by_pair(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct pair));
}

static int add_row(struct report_placement *placement, const struct profile *profile,
		   const struct pair *pair)
{
	const struct collection *collection = profile->collection;
	const struct roster_process *process = roster_process(collection->roster, pair->process);
	const struct roster_device *device = roster_device(collection->roster, pair->device);
	uint32_t count, size;
	const struct placement_thread *threads =
		placement_log_threads(collection->placements, &count);
	struct report_placement_row row = {
		.rank = process->rank,
		.gpu = device->index,
		.pid = process->identity.pid,
		.tid = pair->tid,
		.numa_node = node_of(collection->placements, pair->device),
	};

	row.known = row.numa_node != PLACEMENT_NODE_NONE;
	for (uint32_t i = find_thread(threads, count, pair->process, pair->tid);
	     i < count && threads[i].process == pair->process && threads[i].tid == pair->tid; i++) {
		row.looks += threads[i].count;
		row.far +=
			row.known && threads[i].numa_node != row.numa_node ? threads[i].count : 0;
	}
	if (row.looks == 0 || (row.known && row.far == 0))
		return 0;
	const struct roster_host *host = roster_host(collection->roster, process->identity.host);
	const char *node = catalog_string(collection->catalog, host ? host->node : 0, &size);
	row.host = clean_text_of(node, size);
	if (!row.host)
		return -ENOMEM;
	placement->rows[placement->nr_rows++] = row;
	return 0;
}

struct pairs {
	const struct roster *roster;
	struct pair *list; /* owns */
	uint32_t nr;
};

/* The rows of a process stand together, so most that come again are found among its last ones. */
static bool has_pair(const struct pairs *pairs, const struct pair *pair)
{
	for (uint32_t i = pairs->nr; i > 0 && pairs->list[i - 1].process == pair->process; i--)
		if (by_pair(&pairs->list[i - 1], pair) == 0)
			return true;
	return false;
}

static int take_total(void *context, const struct fold_row *row)
{
	struct pairs *pairs = context;
	const struct roster_process *process = roster_process(pairs->roster, row->key.process_id);
	const struct pair pair = {row->key.process_id, row->key.tid,
				  process ? roster_process_device(process, row->key.device_id) : 0};

	if (!pair.device || !pair.tid || has_pair(pairs, &pair))
		return 0;
	return array_append(&pairs->list, &pairs->nr, &pair, sizeof(pair));
}

static int fill(struct report_placement *placement, const struct profile *profile)
{
	struct pairs pairs = {.roster = profile->collection->roster};
	uint32_t nr_threads;

	placement_log_threads(profile->collection->placements, &nr_threads);
	if (nr_threads == 0)
		return 0;
	int error = profile_each_total(profile, take_total, &pairs);
	if (pairs.nr)
		qsort(pairs.list, pairs.nr, sizeof(*pairs.list), by_pair);
	placement->rows = calloc(pairs.nr + 1ull, sizeof(*placement->rows));
	if (!placement->rows)
		error = -ENOMEM;
	for (uint32_t i = 0; i < pairs.nr && !error; i++)
		if (i == 0 || by_pair(&pairs.list[i], &pairs.list[i - 1]) != 0)
			error = add_row(placement, profile, &pairs.list[i]);
	free(pairs.list);
	if (!error && placement->nr_rows)
		qsort(placement->rows, placement->nr_rows, sizeof(*placement->rows), compare);
	return error;
}

int report_placement_create(const struct profile *profile, struct report_placement **placement)
{
	*placement = calloc(1, sizeof(**placement));
	int error = *placement ? fill(*placement, profile) : -ENOMEM;

	if (error) {
		report_placement_destroy(*placement);
		*placement = NULL;
	}
	return error;
}

void report_placement_destroy(struct report_placement *placement)
{
	if (!placement)
		return;
	for (uint32_t i = 0; i < placement->nr_rows; i++)
		free((char *)placement->rows[i].host);
	free(placement->rows);
	free(placement);
}

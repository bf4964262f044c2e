#include "report_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "proto/memory_kind.h"
#include "proto/record.h"

static const struct memory_account *account_of(const struct collection *collection, uint32_t id)
{
	return roster_process(collection->roster, id)->memory;
}

int report_memory_each(const struct collection *collection, enum report_memory which,
		       report_memory_take *take, void *context)
{
	uint32_t count = 0;
	int error = 0;

	for (uint32_t id = 1; id <= roster_size(collection->roster).processes && !error; id++) {
		if (!account_of(collection, id))
			continue;
		const struct memory_row *rows =
			memory_account_rows(account_of(collection, id), &count);
		for (uint32_t i = 0; i < count && !error; i++) {
			bool peak = which == REPORT_MEMORY_PEAK;
			const struct fold_row row = {
				.key = {.process_id = id,
					.device_id = rows[i].key.device_id,
					.tid = rows[i].key.tid,
					.stack_id = rows[i].key.stack_id,
					.kind = RECORD_GPU_ALLOC,
					.copy_kind = rows[i].key.kind,
					.matched = rows[i].key.matched},
				.count = peak ? rows[i].peak_count : rows[i].live_count,
				.bytes = peak ? rows[i].peak_bytes : rows[i].live_bytes,
				.near_first = FOLD_NEAR_NONE,
			};

			if (row.count || row.bytes)
				error = take(context, &row);
		}
	}
	return error;
}

/* ---- a row for each account */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Returns for each process (id less one) the time of its first record; 0: it has none. The caller owns the array
 * (free()). NULL: out of memory. */
static uint64_t *make_firsts(const struct collection *collection)
{
	uint32_t nr_processes = roster_size(collection->roster).processes, count;
	uint64_t *firsts = calloc(nr_processes + 1u, sizeof(*firsts));
	const struct timeline_entry *entries =
		timeline_table_entries(collection->timelines, &count);

	for (uint32_t i = 0; firsts && i < count; i++) {
		uint32_t id = entries[i].key.process_id;
		struct timeline_sums times;

		if (entries[i].key.level != TIMELINE_STREAM || id == 0 || id > nr_processes)
			continue;
		stream_timeline_sums(entries[i].timeline, &times);
		firsts[id - 1] = earlier(firsts[id - 1], times.first_ns);
	}
	for (uint32_t id = 1; firsts && id <= nr_processes; id++) {
		if (!account_of(collection, id))
			continue;
		const struct memory_sums *sums =
			memory_account_sums(account_of(collection, id), &count);
		for (uint32_t i = 0; i < count; i++)
			firsts[id - 1] = earlier(firsts[id - 1], sums[i].first_ns);
	}
	return firsts;
}

static int make_row(const struct collection *collection, struct report_names *names, uint32_t id,
		    uint64_t first_ns, const struct memory_sums *sums,
		    struct report_memory_row *row)
{
	const struct roster *roster = collection->roster;
	const struct roster_process *process = roster_process(roster, id);
	const struct roster_host *host = roster_host(roster, process->identity.host);
	const struct roster_device *device =
		roster_device(roster, roster_process_device(process, sums->device_id));

	*row = (struct report_memory_row){
		.process = id - 1,
		.pid = process->identity.pid,
		.rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE,
		.gpu = device && device->index >= 0 ? device->index : REPORT_GPU_NONE,
		.space = sums->space,
		.ended = process->state != PROCESS_RUNNING,
		.allocs = sums->allocs,
		.alloc_bytes = sums->alloc_bytes,
		.frees = sums->frees,
		.free_bytes = sums->free_bytes,
		.live_count = sums->live_count,
		.live_bytes = sums->live_bytes,
		.peak_bytes = sums->peak_bytes,
		.unknown_frees = sums->unknown_frees,
		.left_out = sums->replaced + sums->untracked + sums->late,
	};
	if (sums->space == MEMORY_SPACE_HOST)
		row->gpu = REPORT_GPU_NONE;
	if (sums->peak_ns)
		row->peak_after_ns = sums->peak_ns - first_ns;
	return report_names_string(names, host ? host->node : 0, &row->host);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b, void *context)
{
	const struct report_memory_row *x = a, *y = b;
	const struct report_names *names = context;
	const int64_t numbers[][2] = {{x->gpu == REPORT_GPU_NONE, y->gpu == REPORT_GPU_NONE},
				      {x->gpu, y->gpu},
				      {x->pid, y->pid},
				      {x->process, y->process},
				      {x->space, y->space}};
	int order = strcmp(report_names_get(names, x->host), report_names_get(names, y->host));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && order == 0; i++)
		order = compare_numbers(numbers[i][0], numbers[i][1]);
	return order;
}

static uint32_t count_sums(const struct collection *collection)
{
	uint32_t sum = 0, count;

	for (uint32_t id = 1; id <= roster_size(collection->roster).processes; id++) {
		if (!account_of(collection, id))
			continue;
		memory_account_sums(account_of(collection, id), &count);
		sum += count;
	}
	return sum;
}

int report_memory_make(const struct collection *collection, struct report_names *names,
		       struct report_memory_row **rows, uint32_t *nr_rows)
{
	uint64_t *firsts = make_firsts(collection);
	uint32_t nr = 0, count = 0;
	int error = firsts ? 0 : -ENOMEM;

	*nr_rows = 0;
	*rows = calloc(count_sums(collection) + 1u, sizeof(**rows));
	if (!*rows)
		error = -ENOMEM;
	for (uint32_t id = 1; id <= roster_size(collection->roster).processes && !error; id++) {
		if (!account_of(collection, id))
			continue;
		const struct memory_sums *sums =
			memory_account_sums(account_of(collection, id), &count);
		for (uint32_t i = 0; i < count && !error; i++)
			error = make_row(collection, names, id, firsts[id - 1], &sums[i],
					 &(*rows)[nr++]);
	}
	free(firsts);
	if (error) {
		free(*rows);
		*rows = NULL;
		return error;
	}
	if (nr)
		qsort_r(*rows, nr, sizeof(**rows), by_place, names);
	*nr_rows = nr;
	return 0;
}

#include "report_ranks.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_placement.h"
#include "report_split.h"
#include "report_tree.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/core/launch_delay.h"
#include "aggregator/core/memory_account.h"
#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/placement_log.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/message.h"
#include "proto/memory_kind.h"
#include "proto/record.h"
#include "report/names/clean_text.h"
#include "report/statistics/outlier.h"

#define LONGEST_PART 20u

/* An unfinished row. */
struct draft {
	uint32_t process_id, device_id;
	struct report_ranks_row row;
	uint64_t *compute,
		*nccl; /* own: durations of kernels, by bucket; NULL: some are not known */
};

struct drafts {
	struct report_ranks *ranks;
	const struct collection *collection;
	struct draft *at; /* by process, device */
	uint32_t count;
	struct report_split *split; /* owns */
};

uint64_t report_ranks_value(const struct report_ranks_row *row, enum report_ranks_column column)
{
	switch (column) {
	case REPORT_RANKS_BUSY:
		return row->busy_ns;
	case REPORT_RANKS_COMPUTE:
		return row->compute.ns;
	case REPORT_RANKS_NCCL:
		return row->nccl.ns;
	case REPORT_RANKS_IDLE:
		return row->window_ns - row->busy_ns;
	case REPORT_RANKS_DELAY:
		return row->delay_ns;
	case REPORT_RANKS_COLUMNS:
		break;
	}
	return 0;
}

const char *report_ranks_name(enum report_ranks_column column)
{
	static const char *const names[REPORT_RANKS_COLUMNS] = {
		[REPORT_RANKS_BUSY] = "busy",   [REPORT_RANKS_COMPUTE] = "compute",
		[REPORT_RANKS_NCCL] = "nccl",   [REPORT_RANKS_IDLE] = "idle",
		[REPORT_RANKS_DELAY] = "delay",
	};

	return names[column];
}

/* ---- the rank, GPU and host of a row */

static const char *name_link(uint32_t link)
{
	return link == DEVICE_LINK_NVLINK ? "NVLink" : link == DEVICE_LINK_PCIE ? "PCIe" : NULL;
}

static void take_link(const struct drafts *drafts, struct report_ranks_row *row, uint32_t device)
{
	uint32_t count;
	const struct placement_link *links =
		placement_log_links(drafts->collection->placements, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (links[i].device != device)
			continue;
		row->link = name_link(links[i].link);
		row->link_bytes_per_second = row->link ? links[i].bytes_per_second : 0;
	}
}

static const char *clean_string(struct drafts *drafts, uint32_t string_id)
{
	uint32_t size;
	const char *text = catalog_string(drafts->collection->catalog, string_id, &size);
	char *clean = clean_text_of(text, size);

	if (clean)
		drafts->ranks->texts[drafts->ranks->nr_texts++] = clean;
	return clean;
}

static int describe(struct drafts *drafts, struct draft *draft)
{
	const struct roster *roster = drafts->collection->roster;
	const struct roster_process *process = roster_process(roster, draft->process_id);

	if (!process)
		return -EPROTO;
	uint32_t device_id = roster_process_device(process, draft->device_id);
	const struct roster_device *device = roster_device(roster, device_id);
	const struct roster_host *host = roster_host(roster, process->identity.host);
	draft->row.rank = process->rank >= 0 ? process->rank : REPORT_RANK_NONE;
	draft->row.gpu = device && device->index >= 0 ? device->index : REPORT_GPU_NONE;
	draft->row.pid = process->identity.pid;
	take_link(drafts, &draft->row, device_id);
	draft->row.host = clean_string(drafts, host ? host->node : 0);
	draft->row.device_name = clean_string(drafts, device ? device->name : 0);
	draft->row.job = clean_string(drafts, process->job);
	return draft->row.host && draft->row.device_name && draft->row.job ? 0 : -ENOMEM;
}

/* ---- the times of a row */

/* Returns 0 if there is no such timeline. */
static uint64_t busy_ns(const struct drafts *drafts, struct draft *draft, enum timeline_level level,
			uint64_t *late)
{
	const struct timeline_key key = {
		.level = level, .process_id = draft->process_id, .device_id = draft->device_id};
	const struct timeline_entry *entry =
		timeline_table_find(drafts->collection->timelines, &key);
	struct timeline_sums sums;

	if (!entry)
		return 0;
	stream_timeline_sums(entry->timeline, &sums);
	*late = sums.late > *late ? sums.late : *late;
	return stream_timeline_busy_ns(entry->timeline);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each timeline leaves out late records at its own time, so the difference may be wrong by their time at most. */
static void take_overlap(const struct drafts *drafts, struct draft *draft)
{
	struct report_ranks_row *row = &draft->row;
	uint64_t nccl_ns = busy_ns(drafts, draft, TIMELINE_COMMUNICATION, &row->late);
	uint64_t compute_ns = busy_ns(drafts, draft, TIMELINE_COMPUTATION, &row->late);
	uint64_t either_ns = busy_ns(drafts, draft, TIMELINE_KERNELS, &row->late);

	row->nccl_busy_ns = nccl_ns;
	if (nccl_ns && nccl_ns + compute_ns > either_ns)
		row->overlap_ns =
			least(nccl_ns + compute_ns - either_ns, least(nccl_ns, compute_ns));
}

static void take_memory(const struct drafts *drafts, struct draft *draft)
{
	const struct roster_process *process =
		roster_process(drafts->collection->roster, draft->process_id);
	uint32_t count = 0;
	const struct memory_sums *sums =
		process->memory ? memory_account_sums(process->memory, &count) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (sums[i].device_id != draft->device_id || sums[i].space != MEMORY_SPACE_DEVICE)
			continue;
		draft->row.has_memory = true;
		draft->row.peak_bytes = sums[i].peak_bytes;
	}
}

static void take_delay(const struct drafts *drafts, struct draft *draft)
{
	const struct roster_process *process =
		roster_process(drafts->collection->roster, draft->process_id);
	const struct launch_delay *delay =
		process->delays ? launch_delays_find(process->delays, draft->device_id) : NULL;

	if (!delay || !delay->count)
		return;
	draft->row.delays = delay->count;
	draft->row.delay_ns = delay->sum_ns / delay->count;
	draft->row.delay_max_ns = delay->max_ns;
}

static int add_draft(struct drafts *drafts, const struct timeline_entry *entry)
{
	struct draft *draft = &drafts->at[drafts->count++];
	struct timeline_sums sums;

	stream_timeline_sums(entry->timeline, &sums);
	*draft = (struct draft){
		.process_id = entry->key.process_id,
		.device_id = entry->key.device_id,
		.row = {.records = sums.records,
			.window_ns = sums.last_ns - sums.first_ns - sums.uncaptured_ns,
			.busy_ns = stream_timeline_busy_ns(entry->timeline),
			.late = sums.late},
	};
	int error = describe(drafts, draft);
	if (error)
		return error;
	take_overlap(drafts, draft);
	take_memory(drafts, draft);
	draft->compute = calloc(DURATION_BUCKETS, sizeof(*draft->compute));
	draft->nccl = calloc(DURATION_BUCKETS, sizeof(*draft->nccl));
	if (!draft->compute || !draft->nccl)
		return -ENOMEM;
	take_delay(drafts, draft);
	return draft->row.busy_ns <= draft->row.window_ns ? 0 : -EPROTO;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;
	int order = compare_numbers(x->process_id, y->process_id);

	return order ? order : compare_numbers(x->device_id, y->device_id);
}

static struct report_ranks_work *work_of(const struct drafts *drafts, struct report_ranks_row *row,
					 const struct fold_key *key)
{
	uint32_t size;
	const char *name;

	switch (key->kind) {
	case RECORD_GPU_KERNEL:
		name = catalog_string(drafts->collection->catalog, key->name_id, &size);
		return nccl_kernel_is(name, size) ? &row->nccl : &row->compute;
	case RECORD_GPU_MEMCPY:
		return &row->copies;
	case RECORD_GPU_MEMSET:
		return &row->fills;
	case RECORD_GPU_GRAPH:
		return &row->graphs;
	default:
		return NULL;
	}
}

static struct draft *find_draft(const struct drafts *drafts, uint32_t process, uint32_t device_id)
{
	const struct draft key = {.process_id = process, .device_id = device_id};

	return bsearch(&key, drafts->at, drafts->count, sizeof(key), by_key);
}

static int take_part(void *context, const struct fold_row *part, enum report_split_part which,
		     const char *text)
{
	struct report_ranks_row *row = context;

	(void)text;
	if (which == REPORT_SPLIT_WAITS)
		row->nccl_waits_ns += part->ns;
	else if (which == REPORT_SPLIT_MOVES)
		row->nccl_moves_ns += part->ns;
	return 0;
}

static void add_durations(uint64_t **durations, const struct fold_row *row)
{
	struct duration_bin list[DURATION_BUCKETS];
	const uint32_t nr = fold_row_list(row, list);

	for (uint32_t i = 0; i < nr && *durations; i++)
		(*durations)[list[i].bucket] += list[i].count;
	if (!nr && row->count) {
		free(*durations);
		*durations = NULL;
	}
}

/* Buckets are a quarter wide, so the middle of one stands for its durations. */
static void find_longest(const uint64_t *durations, struct report_ranks_work *work)
{
	uint64_t left = work->count / LONGEST_PART, ns = 0;

	for (uint32_t i = DURATION_BUCKETS; i-- > 0 && left && durations;) {
		const uint64_t count = least(durations[i], left);
		const uint64_t first_ns = duration_bucket_first_ns(i);

		left -= count;
		ns += count * (first_ns + (duration_bucket_last_ns(i) - first_ns) / 2);
	}
	work->longest_ns = least(ns, work->ns);
}

static int take_total(void *context, const struct fold_row *row)
{
	const struct drafts *drafts = context;
	struct draft *draft = find_draft(drafts, row->key.process_id, row->key.device_id);
	struct report_ranks_work *work = draft ? work_of(drafts, &draft->row, &row->key) : NULL;

	if (work) {
		work->count += row->count;
		work->ns += row->ns;
	}
	if (work && work == &draft->row.compute)
		add_durations(&draft->compute, row);
	if (work && work == &draft->row.nccl)
		add_durations(&draft->nccl, row);
	return work && work == &draft->row.nccl
		       ? report_split_each(drafts->split, row, take_part, &draft->row)
		       : 0;
}

static void take_bus_bytes(const struct drafts *drafts, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->splits.count; i++) {
		const struct collective_split *split = &profile->splits.splits[i];
		struct draft *draft = find_draft(drafts, split->key.process, split->key.device_id);

		if (draft)
			draft->row.nccl_bus_bytes += split->bus_bytes;
	}
}

/* ---- rows that stand out */

/* Several rows of a rank count once. */
static uint32_t count_ranks(const struct report_ranks *ranks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ranks->nr_rows && ranks->rows[i].rank != REPORT_RANK_NONE; i++)
		if (i == 0 || ranks->rows[i].rank != ranks->rows[i - 1].rank)
			count++;
	return count;
}

static void mark(struct report_ranks_row *row, enum report_ranks_column column, uint64_t median)
{
	const double value = (double)report_ranks_value(row, column);
	const double distance = median ? fabs(value / (double)median - 1) : HUGE_VAL;

	row->outliers |= 1u << column;
	if (distance > row->distance)
		row->distance = distance;
}

/* Returns the scale of a column (outlier.h); 0: its median. A short idle time varies much and says little, so it is
 * judged against the window. So does a short time in NCCL, but it must differ by a fiftieth of the window only, as
 * what others wait for a late rank does (straggler.h). Delay grows with the queue, so it must differ by half of the
 * median. It sorts the values. */
static uint64_t scale_of(const struct report_ranks *ranks, enum report_ranks_column column,
			 uint64_t *values)
{
	uint64_t median, part;

	switch (column) {
	case REPORT_RANKS_IDLE:
		return ranks->median_window_ns;
	case REPORT_RANKS_NCCL:
		median = outlier_median(values, ranks->nr_rows);
		part = ranks->median_window_ns / 50 * OUTLIER_SCALE_PART;
		return median > part ? median : part;
	case REPORT_RANKS_DELAY:
		return outlier_median(values, ranks->nr_rows) * OUTLIER_SCALE_PART / 2;
	default:
		return 0;
	}
}

/* Returns a value without what a few long kernels make of it. Where a rank pauses once, the other ranks have a long
 * kernel of NCCL's, in which they wait: they are busy, and it is idle. */
static uint64_t without_longest(const struct report_ranks_row *row, enum report_ranks_column column)
{
	const uint64_t value = report_ranks_value(row, column);

	switch (column) {
	case REPORT_RANKS_COMPUTE:
		return value - row->compute.longest_ns;
	case REPORT_RANKS_BUSY:
	case REPORT_RANKS_NCCL:
		return value - least(value, row->nccl.longest_ns);
	case REPORT_RANKS_IDLE:
		return value + row->nccl.longest_ns;
	default:
		return value;
	}
}

/* A rank does not stand out by that alone: it says something of the run, and --straggler tells of stalls. So three
 * quarters of its distance from the median must be left without it. It changes the values. */
static void leave_out_longest(const struct report_ranks *ranks, enum report_ranks_column column,
			      uint64_t *values, bool *out)
{
	const double raw = (double)ranks->medians_ns[column];

	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		values[i] = without_longest(&ranks->rows[i], column);
	const double median = (double)outlier_median(values, ranks->nr_rows);
	for (uint32_t i = 0; i < ranks->nr_rows; i++) {
		const struct report_ranks_row *row = &ranks->rows[i];
		const double far = (double)report_ranks_value(row, column) - raw;
		const double left = (double)without_longest(row, column) - median;

		out[i] &= far > 0 ? 4 * left >= 3 * far : 4 * left <= 3 * far;
	}
}

static int compare_column(struct report_ranks *ranks, enum report_ranks_column column,
			  uint64_t *values, bool *out)
{
	int error;

	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		values[i] = report_ranks_value(&ranks->rows[i], column);
	uint64_t scale = scale_of(ranks, column, values);
	for (uint32_t i = 0; i < ranks->nr_rows; i++)
		values[i] = report_ranks_value(&ranks->rows[i], column);
	error = outlier_find(values, ranks->nr_rows, scale, out, &ranks->medians_ns[column]);
	if (!error)
		leave_out_longest(ranks, column, values, out);
	for (uint32_t i = 0; i < ranks->nr_rows && !error; i++)
		if (!ranks->why_not && out[i])
			mark(&ranks->rows[i], column, ranks->medians_ns[column]);
	return error;
}

static const char *why_not(const struct report_ranks *ranks, const struct profile *profile)
{
	/* Nodes that fold their own events send them seconds apart, so while they do ranks differ by that. */
	if (profile->written && profile->collection->nr_writers > 1)
		return "not compared while the job runs: the nodes' rows are of different times";
	if (ranks->has_jobs)
		return "ranks of several jobs: not compared";
	static_assert(OUTLIER_VALUES_MIN == 4u, "the text says so");
	return count_ranks(ranks) < OUTLIER_VALUES_MIN ? "fewer than 4 ranks: not compared" : NULL;
}

static int compare_rows(struct report_ranks *ranks)
{
	uint64_t *values = calloc(ranks->nr_rows + 1u, sizeof(*values));
	bool *out = calloc(ranks->nr_rows + 1u, sizeof(*out));
	int error = values && out ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < ranks->nr_rows && !error; i++)
		values[i] = ranks->rows[i].window_ns;
	if (!error)
		ranks->median_window_ns = outlier_median(values, ranks->nr_rows);
	for (unsigned int column = 0; column < REPORT_RANKS_COLUMNS && !error; column++)
		error = compare_column(ranks, (enum report_ranks_column)column, values, out);
	free(values);
	free(out);
	return error;
}

static int by_place(const void *a, const void *b)
{
	const struct report_ranks_row *x = a, *y = b;
	int order = compare_numbers(x->rank == REPORT_RANK_NONE, y->rank == REPORT_RANK_NONE);

	if (!order && x->rank != y->rank)
		order = x->rank < y->rank ? -1 : 1;
	if (!order)
		order = strcmp(x->job, y->job);
	if (!order)
		order = strcmp(x->host, y->host);
	if (!order && x->gpu != y->gpu)
		order = x->gpu < y->gpu ? -1 : 1;
	return order ? order : compare_numbers(x->pid, y->pid);
}

static int make_rows(struct drafts *drafts, const struct profile *profile)
{
	struct report_ranks *ranks = drafts->ranks;
	uint32_t nr_entries;
	const struct timeline_entry *entries =
		timeline_table_entries(drafts->collection->timelines, &nr_entries);
	int error = 0;

	drafts->at = calloc(nr_entries + 1u, sizeof(*drafts->at));
	ranks->rows = calloc(nr_entries + 1u, sizeof(*ranks->rows));
	ranks->texts = calloc(3 * (size_t)nr_entries + 1u, sizeof(char *));
	if (!drafts->at || !ranks->rows || !ranks->texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_entries && !error; i++)
		if (entries[i].key.level == TIMELINE_WORK)
			error = add_draft(drafts, &entries[i]);
	if (error)
		return error;
	qsort(drafts->at, drafts->count, sizeof(*drafts->at), by_key);
	drafts->split = report_split_create(profile);
	error = drafts->split ? profile_each_total(profile, take_total, drafts) : -ENOMEM;
	if (error)
		return error;
	take_bus_bytes(drafts, profile);
	for (uint32_t i = 0; i < drafts->count; i++) {
		find_longest(drafts->at[i].compute, &drafts->at[i].row.compute);
		find_longest(drafts->at[i].nccl, &drafts->at[i].row.nccl);
		ranks->rows[ranks->nr_rows++] = drafts->at[i].row;
	}
	qsort(ranks->rows, ranks->nr_rows, sizeof(*ranks->rows), by_place);
	for (uint32_t i = 1; i < ranks->nr_rows; i++)
		ranks->has_jobs |= strcmp(ranks->rows[i].job, ranks->rows[0].job) != 0;
	ranks->why_not = why_not(ranks, profile);
	return compare_rows(ranks);
}

int report_ranks_create(const struct profile *profile, struct report_ranks **ranks)
{
	struct drafts drafts = {.collection = profile->collection};
	int error;

	*ranks = drafts.ranks = calloc(1, sizeof(**ranks));
	if (!*ranks)
		return -ENOMEM;
	error = make_rows(&drafts, profile);
	report_split_destroy(drafts.split);
	for (uint32_t i = 0; i < drafts.count; i++) {
		free(drafts.at[i].compute);
		free(drafts.at[i].nccl);
	}
	free(drafts.at);
	if (!error)
		error = report_placement_create(profile, &(*ranks)->placement);
	if (error) {
		report_ranks_destroy(*ranks);
		*ranks = NULL;
	}
	return error;
}

void report_ranks_destroy(struct report_ranks *ranks)
{
	if (!ranks)
		return;
	array_free_texts(ranks->texts, ranks->nr_texts);
	report_placement_destroy(ranks->placement);
	free(ranks->rows);
	free(ranks);
}

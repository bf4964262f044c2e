#include "sim_truth.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "sim_calls.h"
#include "sim_device.h"
#include "sim_memory.h"
#include "sim_shape.h"

#define FIRST_SLOTS 16u

static _Atomic(struct sim_truth_row *) rows;
static _Atomic uint64_t launch_calls, launch_failures;
static _Atomic int owner_pid;

static struct sim_truth_row **find_slot(const struct sim_truth_table *table, enum sim_kind kind,
					const char *name)
{
	uint32_t mask = table->nr_slots - 1;
	uint32_t i = (uint32_t)(((uintptr_t)name >> 4) + (uintptr_t)kind) & mask;

	while (table->slots[i] && (table->slots[i]->name != name || table->slots[i]->kind != kind))
		i = (i + 1) & mask;
	return &table->slots[i];
}

static int grow(struct sim_truth_table *table)
{
	struct sim_truth_table old = *table;

	table->nr_slots = old.nr_slots ? old.nr_slots * 2 : FIRST_SLOTS;
	table->slots = calloc(table->nr_slots, sizeof(struct sim_truth_row *));
	if (!table->slots) {
		*table = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.nr_slots; i++) {
		if (old.slots[i])
			*find_slot(table, old.slots[i]->kind, old.slots[i]->name) = old.slots[i];
	}
	free(old.slots);
	return 0;
}

struct sim_truth_row *sim_truth_table_row(struct sim_truth_table *table,
					  const struct sim_truth_row *key)
{
	if (table->nr_rows * 2 >= table->nr_slots && grow(table) != 0)
		return NULL;

	struct sim_truth_row **slot = find_slot(table, key->kind, key->name);
	if (*slot)
		return *slot;
	struct sim_truth_row *row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->device = key->device;
	row->device_ordinal = key->device_ordinal;
	row->context_id = key->context_id;
	row->stream_id = key->stream_id;
	row->kind = key->kind;
	row->name = key->name;
	row->next = atomic_load(&rows);
	while (!atomic_compare_exchange_weak(&rows, &row->next, row))
		;
	*slot = row;
	table->nr_rows++;
	return row;
}

void sim_truth_table_fini(struct sim_truth_table *table)
{
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

void sim_truth_count_launch(_Bool failed)
{
	atomic_fetch_add_explicit(&launch_calls, 1, memory_order_relaxed);
	if (failed)
		atomic_fetch_add_explicit(&launch_failures, 1, memory_order_relaxed);
}

void sim_truth_start(void)
{
	atomic_store(&owner_pid, (int)getpid());
}

static int compare_rows(const void *left, const void *right)
{
	const struct sim_truth_row *a = *(struct sim_truth_row *const *)left;
	const struct sim_truth_row *b = *(struct sim_truth_row *const *)right;

	if (a->device != b->device) {
		if (!a->device || !b->device)
			return a->device ? -1 : 1;
		return a->device->index < b->device->index ? -1 : 1;
	}
	if (a->context_id != b->context_id)
		return a->context_id < b->context_id ? -1 : 1;
	if (a->stream_id != b->stream_id)
		return a->stream_id < b->stream_id ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void write_row(FILE *file, struct sim_truth_row *row)
{
	static const char *const kinds[] = {"kernel", "memcpy",   "memset", "graph",
					    "sync",   "overhead", "um",     "module"};

	if (row->device)
		fprintf(file, "%s\t%u\t%u", row->device->uuid_text, row->device->index,
			row->device_ordinal);
	else
		fputs("-\t?\t?", file);
	fprintf(file, "\t%u\t%u\t%s\t%s", row->context_id, row->stream_id, kinds[row->kind],
		row->name);
	fprintf(file,
		"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%" PRIu64 "\t%" PRIu64 "\n",
		atomic_load(&row->ran_count), atomic_load(&row->ran_ns), atomic_load(&row->bytes),
		atomic_load(&row->valid_count), atomic_load(&row->valid_ns),
		atomic_load(&row->dropped_count), atomic_load(&row->zeroed_count),
		atomic_load(&row->running_count));
}

static int write_rows(FILE *file)
{
	struct sim_truth_row *first = atomic_load(&rows);
	size_t count = 0;

	for (struct sim_truth_row *row = first; row; row = row->next)
		count++;
	struct sim_truth_row **sorted = malloc((count + 1) * sizeof(struct sim_truth_row *));
	if (!sorted)
		return -ENOMEM;
	count = 0;
	for (struct sim_truth_row *row = first; row; row = row->next)
		sorted[count++] = row;
	qsort(sorted, count, sizeof(struct sim_truth_row *), compare_rows);

	fprintf(file,
		"#device\tdevice_index\tdevice_ordinal\tcontext_id\tstream_id\tkind\tname\tran_"
		"count\tran_ns"
		"\tbytes\tvalid_count\tvalid_ns\tdropped_count\tzeroed_count\trunning_count\n");
	for (size_t i = 0; i < count; i++)
		write_row(file, sorted[i]);
	sim_calls_write(file);
	sim_shape_write(file);
	sim_memory_write_truth(file);
	fprintf(file, "#launch\t%" PRIu64 "\t%" PRIu64 "\n", atomic_load(&launch_calls),
		atomic_load(&launch_failures));
	free(sorted);
	return 0;
}

void sim_truth_path(char *path, size_t size, const char *pattern)
{
	const char *mark = strstr(pattern, "%p");

	if (mark)
		snprintf(path, size, "%.*s%d%s", (int)(mark - pattern), pattern, (int)getpid(),
			 mark + 2);
	else
		snprintf(path, size, "%s", pattern);
}

/* Written beside its place and renamed, so that a reader never sees half a truth. */
int fake_cuda_write_truth(const char *path)
{
	char place[PATH_MAX], part[PATH_MAX + 16];

	if (!path)
		path = getenv("FAKE_CUDA_TRUTH");
	if (!path || !*path)
		return -EINVAL;
	sim_truth_path(place, sizeof(place), path);
	snprintf(part, sizeof(part), "%s.%d.part", place, (int)getpid());
	FILE *file = fopen(part, "w");
	if (!file)
		return -errno;
	int error = write_rows(file);
	if (fclose(file) != 0 && error == 0)
		error = -errno;
	if (error == 0 && rename(part, place) != 0)
		error = -errno;
	if (error != 0)
		unlink(part);
	return error;
}

/* Libraries are finished after every exit handler, and this one after those that need it. */
__attribute__((destructor)) static void write_at_exit(void)
{
	if (atomic_load(&owner_pid) == (int)getpid() && getenv("FAKE_CUDA_TRUTH"))
		fake_cuda_write_truth(NULL);
}

#include "watched_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watched_process.h"

#define NONE UINT32_MAX

struct watched_table {
	struct watched_process **processes; /* owns, and each */
	uint32_t count, max;
	/* owns; index in processes or NONE, by pid; a power of two, at most half of them used */
	uint32_t *slots;
	uint32_t nr_slots;
};

struct watched_table *watched_table_create(void)
{
	return calloc(1, sizeof(struct watched_table));
}

void watched_table_destroy(struct watched_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->count; i++)
		watched_process_destroy(table->processes[i]);
	free(table->processes);
	free(table->slots);
	free(table);
}

static uint32_t *slot_of(const struct watched_table *table, pid_t pid)
{
	uint32_t i = ((uint32_t)pid * 0x9e3779b1u) & (table->nr_slots - 1);

	while (table->slots[i] != NONE &&
	       watched_process_pid(table->processes[table->slots[i]]) != pid)
		i = (i + 1) & (table->nr_slots - 1);
	return &table->slots[i];
}

static void fill_slots(struct watched_table *table)
{
	memset(table->slots, 0xff, table->nr_slots * sizeof(*table->slots));
	for (uint32_t i = 0; i < table->count; i++)
		*slot_of(table, watched_process_pid(table->processes[i])) = i;
}

struct watched_process *watched_table_find(const struct watched_table *table, pid_t pid)
{
	uint32_t index = table->count ? *slot_of(table, pid) : NONE;

	return index == NONE ? NULL : table->processes[index];
}

static int grow(struct watched_table *table)
{
	uint32_t max = table->max ? table->max * 2 : 64;
	struct watched_process **processes =
		realloc(table->processes, max * sizeof(struct watched_process *));

	if (!processes)
		return -ENOMEM;
	table->processes = processes;
	uint32_t *slots = realloc(table->slots, 2ul * max * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	table->slots = slots;
	table->max = max;
	table->nr_slots = 2 * max;
	fill_slots(table);
	return 0;
}

int watched_table_add(struct watched_table *table, struct watched_process *process)
{
	int r = table->count == table->max ? grow(table) : 0;

	if (r)
		return r;
	*slot_of(table, watched_process_pid(process)) = table->count;
	table->processes[table->count++] = process;
	return 0;
}

uint32_t watched_table_count(const struct watched_table *table)
{
	return table->count;
}

struct watched_process *watched_table_at(const struct watched_table *table, uint32_t index)
{
	return table->processes[index];
}

void watched_table_remove(struct watched_table *table, uint32_t index)
{
	struct watched_process *process = table->processes[index];

	table->processes[index] = table->processes[--table->count];
	watched_process_destroy(process);
	fill_slots(table);
}

uint32_t watched_table_index(const struct watched_table *table,
			     const struct watched_process *process)
{
	return *slot_of(table, watched_process_pid(process));
}

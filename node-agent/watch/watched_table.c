#include "watched_table.h"

#include <errno.h>
#include <stdlib.h>

#include "watched_process.h"

#include "base/array.h"
#include "base/hash_index.h"

struct watched_table {
	struct watched_process **processes; /* owns the array and its processes */
	uint32_t count, max;
	struct hash_index pids; /* index in processes + 1 */
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
	hash_index_fini(&table->pids);
	free(table);
}

static bool has_pid(const void *context, uint32_t id, const void *key)
{
	const struct watched_table *table = context;

	return watched_process_pid(table->processes[id - 1]) == *(const pid_t *)key;
}

static uint32_t hash_of(pid_t pid)
{
	return hash_index_hash_word((uint32_t)pid);
}

/* Returns the index + 1; 0: the pid is not in the table. */
static uint32_t find(const struct watched_table *table, pid_t pid)
{
	return hash_index_find(&table->pids, hash_of(pid), has_pid, table, &pid);
}

struct watched_process *watched_table_find(const struct watched_table *table, pid_t pid)
{
	uint32_t id = find(table, pid);

	return id ? table->processes[id - 1] : NULL;
}

int watched_table_add(struct watched_table *table, struct watched_process *process)
{
	if (array_reserve(&table->processes, &table->max, table->count + 1,
			  sizeof(*table->processes)))
		return -ENOMEM;
	int r = hash_index_insert(&table->pids, hash_of(watched_process_pid(process)),
				  table->count + 1);
	if (r == 0)
		table->processes[table->count++] = process;
	return r;
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
	struct watched_process *last = table->processes[table->count - 1];

	hash_index_replace(&table->pids, hash_of(watched_process_pid(process)), index + 1, 0);
	if (last != process)
		hash_index_replace(&table->pids, hash_of(watched_process_pid(last)), table->count,
				   index + 1);
	table->processes[index] = last;
	table->count--;
	watched_process_destroy(process);
}

uint32_t watched_table_index(const struct watched_table *table,
			     const struct watched_process *process)
{
	return find(table, watched_process_pid(process)) - 1;
}

/* Holds, by pid, the watched processes that have something to report. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_TABLE_H
#define WATCHED_TABLE_H

#include <stdint.h>
#include <sys/types.h>

struct watched_process;
struct watched_table;

/* Creates an empty table; NULL: out of memory. */
struct watched_table *watched_table_create(void);
/* accepts NULL; also destroys its processes */
void watched_table_destroy(struct watched_table *table);

/* Finds a process; NULL: it is not in the table. Borrowed until it is removed. */
struct watched_process *watched_table_find(const struct watched_table *table, pid_t pid);

/* Adds a process, which the table takes on success. Its pid must not be in the table yet. 0 or -ENOMEM. */
int watched_table_add(struct watched_table *table, struct watched_process *process);

uint32_t watched_table_count(const struct watched_table *table);

/* Returns the process at index, which is below watched_table_count(). Borrowed until it is removed. */
struct watched_process *watched_table_at(const struct watched_table *table, uint32_t index);

/* Destroys the process at index; the last process takes its index. */
void watched_table_remove(struct watched_table *table, uint32_t index);

/* Returns the index of a process that is in the table. */
uint32_t watched_table_index(const struct watched_table *table,
			     const struct watched_process *process);

#endif

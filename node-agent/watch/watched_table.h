/* The watched processes that have something to say, by pid. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_TABLE_H
#define WATCHED_TABLE_H

#include <stdint.h>
#include <sys/types.h>

struct watched_process;
struct watched_table;

/* NULL: out of memory. */
struct watched_table *watched_table_create(void);
void watched_table_destroy(struct watched_table *table); /* accepts NULL; and the processes in it */

/* NULL: there is none. Borrowed until it is removed. */
struct watched_process *watched_table_find(const struct watched_table *table, pid_t pid);

/* Takes the process on success; its pid must not be there yet. 0 or -ENOMEM. */
int watched_table_add(struct watched_table *table, struct watched_process *process);

uint32_t watched_table_count(const struct watched_table *table);

/* index < watched_table_count(). Borrowed until it is removed. */
struct watched_process *watched_table_at(const struct watched_table *table, uint32_t index);

/* Destroys a process; the last one takes its index. */
void watched_table_remove(struct watched_table *table, uint32_t index);

/* Of one that is there. */
uint32_t watched_table_index(const struct watched_table *table,
			     const struct watched_process *process);

#endif

/* Keeps the unwind tables that guests share: for each user the memory of an arena (table_arena.h), which its processes
 * alone get. A thread of its own fills an arena from disk, and stores there what guests have built: every two seconds
 * in the minute after a guest came, and else once a minute. If an arena is nearly full, the user's next process gets a
 * fresh one, into which the last used tables come from disk. Processes that have the old one keep it. A line of the log
 * says so, and another one, once, if the directory cannot be used. One thread, the agent's loop, calls. */
#ifndef TABLE_KEEPER_H
#define TABLE_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

/* Users at one time. If another one comes, the user that has had no new guest for the longest is forgotten. */
#define TABLE_KEEPER_USERS_MAX 4u

struct table_keeper;

/* directory: where the tables lie (table_cache.h), copied; NULL: they are not stored, and there is no thread. Begins to
 * load the tables of our own user. NULL: out of memory, or no thread. */
struct table_keeper *table_keeper_start(const char *directory);

/* Returns the descriptor of the user's memory, borrowed until the next call; -1: there is none. */
int table_keeper_memory(struct table_keeper *keeper, uid_t user);

/* Stores what guests have built until now, and ends. If the disk takes longer than wait_ms, it leaves the thread
 * behind. Accepts NULL. */
void table_keeper_stop(struct table_keeper *keeper, uint32_t wait_ms);

#endif

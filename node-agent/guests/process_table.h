/* The processes that the agent reads, and the watch over their lives: by pidfd, else by looking now
 * and then. Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_TABLE_H
#define PROCESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_TABLE_MAX     2048u
#define PROCESS_TABLE_POLL_NS 500000000ull /* between looks at processes without a pidfd */

struct event_loop;
struct guest_arrival;
struct guest_process;
struct process_table;

/* The loop is borrowed until process_table_destroy() (accepts NULL). NULL: out of memory. */
struct process_table *process_table_create(struct event_loop *loop);
void process_table_destroy(struct process_table *table); /* and the processes in it */

/* Takes the process on success; guest_process_end() is called on it when pid is seen to have ended.
 * An earlier process with this pid has: it called exec, or the pid came again. pid 0, one that
 * can't be seen from here: no watch; it ends by its goodbye, or with the agent. 0; -ENOSPC:
 * PROCESS_TABLE_MAX; -ENOMEM. */
int process_table_add(struct process_table *table, struct guest_process *process, pid_t pid);

/* Whether a process of this user may still be added (fair_shares.h). *held: how many that user has here. */
bool process_table_has_place(const struct process_table *table, uid_t uid, uint32_t *held);

uint32_t process_table_count(const struct process_table *table);

/* index < process_table_count(). Borrowed until it is removed. */
struct guest_process *process_table_at(const struct process_table *table, uint32_t index);

/* Destroys a process; the last one takes its index. */
void process_table_remove(struct process_table *table, uint32_t index);

/* Looks at processes without a pidfd. Returns when to call again; UINT64_MAX: there are none. */
uint64_t process_table_step(struct process_table *table, uint64_t now_ns);

/* Whether it is the guest of one of them that speaks again. */
bool process_table_has(const struct process_table *table, const struct guest_arrival *arrival);

/* Of each process: tells its guest that the agent lives; gives it its room back up to seq. */
void process_table_beat(struct process_table *table, uint64_t now_ns);
void process_table_release(struct process_table *table, uint64_t seq);

/* Read so far, of processes that were removed, too. */
void process_table_counts(const struct process_table *table, uint64_t *launches, uint64_t *records);

/* Tells every process that ended, but wasn't noticed yet, so; and all others that the agent is
 * about to go: what they launch from then on has their own stacks. */
void process_table_end_all(struct process_table *table);

#endif

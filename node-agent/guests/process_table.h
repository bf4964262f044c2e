/* Holds the processes that the agent reads, and watches for their end: by pidfd, else by a look now and then.
 * Single-threaded: only the agent loop calls it. */
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

/* Creates an empty table. The loop is borrowed until process_table_destroy() (accepts NULL). NULL: out of memory. */
struct process_table *process_table_create(struct event_loop *loop);
void process_table_destroy(struct process_table *table); /* also destroys its processes */

/* Adds a process, which the table takes on success. When pid is seen to end, the table calls guest_process_end(). An
 * earlier process with this pid has ended: it called exec, or the pid was reused. pid 0: the process can't be seen from
 * here, and is not watched; it ends by its goodbye, or with the agent. 0; -ENOSPC: PROCESS_TABLE_MAX; -ENOMEM. */
int process_table_add(struct process_table *table, struct guest_process *process, pid_t pid);

/* Returns whether this user may add one more process (fair_shares.h). *held: the user's processes in the table. */
bool process_table_has_place(const struct process_table *table, uid_t uid, uint32_t *held);

uint32_t process_table_count(const struct process_table *table);

/* Returns the process at index, which is below process_table_count(). Borrowed until it is removed. */
struct guest_process *process_table_at(const struct process_table *table, uint32_t index);

/* Destroys the process at index; the last process takes its index. */
void process_table_remove(struct process_table *table, uint32_t index);

/* Looks at processes without a pidfd. Returns when to call again; UINT64_MAX: every process has a pidfd. */
uint64_t process_table_step(struct process_table *table, uint64_t now_ns);

/* Returns whether the arrival is a guest of the table that speaks again. */
bool process_table_has(const struct process_table *table, const struct guest_arrival *arrival);

/* process_table_beat() tells every guest that the agent lives. process_table_release() gives every guest its room back
 * up to message seq. */
void process_table_beat(struct process_table *table, uint64_t now_ns);
void process_table_release(struct process_table *table, uint64_t seq);

/* Returns the launches and records read so far, including those of processes that were removed. */
void process_table_counts(const struct process_table *table, uint64_t *launches, uint64_t *records);

/* Ends all processes: those that have died unnoticed, and all others because the agent is about to go. Launches of a
 * running process walk their own stacks from then on. */
void process_table_end_all(struct process_table *table);

#endif

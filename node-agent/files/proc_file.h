/* Reads what /proc says about one process. Any thread. */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* PROC_FILE_WAIT_MS is the time that an agent's loop may wait in one period for cmdline and environ of other users'
 * processes. These users share it (fair_shares.h). When a user's share is used up, the loop waits no more for that user
 * until the next period: that user's next process may keep its memory from being read, too. One read that has begun may
 * take FOREIGN_FILE_WAIT_MS. */
#define PROC_FILE_WAIT_MS   200u
#define PROC_FILE_PERIOD_NS 10000000000ull

/* Reads /proc/PID/NAME, at most max bytes of it. A foreign call (foreign_file.h) reads files that another user's
 * process can hold up; its errors are among these. 0 or -errno. The caller owns *data (free()); a NUL follows the last
 * byte. On error *data is NULL and *size 0. */
int proc_file_read(pid_t pid, const char *name, size_t max, char **data, size_t *size);

/* Returns whether this error means that the read was given up, or not begun, to save time: a later read may succeed. */
bool proc_file_is_late(int error);

/* Returns field 22 of /proc/PID/stat: the process's start, in clock ticks. 0: not known. */
uint64_t proc_file_start_ticks(pid_t pid);

/* Returns the parent's pid; 0: not known, or not visible from here. */
pid_t proc_file_parent(pid_t pid);

/* Returns whether the process still runs. false: it has ended (a zombie has), or its pid now belongs to another
 * process. start_ticks 0: any process with this pid counts. */
bool proc_file_is_alive(pid_t pid, uint64_t start_ticks);

/* Returns the command line with spaces between its words, or the command's short name if there is none. The caller owns
 * it (free()). NULL: nothing is known. *is_late (unless is_late is NULL): the command line may be readable later. */
char *proc_file_command(pid_t pid, bool *is_late);

/* Finds the process's real and effective user, as seen from here. 0 or -errno. On error both are (uid_t)-1. */
int proc_file_users(pid_t pid, uid_t *real, uid_t *effective);

/* Returns whether the process runs under our own effective user. */
bool proc_file_is_ours(pid_t pid);

/* Return the inode of the process's pid namespace and of its time namespace; 0: not known. */
uint64_t proc_file_pid_namespace(pid_t pid);
uint64_t proc_file_time_namespace(pid_t pid);

#endif

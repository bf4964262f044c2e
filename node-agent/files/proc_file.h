/* What /proc says about one process. Any thread. */
#ifndef PROC_FILE_H
#define PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What an agent's loop waits in one period for cmdline and environ of all other users' processes, which share it
 * (fair_shares.h). A user without a share left is not waited for until the next period: the next process of that user
 * may keep its memory from being read, too. One read that has begun may take FOREIGN_FILE_WAIT_MS. */
#define PROC_FILE_WAIT_MS   200u
#define PROC_FILE_PERIOD_NS 10000000000ull

/* Reads /proc/PID/NAME, at most max bytes of it. What another user's process can hold up is read by a foreign call
 * (foreign_file.h), whose errors are among these: 0 or -errno; *data owns: free(), with a NUL behind the last byte; on
 * error it is NULL and *size 0. */
int proc_file_read(pid_t pid, const char *name, size_t max, char **data, size_t *size);

/* Whether such an error tells that the process was not waited for, or not any longer: it may be read later. */
bool proc_file_is_late(int error);

/* Field 22 of /proc/PID/stat: when the process started, in clock ticks. 0: not known. */
uint64_t proc_file_start_ticks(pid_t pid);

/* Its parent's pid; 0: not known, or none that is to be seen. */
pid_t proc_file_parent(pid_t pid);

/* false: the process ended (a zombie has), or its pid belongs to another by now. start_ticks 0:
 * any. */
bool proc_file_is_alive(pid_t pid, uint64_t start_ticks);

/* The command line with spaces between its words, else the command's name. The caller owns it: free(). NULL: nothing is
 * known. *is_late, unless is_late is NULL: the command line may be read later. */
char *proc_file_command(pid_t pid, bool *is_late);

/* Its real and effective user, as seen from here. 0 or -errno, and both are (uid_t)-1, which is nobody. */
int proc_file_users(pid_t pid, uid_t *real, uid_t *effective);

/* It runs under this process's effective user. */
bool proc_file_is_ours(pid_t pid);

/* The inode of its pid namespace, or of its time namespace; 0: not known. */
uint64_t proc_file_pid_namespace(pid_t pid);
uint64_t proc_file_time_namespace(pid_t pid);

#endif

/* Opens files that a job names or has mapped. Anything may lie at such a path, and the agent may have
 * more rights than the job: nothing but a regular file is ever opened for reading, so that no device
 * and no FIFO notices, and no link leads out of the process's root. Any thread. */
#ifndef JOB_FILE_H
#define JOB_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Each returns a descriptor to read from, owned by the caller, or -errno; -ENOEXEC: what is there is
 * no regular file. */

/* In our own root, whatever links lead there: for paths that are ours. */
int job_file_open(const char *path);

/* The file that the process has mapped there, by /proc/PID/map_files; the addresses are widened to
 * whole pages. -EPERM, -EACCES: the kernel does not show it to us; -ENOENT: no such mapping. */
int job_file_open_mapped(pid_t pid, uint64_t start, uint64_t end);

/* The st_dev of the file that the process has mapped there, for which no file system is asked. 0: not known. */
uint64_t job_file_device_mapped(pid_t pid, uint64_t start, uint64_t end);

/* At an absolute path in the root of the process, 0: in ours, for a process of this user. flags:
 * O_NOFOLLOW: not if the last part is a link; else 0. -EACCES: its mode does not let the user read it.
 * Where the kernel has no openat2() for us, paths through links are -ELOOP in another root. */
int job_file_open_in(pid_t pid, const char *path, uid_t user, int flags);

/* Nobody but root can have written it: root owns it, nobody else may write to it, and its mount
 * believes in owners (a user's own mounts are nosuid). */
bool job_file_is_of_root(int fd);

/* It was changed last before this time of the real-time clock, by more than clocks are coarse. */
bool job_file_is_older(const struct stat *status, int64_t time_ns);

#endif

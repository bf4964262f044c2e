/* Decides whether a file that a job names or has mapped may be opened, and opens it. Anything may lie at such a path,
 * and the agent may have more rights than the job. So only regular files are ever opened for reading: no device and no
 * FIFO notices the agent. No link leads out of the process's root. is_believed() in symbols/symbol_module.c and in
 * symbols/perf_map.c decides whether the names in an opened file are believed. Any thread. */
#ifndef PERMITTED_FILE_H
#define PERMITTED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Each function that opens a file returns a descriptor for reading, which the caller owns, or -errno. -ENOEXEC: the
 * path does not lead to a regular file. */

/* Opens a path of our own in our own root, and follows all links. */
int permitted_file_open(const char *path);

/* Opens the file that the process has mapped at these addresses, through /proc/PID/map_files. The addresses are widened
 * to whole pages. -EPERM, -EACCES: the kernel does not show the file to us; -ENOENT: no such mapping. */
int permitted_file_open_mapped(pid_t pid, uint64_t start, uint64_t end);

/* Returns the st_dev of the file that the process has mapped at these addresses. It asks no file system. 0: not
 * known. */
uint64_t permitted_file_device_mapped(pid_t pid, uint64_t start, uint64_t end);

/* Opens an absolute path in the process's root, on behalf of this user. pid 0: in our root. flags: 0; O_NOFOLLOW: fails
 * if the last part is a link. -EACCES: the file's mode does not let the user read it. Where the kernel does not offer
 * us openat2(), a path through links fails with -ELOOP. */
int permitted_file_open_in(pid_t pid, const char *path, uid_t user, int flags);

/* Opens a directory for reading its names, as permitted_file_open_in() opens a file. -ENOTDIR: it is none. */
int permitted_file_open_directory_in(pid_t pid, const char *path, uid_t user);

/* The same of names in a directory that is open, without following links. */
int permitted_file_open_at(int directory, const char *name, uid_t user);
int permitted_file_open_directory_at(int directory, const char *name, uid_t user);

/* Returns whether only root can have written the file. Root owns it, no other user may write to it, and its mount is
 * not nosuid. A user's own mount, which can show any owner, is nosuid. */
bool permitted_file_is_of_root(int fd);

/* Returns whether the file was last changed before this real-time clock time, by more than the coarseness of clocks. */
bool permitted_file_is_older(const struct stat *status, int64_t time_ns);

#endif

/* Opens the file that a process has mapped, and no other one that took its place meanwhile. Files are
 * read; any thread. */
#ifndef MAPPED_FILE_H
#define MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;
struct maps_file_entry;

/* What is noted of a process while it is there. */
struct mapped_file_view {
	pid_t pid;
	uid_t user;         /* whose it is */
	int64_t started_ns; /* of the real-time clock; 0: not known */
	bool is_ours; /* it has our mounts and our root: a path is the same file for both. Of a process
			       without a pid here that is assumed if it is our own user's */
};

/* start_ticks: when it started (proc_file_start_ticks()); 0: not known, or not visible from here. */
void mapped_file_view_init(struct mapped_file_view *view, pid_t pid, uid_t user,
			   uint64_t start_ticks);

/* By /proc/PID/map_files, which needs a privilege, else by the path in the process's root, where the
 * inode must be that of the mapping. The caller owns *file: elf_file_close(). 0; -ENOENT; -ENOEXEC; -ENOMEM. On error
 * *file is NULL. */
int mapped_file_open(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     struct elf_file **file);

/* For a process that may have ended: by the path alone, where nothing has changed since shortly
 * before the process started. The same for the rest. */
int mapped_file_open_old(const struct mapped_file_view *view, const char *path,
			 struct elf_file **file);

#endif

/* Opens the file that a process has mapped, never another file in its place. Reads files; any thread. */
#ifndef MAPPED_FILE_H
#define MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file;
struct maps_file_entry;

/* Facts about a process that are noted while it still runs. */
struct mapped_file_view {
	pid_t pid;
	uid_t user;         /* its owner */
	int64_t started_ns; /* its start, by the real-time clock; 0: not known, or it has ended */
	/* The process has our mounts and our root, so that a path is the same file for both. For a process that has
	 * ended or has no pid here, that is assumed if it belongs to our own user. */
	bool is_ours;
};

/* Notes the facts of a process. start_ticks: its start (proc_file_start_ticks()); 0: not known. */
void mapped_file_view_init(struct mapped_file_view *view, pid_t pid, uid_t user,
			   uint64_t start_ticks);

/* Opens the mapped file through /proc/PID/map_files, which needs a privilege. Otherwise it opens the path in the
 * process's root, where the inode must be that of the mapping. The caller owns *file (elf_file_close()). 0; -ENOENT;
 * -ENOEXEC; -ENOMEM. On error *file is NULL. */
int mapped_file_open(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     struct elf_file **file);

/* Opens a file of a process that may have ended, by its path alone. The file must not have changed since shortly before
 * the process started. Ownership and errors as mapped_file_open(). */
int mapped_file_open_old(const struct mapped_file_view *view, const char *path,
			 struct elf_file **file);

#endif

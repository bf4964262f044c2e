/* Visits to files that processes have mapped: each is opened, looked at and closed in one foreign call
 * (foreign_call.h), so that the agent's loop waits for no file system that does not answer. Files of root and our
 * own user on a block device are visited by the caller itself: a disk answers, or the agent has other troubles.
 * Another user's may be elsewhere when it is opened: the process unmaps it, and mounts what it likes at the path.
 * Any thread. */
#ifndef FOREIGN_FILE_H
#define FOREIGN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "foreign_call.h"
#include "mapped_file.h"
#include "maps_file.h"

#define FOREIGN_FILE_WAIT_MS 100u /* of the agent's loop, once for each file system that hangs, and user */
#define FOREIGN_FILE_SLOW_MS 400u /* of the loop for one call, also if its file system answers slowly */

struct elf_file;

/* Begins what the caller allocates with malloc(), and what look() finds goes behind it. */
struct foreign_file_visit {
	struct foreign_call call;
	/* Looks at the file, which is closed afterwards. Touches nothing but the visit. */
	void (*look)(struct foreign_file_visit *visit, struct elf_file *file);
	void (*destroy)(struct foreign_file_visit *visit); /* of one that was left behind: frees it */
	struct mapped_file_view view;
	struct maps_file_entry entry; /* its path is the one below */
	char path[PATH_MAX];
	bool by_path; /* alone, as mapped_file_open_old() */
	int result;
};

/* Whether the file system may be one that does not answer; user: whose process has the mapping. */
bool foreign_file_may_hang(const struct maps_file_entry *entry, uid_t user);

/* Looks at the mapped file. 0: look() was called; -ENOENT, -ENOEXEC, -ENOMEM: as mapped_file_open(), it was not called;
 * -EHOSTDOWN, -EAGAIN: as foreign_call_make(), not now; -ETIMEDOUT: it was left behind, and *visit is NULL. */
int foreign_file_visit(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		       struct foreign_file_visit **visit);

/* The same for mapped_file_open_old(). */
int foreign_file_visit_old(const struct mapped_file_view *view, const char *path,
			   struct foreign_file_visit **visit);

/* A number for the file system of a path of which no more is known: that of its directory. */
uint64_t foreign_file_key(const char *path);

/* Makes a call of the loop's own with the loop's patience. As foreign_call_make(). */
int foreign_file_call(struct foreign_call *call);

#endif

/* Visits files that processes have mapped. Each file is opened, looked at and closed in one foreign call
 * (foreign_call.h), so that the agent's loop does not wait for a file system that never answers.
 *
 * For files of root and our own user on a block device the caller makes the visit itself: if a disk does not answer,
 * the agent has other troubles. Another user's file may be elsewhere when it is opened, because the process can unmap
 * it and mount anything at the path. Any thread. */
#ifndef FOREIGN_FILE_H
#define FOREIGN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "foreign_call.h"
#include "mapped_file.h"
#include "maps_file.h"

#define FOREIGN_FILE_WAIT_MS 100u /* loop's limit, once for each user and file system that hangs */
#define FOREIGN_FILE_SLOW_MS 400u /* loop's limit for one call, if its file system is slow */

struct elf_file;

/* The caller allocates a struct with malloc() that begins with this one. Results of look() go behind it. */
struct foreign_file_visit {
	struct foreign_call call;
	/* Looks at the file, which is closed afterwards. It must touch nothing but the visit. */
	void (*look)(struct foreign_file_visit *visit, struct elf_file *file);
	void (*destroy)(struct foreign_file_visit *visit); /* frees a visit that was left behind */
	struct mapped_file_view view;
	struct maps_file_entry entry; /* its path is the member path */
	char path[PATH_MAX];
	bool by_path; /* opens the file by its path alone, as mapped_file_open_old() does */
	int result;
};

/* Returns whether the mapped file's file system may never answer. user: the owner of the mapping process. */
bool foreign_file_may_hang(const struct maps_file_entry *entry, uid_t user);

/* Looks at the mapped file.
 *   - 0: look() was called.
 *   - -ENOENT, -ENOEXEC, -ENOMEM: the errors of mapped_file_open(); look() was not called.
 *   - -EHOSTDOWN, -EAGAIN: the errors of foreign_call_make(); a later visit may succeed.
 *   - -ETIMEDOUT: the visit was left behind, and *visit is NULL. */
int foreign_file_visit(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		       struct foreign_file_visit **visit);

/* Looks at the file that mapped_file_open_old() opens, with the same results. */
int foreign_file_visit_old(const struct mapped_file_view *view, const char *path,
			   struct foreign_file_visit **visit);

/* Returns a number in place of the st_dev of a path that cannot be asked: a hash of its directory. */
uint64_t foreign_file_key(const char *path);

/* Makes another call with the patience of the agent's loop. Errors as foreign_call_make(). */
int foreign_file_call(struct foreign_call *call);

#endif

#include "foreign_file.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "elf_file.h"

#include "node-agent/base/trusted_user.h"

bool foreign_file_may_hang(const struct maps_file_entry *entry, uid_t user)
{
	return major(entry->device) == 0 || !trusted_user(user);
}

uint64_t foreign_file_key(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint64_t key = 0xcbf29ce484222325ull;

	for (const char *c = path; slash && c < slash; c++)
		key = (key ^ (unsigned char)*c) * 0x100000001b3ull;
	return key | 1ull << 63; /* no device has such a number */
}

static void run(struct foreign_call *call)
{
	struct foreign_file_visit *visit = (struct foreign_file_visit *)call;
	struct elf_file *file;

	visit->result = visit->by_path ? mapped_file_open_old(&visit->view, visit->path, &file)
				       : mapped_file_open(&visit->view, &visit->entry, &file);
	if (visit->result == 0)
		visit->look(visit, file);
	elf_file_close(file);
}

static void returned(struct foreign_call *call)
{
	struct foreign_file_visit *visit = (struct foreign_file_visit *)call;

	visit->destroy(visit);
}

int foreign_file_call(struct foreign_call *call)
{
	return foreign_call_make(call, &(struct foreign_patience){.limit_ms = FOREIGN_FILE_WAIT_MS,
								  .all_ms = FOREIGN_FILE_SLOW_MS});
}

static int make(struct foreign_file_visit **visit, bool may_hang)
{
	struct foreign_call *call = &(*visit)->call;
	int r = 0;

	call->run = run;
	call->returned = returned;
	call->path = (*visit)->path;
	call->user = (*visit)->view.user;
	if (may_hang)
		r = foreign_file_call(call);
	else
		run(call);
	if (r == 0)
		return (*visit)->result;
	if (r == -ETIMEDOUT)
		*visit = NULL;
	return r;
}

int foreign_file_visit(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		       struct foreign_file_visit **visit)
{
	struct foreign_file_visit *mine = *visit;

	if (entry->path_size >= sizeof(mine->path))
		return -ENOENT;
	memcpy(mine->path, entry->path, entry->path_size);
	mine->path[entry->path_size] = '\0';
	mine->view = *view;
	mine->entry = *entry;
	mine->entry.path = mine->path;
	mine->by_path = false;
	mine->call.device = entry->device;
	return make(visit, foreign_file_may_hang(entry, view->user));
}

int foreign_file_visit_old(const struct mapped_file_view *view, const char *path,
			   struct foreign_file_visit **visit)
{
	struct foreign_file_visit *mine = *visit;

	if (strlen(path) >= sizeof(mine->path))
		return -ENOENT;
	strcpy(mine->path, path);
	mine->view = *view;
	mine->by_path = true;
	mine->call.device = foreign_file_key(path);
	return make(visit, true);
}

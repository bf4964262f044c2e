#include "sites_visit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call_function.h"
#include "collective_function.h"

#include "node-agent/files/elf_file.h"

static void look_for_sites(struct foreign_file_visit *visit, struct elf_file *elf)
{
	static uint32_t (*const finds[CALL_PROGRAM_KINDS])(const char *symbol) = {
		[CALL_PROGRAM_CUDA] = call_function_find,
		[CALL_PROGRAM_COLLECTIVE] = collective_function_find,
	};
	struct sites_visit *own = (struct sites_visit *)visit;
	struct stat status;

	if (fstat(elf_file_fd(elf), &status))
		return;
	own->device = status.st_dev;
	own->inode = status.st_ino;
	for (int kind = 0; own->wants_sites && kind < CALL_PROGRAM_KINDS; kind++)
		if (own->wants[kind])
			call_sites_find(elf, finds[kind], &own->sites[kind]);
	if (own->wants_sites)
		own->fd = fcntl(elf_file_fd(elf), F_DUPFD_CLOEXEC, 0);
}

static void destroy_sites_visit(struct foreign_file_visit *visit)
{
	const struct sites_visit *own = (const struct sites_visit *)visit;

	if (own->fd >= 0)
		close(own->fd);
	free(visit);
}

int sites_visit_make(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     const bool *wants, struct sites_visit **visit)
{
	struct sites_visit *own = calloc(1, sizeof(*own));

	*visit = own;
	if (!own)
		return -ENOMEM;
	struct foreign_file_visit *base = &own->visit;
	base->look = look_for_sites;
	base->destroy = destroy_sites_visit;
	own->fd = -1;
	own->wants_sites = wants != NULL;
	for (int kind = 0; wants && kind < CALL_PROGRAM_KINDS; kind++)
		own->wants[kind] = wants[kind];
	int r = foreign_file_visit(view, entry, &base);
	if (!base)
		*visit = NULL;
	return r == 0 && own->inode == 0 ? -ENOENT : r;
}

static void close_sites(struct foreign_call *call)
{
	struct sites_visit *own = (struct sites_visit *)call;

	close(own->fd);
	own->fd = -1;
}

static void destroy_closed(struct foreign_call *call)
{
	destroy_sites_visit((struct foreign_file_visit *)call);
}

/* close() is a foreign call, too, since it asks the file system. */
void sites_visit_end(struct sites_visit *visit)
{
	struct foreign_call *call = &visit->visit.call;

	if (visit->fd >= 0 && foreign_file_may_hang(&visit->visit.entry, visit->visit.view.user)) {
		call->run = close_sites;
		call->returned = destroy_closed;
		if (foreign_file_call(call) == -ETIMEDOUT)
			return;
	}
	destroy_sites_visit(&visit->visit);
}

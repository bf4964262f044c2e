#include "table_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unwind/table_arena.h"

int table_memory_create(void)
{
	struct rlimit limit;

	/* Growing a file past RLIMIT_FSIZE raises SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < TABLE_ARENA_BYTES)
		return -EFBIG;
	int fd = memfd_create("flamegrid-tables", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)TABLE_ARENA_BYTES) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

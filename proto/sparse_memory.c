#include "sparse_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE      4096u
#define READWRITE (PROT_READ | PROT_WRITE)

/* Where a filter refuses mremap(), the whole is mapped at once. */
static void *map(size_t bytes, int protection, int flags, int fd)
{
	void *page = mmap(NULL, PAGE, protection, flags | MAP_NORESERVE, fd, 0), *base;

	if (page == MAP_FAILED)
		return NULL;
	munlock(page, PAGE);
	base = mremap(page, PAGE, bytes, MREMAP_MAYMOVE);
	if (base != MAP_FAILED)
		return base;
	munmap(page, PAGE);
	base = mmap(NULL, bytes, protection, flags | MAP_NORESERVE, fd, 0);
	return base == MAP_FAILED ? NULL : base;
}

void *sparse_memory_map(size_t bytes, int protection)
{
	return map(bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

void *sparse_memory_map_file(size_t bytes, int fd)
{
	return map(bytes, READWRITE, MAP_SHARED, fd);
}

bool sparse_memory_replace(void *base, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *page = mmap(NULL, PAGE, READWRITE, flags, -1, 0);

	if (page != MAP_FAILED) {
		munlock(page, PAGE);
		if (mremap(page, PAGE, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base) != MAP_FAILED)
			return true;
		munmap(page, PAGE);
	}
	return mmap(base, bytes, READWRITE, flags | MAP_FIXED, -1, 0) != MAP_FAILED;
}

int sparse_memory_open(void *base, size_t bytes)
{
	munlock(base, bytes);
	return mprotect(base, bytes, READWRITE) < 0 ? -errno : 0;
}

void sparse_memory_clear(void *base, size_t bytes)
{
	if (madvise(base, bytes, MADV_DONTNEED) == 0)
		return;
	/* The kernel takes nothing from a locked mapping. */
	munlock(base, bytes);
	if (madvise(base, bytes, MADV_DONTNEED) < 0)
		memset(base, 0, bytes);
}

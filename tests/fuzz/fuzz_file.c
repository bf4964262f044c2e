#include "fuzz_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char directory[] = "/dev/shm/flamegrid-fuzz.XXXXXX", path[sizeof(directory) + 8];
static int file = -1;

static void remove_file(void)
{
	unlink(path);
	rmdir(directory);
}

const char *fuzz_file_directory(void)
{
	if (file >= 0)
		return directory;
	if (!mkdtemp(directory))
		abort();
	snprintf(path, sizeof(path), "%s/input", directory);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0 || atexit(remove_file) != 0)
		abort();
	return directory;
}

const char *fuzz_file_write(const uint8_t *data, size_t size)
{
	fuzz_file_directory();
	if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
	return path;
}

void fuzz_file_write_named(const char *name, const uint8_t *data, size_t size)
{
	char named[256];
	int fd;

	if (snprintf(named, sizeof(named), "%s/%s", fuzz_file_directory(), name) >= (int)sizeof(named))
		abort();
	fd = open(named, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
		abort();
}

void fuzz_file_remove_named(const char *name)
{
	char named[256];

	if (snprintf(named, sizeof(named), "%s/%s", fuzz_file_directory(), name) >= (int)sizeof(named))
		abort();
	unlink(named);
}

int fuzz_file_memory(const uint8_t *data, size_t size)
{
	int memory = memfd_create("fuzz", MFD_CLOEXEC);

	if (memory < 0 || write(memory, data, size) != (ssize_t)size)
		abort();
	return memory;
}

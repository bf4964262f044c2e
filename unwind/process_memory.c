#include "process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK_BYTES (1u << 20)

/* A sandbox may forbid process_vm_readv(), even on ourselves. */
static ssize_t read_by_file(uint64_t address, void *to, size_t size)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t nr = pread(fd, to, size, (off_t)address);
	close(fd);
	return nr;
}

static ssize_t read_chunk(uint64_t address, void *to, size_t size)
{
	struct iovec local = {.iov_base = to, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	ssize_t nr = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (nr < 0 && errno != EFAULT)
		nr = read_by_file(address, to, size);
	return nr;
}

size_t process_memory_read(uint64_t address, void *to, size_t size)
{
	const int saved_errno = errno;
	size_t done = 0;

	while (done < size && address + done >= address && address + done <= INT64_MAX) {
		size_t chunk = size - done < CHUNK_BYTES ? size - done : CHUNK_BYTES;
		ssize_t nr = read_chunk(address + done, (char *)to + done, chunk);

		if (nr <= 0)
			break;
		done += (size_t)nr;
	}
	errno = saved_errno;
	return done;
}

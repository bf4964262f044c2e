#include "remote_memory.h"

#include <errno.h>
#include <sys/uio.h>

int remote_memory_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {(void *)(uintptr_t)address, size};
	ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (done < 0)
		return -errno;
	return (size_t)done == size ? 0 : -EFAULT;
}

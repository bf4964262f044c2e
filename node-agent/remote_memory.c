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

uint32_t remote_memory_read_ranges(pid_t pid, const struct remote_range *ranges, uint32_t nr)
{
	struct iovec local[REMOTE_MEMORY_RANGES_MAX] = {{0}};
	struct iovec remote[REMOTE_MEMORY_RANGES_MAX] = {{0}};
	uint32_t whole = 0;

	for (uint32_t i = 0; i < nr && i < REMOTE_MEMORY_RANGES_MAX; i++) {
		local[i] = (struct iovec){ranges[i].to, ranges[i].size};
		remote[i] = (struct iovec){(void *)(uintptr_t)ranges[i].address, ranges[i].size};
	}
	ssize_t done = process_vm_readv(pid, local, nr, remote, nr, 0);
	while (done > 0 && whole < nr && (size_t)done >= ranges[whole].size)
		done -= (ssize_t)ranges[whole++].size;
	return whole;
}

/* Another process's memory, as it is now. It may change while it is read, and what is there may be anything. Pages that
 * are not in memory have to come from their file, whose file system may never answer: they are read beside
 * (foreign_call.h). Any thread. */
#ifndef REMOTE_MEMORY_H
#define REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All of it or nothing: 0; -EFAULT: not all of it is there; -ESRCH: the process is not; -EPERM; -ENOMEM; -ETIMEDOUT: a
 * page did not come in FOREIGN_FILE_WAIT_MS; -EHOSTDOWN: one of this process is still awaited; -EAGAIN: no thread. */
int remote_memory_read(pid_t pid, uint64_t address, void *to, size_t size);

#define REMOTE_MEMORY_RANGES_MAX 4u

struct remote_range {
	uint64_t address; /* in the other process */
	void *to;
	size_t size;
};

/* Reads ranges in order, in one call of the kernel, as far as their pages are in memory. Returns how many of them, from
 * the first on, it has read whole. nr: at most REMOTE_MEMORY_RANGES_MAX. */
uint32_t remote_memory_read_ranges(pid_t pid, const struct remote_range *ranges, uint32_t nr);

#endif

/* Reads another process's memory as it is now. It may change during the read, and may hold anything. Pages that are not
 * in memory have to come from their file, whose file system may never answer. A foreign call (foreign_call.h) reads
 * these. Any thread. */
#ifndef REMOTE_MEMORY_H
#define REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads all of the range or nothing.
 *   - 0: all of it was read.
 *   - -EFAULT: not all of it is there.
 *   - -ESRCH: the process is gone.
 *   - -ETIMEDOUT: a page did not come in FOREIGN_FILE_WAIT_MS.
 *   - -EHOSTDOWN: a page of this process is still awaited.
 *   - -EAGAIN: no thread.
 *   - -EPERM; -ENOMEM. */
int remote_memory_read(pid_t pid, uint64_t address, void *to, size_t size);

#define REMOTE_MEMORY_RANGES_MAX 4u

struct remote_range {
	uint64_t address; /* in the process that is read */
	void *to;
	size_t size;
};

/* Reads ranges in order, in one system call, as far as their pages are in memory. Returns how many ranges, from the
 * first on, it has read whole. nr: at most REMOTE_MEMORY_RANGES_MAX. */
uint32_t remote_memory_read_ranges(pid_t pid, const struct remote_range *ranges, uint32_t nr);

#endif

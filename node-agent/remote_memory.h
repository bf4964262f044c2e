/* Another process's memory, as it is now. It may change while it is read, and what is there may be anything. Any thread. */
#ifndef REMOTE_MEMORY_H
#define REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All of it or nothing: 0; -EFAULT: not all of it is there; -ESRCH: the process is not; -EPERM. */
int remote_memory_read(pid_t pid, uint64_t address, void *to, size_t size);

#endif

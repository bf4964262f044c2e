/* Reads this process's own memory where it may be gone by the time of the reading: an unloaded
 * file's. Any thread; allocates nothing; errno is kept. */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Copies size bytes from address to `to`. Returns how many were there, from the first on. Where a
 * sandbox forbids the system call for it, memory that is mapped but not readable counts too. */
size_t process_memory_read(uint64_t address, void *to, size_t size);

#endif

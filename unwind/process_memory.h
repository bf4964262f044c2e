/* Reads memory of this process that may be gone by then, such as an unloaded file's. Any thread. Allocates nothing and
 * keeps errno. */
#ifndef PROCESS_MEMORY_H
#define PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Copies `size` bytes from `address` to `to`. Returns how many of them were there, from the first on. Where a sandbox
 * forbids the system call for it, memory that is mapped but not readable counts too. */
size_t process_memory_read(uint64_t address, void *to, size_t size);

#endif

/* Maps memory of which little is ever used. A program may have called mlockall(MCL_FUTURE). Then mmap() brings every
 * page of a new mapping into memory, and counts it against RLIMIT_MEMLOCK. The pages of these mappings come when they
 * are used, and are not locked. The way (Linux, mm/mremap.c and mm/mlock.c): one page is mapped and unlocked, and
 * mremap() lets a mapping grow with the lock that it has, not with that of new mappings.
 *
 * A later mlockall(MCL_CURRENT) locks all that is accessible. So large parts that may stay unused have no access until
 * sparse_memory_open().
 *
 * System calls alone: may be called anywhere, in a handler of signals, too. Any thread. They change errno. */
#ifndef SPARSE_MEMORY_H
#define SPARSE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Returns `bytes` of zeros with this protection, private to the process; NULL: errno says why. Give them back with
 * munmap(). */
void *sparse_memory_map(size_t bytes, int protection);

/* The same, of a file of at least one page, readable and writable, and shared. */
void *sparse_memory_map_file(size_t bytes, int fd);

/* Replaces a mapping by zeros that are private to the process. Returns false if there is no memory for it: then the
 * place may be empty. */
bool sparse_memory_replace(void *base, size_t bytes);

/* Makes whole pages without access readable and writable. Returns 0 or a negative errno. */
int sparse_memory_open(void *base, size_t bytes);

/* Gives the memory of a private mapping back. It reads as zero afterwards, locked or not. */
void sparse_memory_clear(void *base, size_t bytes);

#endif

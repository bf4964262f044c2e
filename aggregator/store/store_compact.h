/* Writes a store that is being closed anew, without the pages that are free. Correlators and timelines leave many, by
 * what they needed to go on. The old file stays until the new one is complete on disk, so a kill or a loss of power at
 * any time leaves a whole store. A killed process may leave PATH-compact beside it, which the next compaction deletes.
 * Used by the store's thread. */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

#include <stdint.h>

struct database;

#define STORE_COMPACT_MS        1000u        /* no longer than that, but for an fsync */
#define STORE_COMPACT_BYTES_MIN (256u << 10) /* of free pages; and a quarter of the file */
#define STORE_COMPACT_ROOM      4u /* so many times the new size must be free on the disk */

/* Writes PATH-compact; the database must be without a write-ahead log. 0; -EAGAIN: it is not worth the time, or there
 * is little room; -EINTR: until_ns (CLOCK_MONOTONIC) came; another -errno. On error there is no such file. */
int store_compact_write(struct database *database, const char *path, uint64_t until_ns);

/* Puts PATH-compact in the place of the store, which is closed now. 0; -errno: the old file stays. */
int store_compact_take(const char *path);

#endif

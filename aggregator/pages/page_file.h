/* The file of many nodes' profiles in pages (docs/store.md). Any thread. */
#ifndef PAGE_FILE_H
#define PAGE_FILE_H

#include "page_snapshot.h"

/* Writes a new file from its begin to its end, which then replaces the one with this path. 0 or -errno: that one
 * stays. */
int page_file_write(const struct page_snapshot *snapshot, const char *path);

/* Reads such a file, as far as it is sound: what is damaged is counted (page_snapshot.h). The caller owns the snapshot
 * and its lists. 0; -EPROTO: it is no such file, is of another version, or its head is damaged; -ENOENT, -EACCES, -EIO,
 * -ENOMEM and others of open(2). On error *snapshot is NULL. */
int page_file_read(const char *path, struct page_snapshot **snapshot);

/* Frees a snapshot that was read, and its lists. Accepts NULL. */
void page_file_free(struct page_snapshot *snapshot);

#endif

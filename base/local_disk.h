/* Tells file systems of this host alone from those that other hosts may share, on which a free lock says nothing of
 * their processes. Any thread. */
#ifndef LOCAL_DISK_H
#define LOCAL_DISK_H

#include <stdbool.h>

/* Returns whether an open file is on a file system of a known kind that no other host can have open. */
bool local_disk_has(int fd);

#endif

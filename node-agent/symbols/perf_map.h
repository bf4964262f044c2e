/* The names that a just-in-time compiler writes for its code into /tmp/perf-PID.map, in lines `START SIZE NAME` (Linux,
 * tools/perf/Documentation/jit-interface.txt). A program writes the file itself, and it may be hostile: its size is
 * bounded, and only a file of the process's own user is believed. One thread at a time uses an object. */
#ifndef PERF_MAP_H
#define PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_map;

/* Returns whether the process has a perf map: a regular file of the process's user in the process's own /tmp, named by
 * the pid that the process has in its own namespace. A file of root is believed only for a process of root, since a
 * bind mount can put any file there. */
bool perf_map_exists(pid_t pid);

/* Opens the map and reads it. It stays readable when the process has ended. Returns 0; -ENOENT: the process has no map,
 * or is gone; -ENOMEM. On error *map is NULL. */
int perf_map_open(pid_t pid, struct perf_map **map);
void perf_map_close(struct perf_map *map); /* accepts NULL */

/* Reads what was appended since the last call. */
void perf_map_refresh(struct perf_map *map);

/* Returns the name in the last line that covers this address, with control characters replaced. It is borrowed until
 * the next perf_map_refresh(). NULL: no line covers it. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif

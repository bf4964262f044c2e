/* What a just-in-time compiler says of its code in /tmp/perf-PID.map, lines `START SIZE NAME` (Linux,
 * tools/perf/Documentation/jit-interface.txt). The file is a program's own and may be hostile: its
 * size is bounded, and only its process's user is believed. One object is used by one thread at a
 * time. */
#ifndef PERF_MAP_H
#define PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_map;

/* Whether the process has such a file: in its own /tmp, by the pid that it has in its own namespace,
 * regular, and owned by its user. Root's file is believed of root's processes alone: a bind mount
 * can put any file there. */
bool perf_map_exists(pid_t pid);

/* Opens and reads it; it stays readable when the process has ended. 0; -ENOENT: the process has
 * none, or is gone; -ENOMEM. On error *map is NULL. */
int perf_map_open(pid_t pid, struct perf_map **map);
void perf_map_close(struct perf_map *map); /* accepts NULL */

/* Reads what was appended since. */
void perf_map_refresh(struct perf_map *map);

/* The name that was said last of this address, control characters replaced. Borrowed until the next
 * perf_map_refresh(). NULL: none. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

#endif

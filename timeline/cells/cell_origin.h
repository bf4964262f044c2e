/* Tells of what sums of cells were made, so that nobody takes them for those of a log that has changed. One thread. */
#ifndef CELL_ORIGIN_H
#define CELL_ORIGIN_H

#include <limits.h>
#include <stdint.h>

struct timeline_source;

/* Returns a checksum of the names and sizes of the log's files, of the comparisons of the hosts' clocks, and of the
 * processes with their ranks and devices; 0: there is none, because the profile is being written, or there is no log.
 */
uint64_t cell_origin(const struct timeline_source *source);

/* Writes the path of the file with the sums. 0 or -ENAMETOOLONG. */
int cell_origin_path(const struct timeline_source *source, char path[static PATH_MAX]);

#endif

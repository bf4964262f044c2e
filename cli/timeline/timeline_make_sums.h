/* The part of the verb `timeline` that makes the sums by cells of time (cell_maker.h), for long ranges. Used by one
 * thread. */
#ifndef TIMELINE_MAKE_SUMS_H
#define TIMELINE_MAKE_SUMS_H

#include <stdint.h>

struct timeline_source;

/* name: the profile's path, and for messages. If another store is read in its place, nothing is kept. first_ns and
 * last_ns: of all its events. It prints what was made, or why nothing is needed, and yields to all other work of the
 * machine. Returns the exit status. */
int timeline_make_sums(const char *name, struct timeline_source *source, uint64_t first_ns,
		       uint64_t last_ns);

#endif

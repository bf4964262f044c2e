/* The closing line of a job in which nobody is named. Pure; any thread. */
#ifndef UNNAMED_TEXT_H
#define UNNAMED_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct report_straggler;
struct report_straggler_most;

/* Appends the name of a slow link, or for which rank the others waited most, and why it is not named if it looks
 * late. name: of most->rank, if there is one: "rank 5 on node2". */
void unnamed_text_append(char *line, size_t size, const struct report_straggler *straggler,
			 const struct report_straggler_most *most, const char *name);

/* Returns whether a late stage would have been found, so that a rank that is last in collectives without being late in
 * its pipeline is so by the schedule. */
bool unnamed_text_is_schedule(const struct report_straggler *straggler);

#endif

/* The closing line of a job in which nobody is named. Pure; any thread. */
#ifndef UNNAMED_TEXT_H
#define UNNAMED_TEXT_H

#include <stddef.h>

struct report_straggler;

/* Appends the name of a slow link, or for which rank the others waited most, and why it is not named if it looks
 * late. */
void unnamed_text_append(char *line, size_t size, const struct report_straggler *straggler);

#endif

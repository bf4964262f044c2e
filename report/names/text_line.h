/* Puts a line of text together piece by piece in an array of the caller's, and cuts it where the array ends, between
 * two characters of UTF-8. Any
 * thread, each with a line of its own. */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <stddef.h>

/* Appends to line, which ends with NUL within size bytes before and after the call. */
__attribute__((format(printf, 3, 4))) void text_line_append(char *line, size_t size,
							    const char *format, ...);

#endif

/* A line of text that is put together piece by piece in an array of the caller's, and cut where that ends. Any thread,
 * each its own line. */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <stddef.h>

/* line is terminated, within size bytes, and stays so. */
__attribute__((format(printf, 3, 4))) void text_line_append(char *line, size_t size,
							    const char *format, ...);

#endif

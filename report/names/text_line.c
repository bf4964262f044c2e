#include "text_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Takes away what is left of a character at the end of a line that was cut. */
static void drop_half_character(char *line, size_t length)
{
	size_t begin = length;

	while (begin && ((unsigned char)line[begin - 1] & 0xc0) == 0x80)
		begin--;
	if (!begin || (unsigned char)line[begin - 1] < 0xc0)
		return;
	const unsigned char first = (unsigned char)line[--begin];
	const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (length - begin < size)
		line[begin] = '\0';
}

void text_line_append(char *line, size_t size, const char *format, ...)
{
	size_t length = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	int wanted = vsnprintf(line + length, size - length, format, arguments);
	va_end(arguments);
	if (wanted > 0 && (size_t)wanted >= size - length)
		drop_half_character(line, size - 1);
}

#include "text_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_line_append(char *line, size_t size, const char *format, ...)
{
	size_t length = strlen(line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line + length, size - length, format, arguments);
	va_end(arguments);
}

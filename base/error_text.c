#include "error_text.h"

#include <stdarg.h>
#include <stdio.h>

int error_text_set(char **error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || *error)
		return status;
	va_start(arguments, format);
	if (vasprintf(error, format, arguments) < 0)
		*error = NULL;
	va_end(arguments);
	return status;
}

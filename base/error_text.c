#include "error_text.h"

#include <stdarg.h>
#include <stddef.h>

#include "text_print.h"

int error_text_set(char **error, int status, const char *format, ...)
{
	va_list arguments;

	if (!error || *error)
		return status;
	va_start(arguments, format);
	*error = text_print_list(format, arguments);
	va_end(arguments);
	return status;
}

#include "text_print.h"

#include <stddef.h>
#include <stdio.h>

char *text_print_list(const char *format, va_list arguments)
{
	char *text;

	return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *text_print(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = text_print_list(format, arguments);
	va_end(arguments);
	return text;
}

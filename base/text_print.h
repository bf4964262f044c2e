/* Prints into memory of its own size. Any thread. */
#ifndef TEXT_PRINT_H
#define TEXT_PRINT_H

#include <stdarg.h>

/* Return the text, which the caller owns (free()); NULL: out of memory. */
char *text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_print_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif

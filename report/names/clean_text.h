/* Makes text that every report can hold: valid UTF-8 without control characters and without ';', which separates the
 * frames of folded stacks. Names come from applications, so they are not trusted. Any thread. */
#ifndef CLEAN_TEXT_H
#define CLEAN_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns a clean copy that ends with NUL; the caller owns it: free(). ';' becomes ':', each control character (C0,
 * DEL, C1) becomes '_', and each byte outside valid UTF-8 becomes U+FFFD. All other bytes stay. NULL: out of memory. */
char *clean_text_of(const char *text, size_t size);

#endif

/* Makes text that every report can hold: valid UTF-8 without control characters. Names come from applications, so they
 * are not trusted. Formats that separate frames by ';' write one within a name as folded_writer_frame() does. Any
 * thread. */
#ifndef CLEAN_TEXT_H
#define CLEAN_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns a clean copy that ends with NUL; the caller owns it: free(). Each control character (C0, DEL, C1) becomes
 * '_', and so does each character that changes the direction of text or separates lines: U+061C, U+200E, U+200F, U+2028
 * to U+202E, U+2066 to U+2069. So does each code that ends with FFFE or FFFF, which is no character. Each byte outside
 * valid UTF-8 becomes U+FFFD. All other bytes stay. NULL: out of memory. */
char *clean_text_of(const char *text, size_t size);

#endif

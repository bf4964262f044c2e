/* Text that any report can hold: valid UTF-8, without control characters, without ';' (which
 * separates the frames of folded stacks). Names come from applications, so nothing about them is
 * trusted. Any thread. */
#ifndef FRAME_TEXT_H
#define FRAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A clean copy, NUL-terminated: ';' becomes ':', each control character (C0, DEL, C1) '_', each
 * byte that does not belong to valid UTF-8 U+FFFD; all else stays. Owns: free(). NULL: out of
 * memory. */
char *frame_text_clean(const char *text, size_t size);

#endif

/* The width of text on a terminal. Text is clean (clean_text.h), or at least valid UTF-8. Escapes for colours take no
 * room. Pure; any thread. */
#ifndef TEXT_WIDTH_H
#define TEXT_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the first character, or of the escape, and its width: 0, 1 or 2 columns. At NUL both are 0. */
size_t text_width_next(const char *text, uint32_t *columns);

/* Returns the columns that the text takes. */
uint32_t text_width_of(const char *text);

/* Shortens text in place to at most so many columns (at least 1): its middle becomes one "…". Text that fits stays, as
 * does text whose memory has no room for the three bytes of "…". */
void text_width_cut(char *text, uint32_t columns);

#endif

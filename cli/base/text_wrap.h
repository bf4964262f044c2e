/* Breaks lines that are longer than a terminal is wide between words. Single-threaded. */
#ifndef TEXT_WRAP_H
#define TEXT_WRAP_H

#include <stdint.h>
#include <stdio.h>

#define TEXT_WRAP_INDENT 4u /* further blanks before the rest of a line */

/* Writes the text, which is UTF-8 (text_width.h), to out. A word that is longer than a line stays whole. */
void text_wrap_write(FILE *out, const char *text, uint32_t columns);

#endif

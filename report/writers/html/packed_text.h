/* A stream whose bytes reach another stream deflated (RFC 1950) and in base64, so that a page can carry them and a
 * browser can inflate them. Used by one thread. */
#ifndef PACKED_TEXT_H
#define PACKED_TEXT_H

#include <stdio.h>

struct packed_text;

/* Opens *stream, which packs into out. out is borrowed until packed_text_close(). 0 or -ENOMEM; on error *packed is
 * NULL, and nothing was written. */
int packed_text_open(FILE *out, struct packed_text **packed, FILE **stream);

/* Writes the rest, and destroys both. What out did not take stays out's error. */
void packed_text_close(struct packed_text *packed, FILE *stream);

#endif

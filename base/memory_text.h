/* A stream into memory, for text that must be whole or not be used. An open_memstream() forgets a short write: later
 * ferror() and fclose() report success. One text is used by one thread. */
#ifndef MEMORY_TEXT_H
#define MEMORY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct memory_text {
	FILE *out;   /* owns; to write to; it cannot seek */
	char *bytes; /* owns, as memory_text_take() says */
	size_t size, room;
	bool failed; /* a write was lost, and stays so */
};

/* 0; -ENOMEM. Overwrites *text, which stays in its place until it is taken or dropped. */
int memory_text_open(struct memory_text *text);

/* Ends the text, once. 0, and the caller owns *bytes (free()), which end with a zero beyond their size; -ENOMEM: a byte
 * is missing, *bytes is NULL and *size 0. */
int memory_text_take(struct memory_text *text, char **bytes, size_t *size);

/* Drops an open text. A zeroed one, or one that was taken, stays as it is. */
void memory_text_drop(struct memory_text *text);

#endif

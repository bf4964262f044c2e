/* Keeps strings, which stay where they are until the arena is destroyed. One thread at a time calls. Any thread may
 * read the strings. */
#ifndef TEXT_ARENA_H
#define TEXT_ARENA_H

#include <stddef.h>

struct text_arena;

/* Returns NULL if out of memory. text_arena_destroy() accepts NULL. */
struct text_arena *text_arena_create(void);
void text_arena_destroy(struct text_arena *arena);

/* Returns a terminated copy, borrowed until text_arena_destroy(). NULL: out of memory. */
const char *text_arena_add(struct text_arena *arena, const char *text, size_t size);

#endif

/* Strings that stay where they are until the end. Single-threaded; what it returned may be read by
 * any thread. */
#ifndef TEXT_ARENA_H
#define TEXT_ARENA_H

#include <stddef.h>

struct text_arena;

/* NULL: out of memory. text_arena_destroy() accepts NULL. */
struct text_arena *text_arena_create(void);
void text_arena_destroy(struct text_arena *arena);

/* A terminated copy, borrowed until text_arena_destroy(). NULL: out of memory. */
const char *text_arena_add(struct text_arena *arena, const char *text, size_t size);

#endif

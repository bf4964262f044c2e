#include "text_arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE 65536u

struct chunk {
	struct chunk *older;
	size_t used, size;
	char text[];
};

struct text_arena {
	struct chunk *newest; /* owns it; each chunk owns the next */
};

struct text_arena *text_arena_create(void)
{
	return calloc(1, sizeof(struct text_arena));
}

void text_arena_destroy(struct text_arena *arena)
{
	while (arena && arena->newest) {
		struct chunk *older = arena->newest->older;

		free(arena->newest);
		arena->newest = older;
	}
	free(arena);
}

const char *text_arena_add(struct text_arena *arena, const char *text, size_t size)
{
	struct chunk *chunk = arena->newest;

	if (!chunk || chunk->size - chunk->used <= size) {
		size_t room = size < CHUNK_SIZE ? CHUNK_SIZE : size + 1;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.older = arena->newest, .size = room};
		arena->newest = chunk;
	}
	char *copy = chunk->text + chunk->used;
	memcpy(copy, text, size);
	copy[size] = '\0';
	chunk->used += size + 1;
	return copy;
}

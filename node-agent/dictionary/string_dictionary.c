#include "string_dictionary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "id_memory.h"

#include "base/array.h"

#define CHUNK_SIZE     (256u << 10) /* above M_MMAP_THRESHOLD: free() gives pages back */
#define CHUNK_KEPT_MAX (16u << 10)  /* bytes used in the chunk that is kept */
#define TEXTS_KEPT_MAX 1024u        /* room for texts that is kept when no text waits */

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct string_dictionary {
	struct id_memory own, *memory; /* memory: the caller's, or own */
	struct message_text *texts;    /* owns; texts[id - nr_sent - 1], pointing into chunks */
	uint32_t *owners;              /* owns; the owner of each text */
	uint32_t owner;                /* owner of new strings */
	uint32_t nr_texts, max_texts;
	uint32_t nr_sent;     /* ids before the first of texts[] */
	struct chunk *chunks; /* owns; the newest first */
	uint64_t chunk_bytes;
};

struct string_dictionary *string_dictionary_create(void)
{
	struct string_dictionary *strings = calloc(1, sizeof(*strings));

	if (strings)
		strings->memory = &strings->own;
	return strings;
}

/* Keeps the first chunk, unless much of it was used: pages take memory once they are written. */
static void free_chunks(struct string_dictionary *strings, bool all)
{
	struct chunk *chunk = strings->chunks;

	while (chunk && (all || chunk->next || chunk->used > CHUNK_KEPT_MAX)) {
		strings->chunks = chunk->next;
		strings->chunk_bytes -= chunk->size;
		free(chunk);
		chunk = strings->chunks;
	}
	if (chunk)
		chunk->used = 0;
}

void string_dictionary_destroy(struct string_dictionary *strings)
{
	if (!strings)
		return;
	free_chunks(strings, true);
	free(strings->texts);
	free(strings->owners);
	id_memory_clear(&strings->own);
	free(strings);
}

void string_dictionary_use(struct string_dictionary *strings, struct id_memory *memory,
			   uint32_t owner)
{
	strings->memory = memory ? memory : &strings->own;
	strings->owner = owner;
}

uint64_t string_dictionary_bytes(const struct string_dictionary *strings)
{
	return strings->chunk_bytes +
	       strings->max_texts * (sizeof(*strings->texts) + sizeof(*strings->owners)) +
	       id_memory_bytes(&strings->own);
}

void string_dictionary_sent(struct string_dictionary *strings)
{
	free_chunks(strings, false);
	if (strings->max_texts > TEXTS_KEPT_MAX) {
		free(strings->texts);
		free(strings->owners);
		strings->texts = NULL;
		strings->owners = NULL;
		strings->max_texts = 0;
	}
	strings->nr_sent += strings->nr_texts;
	strings->nr_texts = 0;
}

void string_dictionary_forget(struct string_dictionary *strings)
{
	id_memory_clear(&strings->own);
}

static char *store(struct string_dictionary *strings, const char *data, size_t size)
{
	struct chunk *chunk = strings->chunks;

	if (!chunk || chunk->size - chunk->used < size) {
		size_t chunk_size = size > CHUNK_SIZE ? size : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + chunk_size);
		if (!chunk)
			return NULL;
		chunk->next = strings->chunks;
		chunk->used = 0;
		chunk->size = chunk_size;
		strings->chunks = chunk;
		strings->chunk_bytes += chunk_size;
	}
	char *copy = chunk->bytes + chunk->used;
	memcpy(copy, data, size);
	chunk->used += size;
	return copy;
}

static int reserve_text(struct string_dictionary *strings)
{
	const uint32_t need = strings->nr_texts + 1;
	uint32_t max = strings->max_texts;
	int r = array_reserve(&strings->owners, &max, need, sizeof(*strings->owners));

	return r ? r
		 : array_reserve(&strings->texts, &strings->max_texts, need,
				 sizeof(*strings->texts));
}

uint32_t string_dictionary_find(const struct string_dictionary *strings, const char *data,
				size_t size)
{
	size = strnlen(data, size < WIRE_STRING_MAX ? size : WIRE_STRING_MAX);
	return size ? id_memory_find(strings->memory, id_memory_key(data, size)) : STRING_NONE;
}

int string_dictionary_intern(struct string_dictionary *strings, const char *data, size_t size,
			     uint32_t *string_id)
{
	*string_id = STRING_NONE;
	size = strnlen(data, size < WIRE_STRING_MAX ? size : WIRE_STRING_MAX);
	if (size == 0)
		return 0;

	const struct id_key key = id_memory_key(data, size);
	const uint32_t known = id_memory_find(strings->memory, key);
	if (known != ID_MEMORY_NONE) {
		*string_id = known;
		return 0;
	}
	const uint32_t id = string_dictionary_count(strings) + 1;
	if (id > WIRE_ID_MAX)
		return -ENOSPC;
	if (reserve_text(strings))
		return -ENOMEM;
	const char *copy = store(strings, data, size);
	if (!copy || id_memory_add(strings->memory, key, id))
		return -ENOMEM;
	strings->owners[strings->nr_texts] = strings->owner;
	strings->texts[strings->nr_texts++] =
		(struct message_text){.data = copy, .size = (uint32_t)size};
	*string_id = id;
	return 0;
}

uint32_t string_dictionary_count(const struct string_dictionary *strings)
{
	return strings->nr_sent + strings->nr_texts;
}

const struct message_text *string_dictionary_texts(const struct string_dictionary *strings,
						   uint32_t first_id)
{
	return strings->texts + (first_id - strings->nr_sent - 1);
}

const uint32_t *string_dictionary_owners(const struct string_dictionary *strings, uint32_t first_id)
{
	return strings->owners + (first_id - strings->nr_sent - 1);
}

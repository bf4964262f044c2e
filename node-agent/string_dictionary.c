#include "string_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "id_index.h"

#define CHUNK_SIZE (256u << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	char bytes[];
};

struct string_dictionary {
	struct id_index index;
	struct message_text *texts; /* owns; texts[id - nr_forgotten - 1], pointing into chunks */
	uint32_t nr_texts, max_texts;
	uint32_t nr_forgotten; /* ids below those of texts[] */
	struct chunk *chunks;  /* owns; the newest first */
	uint64_t chunk_bytes;
};

struct string_dictionary *string_dictionary_create(void)
{
	struct string_dictionary *strings = calloc(1, sizeof(*strings));

	if (strings && id_index_init(&strings->index)) {
		free(strings);
		return NULL;
	}
	return strings;
}

static void free_texts(struct string_dictionary *strings)
{
	while (strings->chunks) {
		struct chunk *chunk = strings->chunks;

		strings->chunks = chunk->next;
		free(chunk);
	}
	free(strings->texts);
	strings->texts = NULL;
	strings->nr_texts = strings->max_texts = 0;
	strings->chunk_bytes = 0;
}

void string_dictionary_destroy(struct string_dictionary *strings)
{
	if (!strings)
		return;
	free_texts(strings);
	id_index_fini(&strings->index);
	free(strings);
}

uint64_t string_dictionary_bytes(const struct string_dictionary *strings)
{
	return strings->chunk_bytes + strings->max_texts * sizeof(*strings->texts) +
	       id_index_bytes(&strings->index);
}

void string_dictionary_forget(struct string_dictionary *strings)
{
	if (id_index_clear(&strings->index))
		return;
	strings->nr_forgotten += strings->nr_texts;
	free_texts(strings);
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
	if (strings->nr_texts < strings->max_texts)
		return 0;
	uint32_t max = strings->max_texts ? strings->max_texts * 2 : 256;
	struct message_text *texts = realloc(strings->texts, max * sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	strings->texts = texts;
	strings->max_texts = max;
	return 0;
}

int string_dictionary_intern(struct string_dictionary *strings, const char *data, size_t size,
			     uint32_t *string_id)
{
	uint32_t id;

	*string_id = STRING_NONE;
	size = strnlen(data, size < WIRE_STRING_MAX ? size : WIRE_STRING_MAX);
	if (size == 0)
		return 0;

	uint32_t hash = id_index_hash_bytes(&strings->index, data, size);
	uint32_t cursor = hash;
	while ((id = id_index_next(&strings->index, hash, &cursor)) != ID_INDEX_NONE) {
		const struct message_text *text = &strings->texts[id - 1];

		if (text->size == size && memcmp(text->data, data, size) == 0) {
			*string_id = strings->nr_forgotten + id;
			return 0;
		}
	}
	if (string_dictionary_count(strings) == WIRE_ID_MAX)
		return -ENOSPC;
	if (reserve_text(strings) || id_index_reserve(&strings->index))
		return -ENOMEM;
	const char *copy = store(strings, data, size);
	if (!copy)
		return -ENOMEM;
	strings->texts[strings->nr_texts++] =
		(struct message_text){.data = copy, .size = (uint32_t)size};
	id_index_add(&strings->index, hash, strings->nr_texts);
	*string_id = string_dictionary_count(strings);
	return 0;
}

uint32_t string_dictionary_count(const struct string_dictionary *strings)
{
	return strings->nr_forgotten + strings->nr_texts;
}

const struct message_text *string_dictionary_texts(const struct string_dictionary *strings,
						   uint32_t first_id)
{
	return strings->texts + (first_id - strings->nr_forgotten - 1);
}

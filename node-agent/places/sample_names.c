#include "sample_names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "node-agent/dictionary/string_dictionary.h"

void sample_names_fini(struct sample_names *names)
{
	hash_index_fini(&names->index);
	free(names->names);
	*names = (struct sample_names){0};
}

void sample_names_close(struct sample_names *names)
{
	names->lines_bytes = SAMPLE_NAMES_LINES_MAX;
	names->kernels_bytes = SAMPLE_NAMES_KERNELS_MAX;
}

/* Only names that the agent does not know take room, of which *used is taken. */
static int enter(struct string_dictionary *strings, const char *text, size_t size, uint32_t *used,
		 uint32_t room, uint32_t *string_id)
{
	*string_id = string_dictionary_find(strings, text, size);
	if (*string_id != STRING_NONE)
		return 0;
	if (size > room - *used)
		return -ENOSPC;
	const int r = string_dictionary_intern(strings, text, size, string_id);
	*used += r ? 0 : (uint32_t)size;
	return r;
}

int sample_names_kernel(struct sample_names *names, struct string_dictionary *strings,
			const char *text, size_t size, uint32_t *string_id)
{
	return enter(strings, text, size, &names->kernels_bytes, SAMPLE_NAMES_KERNELS_MAX,
		     string_id);
}

static bool has_address(const void *context, uint32_t id, const void *key)
{
	const struct sample_names *names = context;

	return names->names[id - 1].text == key;
}

/* Reads a text for the first time. */
static int read_line(struct sample_names *names, struct string_dictionary *strings,
		     const char *text, uint32_t *string_id)
{
	const size_t size = strnlen(text, WIRE_STRING_MAX);

	if (size > SAMPLE_NAMES_READ_MAX - names->read_bytes)
		return -ENOSPC;
	names->read_bytes += (uint32_t)size;
	return enter(strings, text, size, &names->lines_bytes, SAMPLE_NAMES_LINES_MAX, string_id);
}

int sample_names_line(struct sample_names *names, struct string_dictionary *strings,
		      const char *text, uint32_t *string_id)
{
	const uint32_t hash = hash_index_hash_word((uintptr_t)text);
	const uint32_t id = hash_index_find(&names->index, hash, has_address, names, text);

	*string_id = STRING_NONE;
	if (!*text)
		return 0;
	if (id) {
		*string_id = names->names[id - 1].string_id;
		return *string_id == STRING_NONE ? -ENOSPC : 0;
	}
	if (names->nr_names == SAMPLE_NAMES_MAX)
		return -ENOSPC;
	if (array_reserve(&names->names, &names->room, names->nr_names + 1ull,
			  sizeof(*names->names)))
		return -ENOMEM;
	int r = read_line(names, strings, text, string_id);
	if (r == -ENOMEM)
		return r;
	names->names[names->nr_names++] = (struct sample_name){text, *string_id};
	return hash_index_insert(&names->index, hash, names->nr_names) ? -ENOMEM : r;
}

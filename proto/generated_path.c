#include "generated_path.h"

#include <string.h>

#define SUFFIX      ".py"
#define SUFFIX_SIZE 3u
#define FOLDER_SIZE 2u
#define TAIL_SIZE   (1 + FOLDER_SIZE + 1 + GENERATED_PATH_KEY_SIZE + SUFFIX_SIZE) /* "/xy/cxyz….py" */

bool generated_path_is_key(const char *text, size_t size)
{
	if (size != GENERATED_PATH_KEY_SIZE || text[0] != 'c')
		return false;
	for (size_t i = 1; i < size; i++) {
		char c = text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '2' && c <= '7')))
			return false;
	}
	return true;
}

/* One file has one such path, unless there are links. */
static bool is_plain(const char *path, size_t size)
{
	for (size_t at = 0; at < size;) {
		const char *part = path + at + 1, *end = path + size;
		const char *slash = part < end ? memchr(part, '/', (size_t)(end - part)) : NULL;
		size_t length = (size_t)((slash ? slash : end) - part);

		if (length == 0 || (length <= 2 && memcmp(part, "..", length) == 0))
			return false;
		at += length + 1;
	}
	return true;
}

bool generated_path_parse(const char *path, size_t size, size_t *cache_size, const char **key)
{
	if (size <= TAIL_SIZE || path[0] != '/' || memchr(path, '\0', size))
		return false;
	const char *tail = path + size - TAIL_SIZE, *folder = tail + 1;
	const char *name = folder + FOLDER_SIZE + 1;

	if (tail[0] != '/' || folder[FOLDER_SIZE] != '/' ||
	    !generated_path_is_key(name, GENERATED_PATH_KEY_SIZE) ||
	    memcmp(folder, name + 1, FOLDER_SIZE) != 0 ||
	    memcmp(name + GENERATED_PATH_KEY_SIZE, SUFFIX, SUFFIX_SIZE) != 0 ||
	    !is_plain(path, size - TAIL_SIZE))
		return false;
	if (cache_size)
		*cache_size = size - TAIL_SIZE;
	if (key)
		*key = name;
	return true;
}

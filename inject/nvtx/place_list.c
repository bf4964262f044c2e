#include "place_list.h"

#include <stddef.h>
#include <string.h>

#define SEPARATOR ", "

static bool is_listed(const struct place_list *list, const char *place, uint32_t size)
{
	for (uint32_t i = 0; i + size <= list->size; i++) {
		bool begins = i == 0 || (i >= 2 && memcmp(list->bytes + i - 2, SEPARATOR, 2) == 0);
		uint32_t end = i + size;

		if (begins && memcmp(list->bytes + i, place, size) == 0 &&
		    (end == list->size || list->bytes[end] == ','))
			return true;
	}
	return false;
}

static void append(struct place_list *list, const char *text, uint32_t size)
{
	if (list->size) {
		memcpy(list->bytes + list->size, SEPARATOR, strlen(SEPARATOR));
		list->size += (uint32_t)strlen(SEPARATOR);
	}
	memcpy(list->bytes + list->size, text, size);
	list->size += size;
}

bool place_list_add(struct place_list *list, const char *place, uint32_t size)
{
	const uint32_t kept = (uint32_t)strlen(SEPARATOR PLACE_LIST_MORE);

	if (is_listed(list, place, size))
		return true;
	if ((uint64_t)list->size + strlen(SEPARATOR) + size + kept > list->max) {
		append(list, PLACE_LIST_MORE, (uint32_t)strlen(PLACE_LIST_MORE));
		return false;
	}
	append(list, place, size);
	return true;
}

bool place_is_installed(const char *path, uint32_t size)
{
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
					    "<frozen "};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (memmem(path, size, parts[i], strlen(parts[i])))
			return true;
	return false;
}

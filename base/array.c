#include "array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 16u
#define ROOM_MAX (UINT32_MAX - 1) /* a count of items + 1 still fits 32 bits */

int array_grow(void *items, uint32_t *room, uint64_t need, size_t size)
{
	uint64_t wanted = *room ? 2 * (uint64_t)*room : ROOM_MIN;
	void *array;

	if (wanted < need)
		wanted = need;
	if (wanted > ROOM_MAX)
		wanted = ROOM_MAX;
	if (need > wanted || wanted > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&array, items, sizeof(array)); /* this function does not know the pointer's type */
	array = realloc(array, wanted * size);
	if (!array)
		return -ENOMEM;
	memcpy(items, &array, sizeof(array));
	*room = (uint32_t)wanted;
	return 0;
}

int array_reserve_zeroed(void *items, uint32_t *room, uint64_t need, size_t size)
{
	uint32_t before = *room;
	char *array;
	int error = array_reserve(items, room, need, size);

	if (!error && *room > before) {
		memcpy(&array, items, sizeof(array));
		memset(array + before * size, 0, (*room - before) * size);
	}
	return error;
}

int array_append(void *items, uint32_t *count, const void *item, size_t size)
{
	uint32_t room = *count;
	char *array;

	/* Below a power of two there is room. */
	if (room == 0 || (room >= ROOM_MIN && (room & (room - 1)) == 0)) {
		int error = array_grow(items, &room, room + 1ull, size);

		if (error)
			return error;
	}
	memcpy(&array, items, sizeof(array));
	memcpy(array + (size_t)(*count)++ * size, item, size);
	return 0;
}

void array_free_texts(char **texts, uint32_t nr_texts)
{
	for (uint32_t i = 0; i < nr_texts; i++)
		free(texts[i]);
	free(texts);
}

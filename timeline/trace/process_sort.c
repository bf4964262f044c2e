#include "process_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/run_sort.h"

static uint32_t process_of(const uint8_t *item, uint32_t at)
{
	uint32_t process_id;

	memcpy(&process_id, item + at, sizeof(process_id));
	return process_id;
}

/* Returns whether the items are in order of their processes. *most: the largest process id. */
static bool is_grouped(const uint8_t *list, uint32_t count, uint32_t size, uint32_t at,
		       uint32_t *most)
{
	uint32_t before = 0;
	bool grouped = true;

	*most = 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t process_id = process_of(list + (size_t)i * size, at);

		grouped &= process_id >= before;
		before = process_id;
		*most = process_id > *most ? process_id : *most;
	}
	return grouped;
}

/* Puts the items of each process behind one another, in their order. */
static int group(uint8_t **list, uint32_t count, uint32_t size, uint32_t at, uint32_t most)
{
	uint64_t *places = calloc(most + 2ull, sizeof(*places));
	uint8_t *grouped = malloc((size_t)count * size);

	if (!places || !grouped) {
		free(places);
		free(grouped);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		places[process_of(*list + (size_t)i * size, at) + 1ull]++;
	for (uint64_t id = 1; id <= most; id++)
		places[id] += places[id - 1];
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *item = *list + (size_t)i * size;

		memcpy(grouped + places[process_of(item, at)]++ * size, item, size);
	}
	free(places);
	free(*list);
	*list = grouped;
	return 0;
}

int process_sort(void **list, uint32_t count, uint32_t size, uint32_t at,
		 int (*compare)(const void *, const void *))
{
	uint8_t *items = *list;
	uint32_t most;
	int error = is_grouped(items, count, size, at, &most)
			    ? 0
			    : group(&items, count, size, at, most);

	*list = items;
	for (uint32_t first = 0, end; first < count && !error; first = end) {
		uint8_t *begin = items + (size_t)first * size;
		const uint32_t process_id = process_of(begin, at);

		for (end = first + 1; end < count; end++)
			if (process_of(items + (size_t)end * size, at) != process_id)
				break;
		error = run_sort(begin, end - first, size, compare);
	}
	return error;
}

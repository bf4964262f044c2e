#include "run_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

struct sort {
	int (*compare)(const void *, const void *);
	uint32_t *ends; /* owns; of the runs: index behind the last item */
	uint32_t nr_ends, room_ends;
	uint32_t size;
};

/* 0 or -ENOMEM. */
static int find_runs(struct sort *sort, const uint8_t *list, uint32_t count)
{
	for (uint32_t i = 1; i <= count; i++) {
		const uint8_t *item = list + (size_t)i * sort->size;

		if (i < count && sort->compare(item - sort->size, item) <= 0)
			continue;
		if (array_reserve(&sort->ends, &sort->room_ends, sort->nr_ends + 1ull,
				  sizeof(*sort->ends)))
			return -ENOMEM;
		sort->ends[sort->nr_ends++] = i;
	}
	return 0;
}

/* Merges two runs that lie behind each other. */
static void merge(const struct sort *sort, uint8_t *to, const uint8_t *left, const uint8_t *right,
		  const uint8_t *end)
{
	const uint32_t size = sort->size;
	const uint8_t *const middle = right;

	while (left < middle && right < end) {
		const uint8_t **from = sort->compare(left, right) <= 0 ? &left : &right;

		memcpy(to, *from, size);
		*from += size;
		to += size;
	}
	memcpy(to, left, (size_t)(middle - left));
	memcpy(to + (middle - left), right, (size_t)(end - right));
}

/* Halves the number of runs. The last one may be without a partner. */
static void merge_pairs(struct sort *sort, const uint8_t *from, uint8_t *to)
{
	const size_t size = sort->size;
	uint32_t begin = 0, nr = 0;

	for (uint32_t i = 0; i < sort->nr_ends; i += 2) {
		const uint32_t middle = sort->ends[i];
		const uint32_t end = i + 1 < sort->nr_ends ? sort->ends[i + 1] : middle;

		merge(sort, to + begin * size, from + begin * size, from + middle * size,
		      from + end * size);
		sort->ends[nr++] = begin = end;
	}
	sort->nr_ends = nr;
}

int run_sort(void *list, uint32_t count, uint32_t size, int (*compare)(const void *, const void *))
{
	struct sort sort = {.compare = compare, .size = size};
	uint8_t *from = list, *to = NULL;
	int error = find_runs(&sort, list, count);

	if (!error && sort.nr_ends > 1) {
		to = malloc((size_t)count * size);
		error = to ? 0 : -ENOMEM;
	}
	while (!error && sort.nr_ends > 1) {
		uint8_t *const merged = to;

		merge_pairs(&sort, from, merged);
		to = from;
		from = merged;
	}
	if (from != list) {
		memcpy(list, from, (size_t)count * size);
		to = from;
	}
	free(to == list ? NULL : to);
	free(sort.ends);
	return error;
}

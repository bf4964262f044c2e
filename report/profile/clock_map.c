#include "clock_map.h"

#include <stdlib.h>

#define PPM          1000000u
#define DRIFT_MIN_NS 1000000000u

struct clock_map {
	const struct clock_offset *offsets; /* borrowed */
	uint32_t count, reference;
};

static uint32_t count_of(const struct clock_offset *offsets, uint32_t count, uint32_t reference)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++)
		nr += offsets[i].reference == reference;
	return nr;
}

struct clock_map *clock_map_create(const struct clock_offset *offsets, uint32_t count)
{
	struct clock_map *map = calloc(1, sizeof(*map));
	uint32_t most = 0;

	if (!map)
		return NULL;
	map->offsets = offsets;
	map->count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && offsets[i].reference == offsets[i - 1].reference)
			continue;
		uint32_t nr = offsets[i].reference == map->reference
				      ? 0
				      : count_of(offsets, count, offsets[i].reference);
		if (nr > most) {
			most = nr;
			map->reference = offsets[i].reference;
		}
	}
	return map;
}

void clock_map_destroy(struct clock_map *map)
{
	free(map);
}

uint32_t clock_map_reference(const struct clock_map *map)
{
	return map->reference;
}

/* Returns the first offset that is not before (host, reference). */
static uint32_t find_host(const struct clock_map *map, uint32_t host, uint32_t reference)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct clock_offset *offset = &map->offsets[middle];

		if (offset->host < host || (offset->host == host && offset->reference < reference))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct clock_offset *clock_map_host(const struct clock_map *map, uint32_t host,
					  uint32_t *count)
{
	uint32_t first = find_host(map, host, map->reference);

	*count = find_host(map, host, map->reference + 1) - first;
	return *count ? &map->offsets[first] : NULL;
}

static uint64_t distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns;
}

/* Interpolates between two values. The product of two times may not fit into 64 bits. */
static int64_t between(int64_t from, int64_t to, uint64_t passed_ns, uint64_t whole_ns)
{
	int64_t product;

	if (whole_ns <= INT64_MAX && !__builtin_mul_overflow(to - from, passed_ns, &product))
		return from + product / (int64_t)whole_ns;
	return from + (int64_t)((__int128)(to - from) * (__int128)passed_ns / (__int128)whole_ns);
}

static int64_t realtime_of(const struct clock_offset *offset)
{
	if (!offset->realtime_offset_ns || !offset->reference_realtime_offset_ns)
		return 0;
	return offset->realtime_offset_ns + offset->offset_ns -
	       offset->reference_realtime_offset_ns;
}

uint64_t clock_map_stray(uint64_t passed_ns)
{
	return passed_ns / PPM * CLOCK_MAP_DRIFT_PPM + passed_ns % PPM * CLOCK_MAP_DRIFT_PPM / PPM;
}

static void place_at(const struct clock_offset *offset, uint64_t time_ns,
		     struct clock_map_place *place)
{
	*place = (struct clock_map_place){
		.offset_ns = offset->offset_ns,
		.realtime_ns = realtime_of(offset),
		.reference_realtime_offset_ns = offset->reference_realtime_offset_ns,
		.bound_ns = offset->bound_ns + clock_map_stray(distance(time_ns, offset->time_ns)),
	};
}

bool clock_map_stretch_find(const struct clock_map *map, uint32_t host, uint64_t time_ns,
			    struct clock_map_stretch *stretch)
{
	uint32_t count, low = 0;
	const struct clock_offset *offsets = clock_map_host(map, host, &count);
	uint32_t high = count;

	*stretch = (struct clock_map_stretch){0};
	if (!count)
		return false;
	while (low < high) { /* finds the first comparison after the time */
		uint32_t middle = low + (high - low) / 2;

		if (offsets[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	stretch->before = low ? &offsets[low - 1] : NULL;
	stretch->after = low < count ? &offsets[low] : NULL;
	stretch->from_ns = low ? offsets[low - 1].time_ns : 0;
	stretch->to_ns = low < count ? offsets[low].time_ns : UINT64_MAX;
	return true;
}

int64_t clock_map_stretch_offset(const struct clock_map_stretch *stretch, uint64_t time_ns)
{
	const struct clock_offset *before = stretch->before, *after = stretch->after;

	if (!before || !after)
		return (before ? before : after)->offset_ns;
	return between(before->offset_ns, after->offset_ns, time_ns - before->time_ns,
		       after->time_ns - before->time_ns);
}

static void place_between(const struct clock_map_stretch *stretch, uint64_t time_ns,
			  struct clock_map_place *place)
{
	const struct clock_offset *before = stretch->before, *after = stretch->after;
	uint64_t passed_ns = time_ns - before->time_ns, left_ns = after->time_ns - time_ns;

	place_at(passed_ns < left_ns ? before : after, time_ns, place);
	place->offset_ns = clock_map_stretch_offset(stretch, time_ns);
	place->bound_ns =
		(before->bound_ns > after->bound_ns ? before->bound_ns : after->bound_ns) +
		clock_map_stray(passed_ns < left_ns ? passed_ns : left_ns);
}

void clock_map_stretch_place(const struct clock_map_stretch *stretch, uint64_t time_ns,
			     struct clock_map_place *place)
{
	if (stretch->before && stretch->after)
		place_between(stretch, time_ns, place);
	else
		place_at(stretch->before ? stretch->before : stretch->after, time_ns, place);
}

bool clock_map_find(const struct clock_map *map, uint32_t host, uint64_t time_ns,
		    struct clock_map_place *place)
{
	struct clock_map_stretch stretch;

	*place = (struct clock_map_place){0};
	if (!clock_map_stretch_find(map, host, time_ns, &stretch))
		return false;
	clock_map_stretch_place(&stretch, time_ns, place);
	return true;
}

bool clock_map_drift(const struct clock_map *map, uint32_t host, int64_t *drift_ppb,
		     uint64_t *bound_ppb)
{
	uint32_t count;
	const struct clock_offset *first = clock_map_host(map, host, &count);

	*drift_ppb = 0;
	*bound_ppb = 0;
	if (count < 2)
		return false;
	const struct clock_offset *last = &first[count - 1];
	uint64_t passed_ns = last->time_ns - first->time_ns;
	if (passed_ns < DRIFT_MIN_NS)
		return false;
	*drift_ppb = between(0, last->offset_ns - first->offset_ns, 1000000000, passed_ns);
	*bound_ppb = (uint64_t)between(0, (int64_t)(first->bound_ns + last->bound_ns), 1000000000,
				       passed_ns) +
		     1;
	return true;
}

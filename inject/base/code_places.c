#include "code_places.h"

/* Odd numbers are of files, even ones of unloadings. */
static uint32_t number_of_file(uint64_t identity)
{
	return (uint32_t)(identity ^ identity >> 32) << 1 | 1;
}

static uint32_t number_of_unload(struct code_places *places)
{
	places->nr_unloads = (places->nr_unloads + 1) & (UINT32_MAX >> 1);
	if (places->nr_unloads == 0)
		places->nr_unloads = 1;
	return places->nr_unloads << 1;
}

static void join_all(struct code_places *places)
{
	const struct segment all = {
		.start = atomic_load_explicit(&places->low, memory_order_relaxed),
		.end = atomic_load_explicit(&places->high, memory_order_relaxed),
		.slot = number_of_unload(places),
	};

	places->map.nr = 0;
	segment_map_insert(&places->map, &all);
}

/* Cuts the segment out of those that overlap it. Returns false if there is no room for their rests. */
static bool cut_out(struct code_places *places, uint64_t start, uint64_t end)
{
	struct segment_map *map = &places->map;
	uint32_t i = segment_map_first_above(map, start);
	bool fits = true;

	while (i < map->nr && map->segments[i].start < end) {
		const struct segment old = map->segments[i];
		const struct segment before = {old.start, start, old.slot};
		const struct segment behind = {end, old.end, old.slot};

		segment_map_remove(map, i);
		if (old.start < start) {
			fits = fits && segment_map_insert(map, &before);
			i++;
		}
		if (old.end > end)
			return segment_map_insert(map, &behind) && fits;
	}
	return fits;
}

static void put(struct code_places *places, const struct segment *place)
{
	uint64_t low = atomic_load_explicit(&places->low, memory_order_relaxed);
	uint64_t high = atomic_load_explicit(&places->high, memory_order_relaxed);

	/* Readers that see the new list also see the new bounds, since these are stored before. */
	if (high == 0 || place->start < low)
		atomic_store_explicit(&places->low, place->start, memory_order_relaxed);
	if (place->end > high)
		atomic_store_explicit(&places->high, place->end, memory_order_relaxed);
	if (!cut_out(places, place->start, place->end) || !segment_map_insert(&places->map, place))
		join_all(places);
	segment_map_publish(&places->map);
}

void code_places_unload(struct code_places *places, uint64_t start, uint64_t end)
{
	const struct segment place = {start, end, number_of_unload(places)};

	put(places, &place);
}

void code_places_load(struct code_places *places, uint64_t start, uint64_t end, uint64_t identity)
{
	const struct segment place = {start, end, number_of_file(identity)};
	uint32_t i = segment_map_first_above(&places->map, start);

	if (i < places->map.nr && places->map.segments[i].start < end)
		put(places, &place);
}

bool code_places_hold(const struct code_places *places, uint64_t start, uint64_t end)
{
	const struct segment_map *map = &places->map;

	for (uint32_t i = segment_map_first_above(map, start);
	     start < end && i < map->nr && map->segments[i].start <= start; i++)
		start = map->segments[i].end;
	return start >= end;
}

#include "segment_map.h"

#include <string.h>

#include "proto/launch_path.h"

uint32_t segment_map_first_above(const struct segment_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->segments[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool segment_map_insert(struct segment_map *map, const struct segment *segment)
{
	uint32_t at = segment_map_first_above(map, segment->start);

	if (map->nr == SEGMENT_MAP_MAX)
		return false;
	memmove(&map->segments[at + 1], &map->segments[at],
		(map->nr - at) * sizeof(map->segments[0]));
	map->segments[at] = *segment;
	map->nr++;
	return true;
}

void segment_map_remove(struct segment_map *map, uint32_t i)
{
	map->nr--;
	memmove(&map->segments[i], &map->segments[i + 1], (map->nr - i) * sizeof(map->segments[0]));
}

/* A reader that meets a word of this round, stored with release after the last round's epoch, also
 * sees that epoch when it checks. */
void segment_map_publish(struct segment_map *map)
{
	uint32_t epoch = atomic_load_explicit(&map->epoch, memory_order_relaxed) + 1;
	struct segment_copy *copy = &map->copies[epoch & 1];

	for (uint32_t i = 0; i < map->nr; i++) {
		const struct segment *from = &map->segments[i];

		atomic_store_explicit(&copy->segments[i].start, from->start, memory_order_release);
		atomic_store_explicit(&copy->segments[i].end, from->end, memory_order_release);
		atomic_store_explicit(&copy->segments[i].slot, from->slot, memory_order_release);
	}
	atomic_store_explicit(&copy->nr, map->nr, memory_order_release);
	atomic_store_explicit(&map->epoch, epoch, memory_order_release);
}

LAUNCH_PATH uint32_t segment_map_epoch(const struct segment_map *map)
{
	return atomic_load_explicit(&map->epoch, memory_order_acquire);
}

static bool find_below(const struct segment_copy *copy, uint64_t address, struct segment *segment)
{
	uint32_t low = 0, high = atomic_load_explicit(&copy->nr, memory_order_acquire);

	if (high == 0)
		return false;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (atomic_load_explicit(&copy->segments[middle].start, memory_order_acquire) <=
		    address)
			low = middle;
		else
			high = middle;
	}
	segment->start = atomic_load_explicit(&copy->segments[low].start, memory_order_acquire);
	segment->end = atomic_load_explicit(&copy->segments[low].end, memory_order_acquire);
	segment->slot = atomic_load_explicit(&copy->segments[low].slot, memory_order_acquire);
	return address >= segment->start;
}

bool segment_map_find_below(const struct segment_map *map, uint64_t address,
			    struct segment *segment)
{
	for (;;) {
		uint32_t epoch = segment_map_epoch(map);
		bool found = find_below(&map->copies[epoch & 1], address, segment);

		if (segment_map_epoch(map) == epoch)
			return found;
	}
}

bool segment_map_find(const struct segment_map *map, uint64_t address, struct segment *segment)
{
	return segment_map_find_below(map, address, segment) && address < segment->end;
}

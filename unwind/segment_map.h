/* Which segment holds an address: a sorted list that one thread changes while any number of threads search it without a
 * lock. There are two copies: readers use one while the writer fills the other. A reader searches again if both have
 * changed meanwhile, which is rare. */
#ifndef SEGMENT_MAP_H
#define SEGMENT_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SEGMENT_MAP_MAX 8192u

/* A segment as the writer has it. */
struct segment {
	uint64_t start, end; /* end exclusive */
	uint32_t slot;       /* the owner's name for it */
};

struct segment_copy {
	atomic_uint nr;
	struct {
		_Atomic uint64_t start, end;
		atomic_uint slot;
	} segments[SEGMENT_MAP_MAX];
};

struct segment_map {       /* zeroed: empty */
	atomic_uint epoch; /* of publications; copies[epoch & 1] is the published one */
	uint32_t nr;
	struct segment segments[SEGMENT_MAP_MAX]; /* sorted, no overlaps; the writer's own */
	struct segment_copy copies[2];
};

/* Both change the writer's own list, which segment_map_publish() then shows. The new segment must not overlap another.
 * false: the list is full. */
bool segment_map_insert(struct segment_map *map, const struct segment *segment);
void segment_map_remove(struct segment_map *map, uint32_t i);

/* The index in map->segments of the first segment that ends above `address`; map->nr: there is none. */
uint32_t segment_map_first_above(const struct segment_map *map, uint64_t address);

/* Shows readers the list as it is now, in a new epoch. */
void segment_map_publish(struct segment_map *map);

/* Any thread. */
uint32_t segment_map_epoch(const struct segment_map *map);
bool segment_map_find(const struct segment_map *map, uint64_t address, struct segment *segment);

/* Finds the last segment that starts at or below `address`, whether or not it holds the address. */
bool segment_map_find_below(const struct segment_map *map, uint64_t address,
			    struct segment *segment);

#endif

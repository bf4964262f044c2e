/* The ids of one profile, each with the id of the same thing in the merged profile. */
#ifndef MERGE_MAP_H
#define MERGE_MAP_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum merge_kind {
	MERGE_KIND_STRING,
	MERGE_KIND_MODULE,
	MERGE_KIND_CODE,
	MERGE_KIND_FRAME,
	MERGE_KIND_NODE,
	MERGE_KIND_HOST,
	MERGE_KIND_DEVICE,
	MERGE_KIND_EPOCH,
	MERGE_KIND_WRITER,
	MERGE_KIND_PROCESS,
	MERGE_KINDS,
};

/* Zeroed: empty. Each list has count ids; ids[0] belongs to id 1. 0: the thing is not in the merged profile. */
struct merge_map {
	struct merge_ids {
		uint32_t *ids; /* owns */
		uint32_t count, room;
	} kinds[MERGE_KINDS];
};

static inline void merge_map_fini(struct merge_map *map)
{
	for (int kind = 0; kind < MERGE_KINDS; kind++)
		free(map->kinds[kind].ids);
	*map = (struct merge_map){0};
}

static inline uint32_t merge_map_id(const struct merge_map *map, enum merge_kind kind, uint32_t id)
{
	const struct merge_ids *ids = &map->kinds[kind];

	return id && id <= ids->count ? ids->ids[id - 1] : 0;
}

/* Replaces an id of the profile by that of the merged one; 0 stands for none. 0; -EPROTO: the profile has no such
 * thing. */
static inline int merge_map_replace(const struct merge_map *map, enum merge_kind kind, uint32_t *id)
{
	if (*id > map->kinds[kind].count)
		return -EPROTO;
	*id = merge_map_id(map, kind, *id);
	return 0;
}

#endif

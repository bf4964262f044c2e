/* Launches by (window, correlation id): open addressing in the order of the ids. CUPTI gives out ids in nearly dense,
 * increasing order, so launches and their records walk through memory side by side. Pure; part of the correlator. */
#ifndef LAUNCH_MAP_H
#define LAUNCH_MAP_H

#include <stdint.h>

#define LAUNCH_MAP_RUN 16u /* ids from a multiple of it on lie side by side */

enum launch_flags {
	LAUNCH_USED = 1u << 0, /* always set; an empty slot has flags 0 */
	LAUNCH_MANY = 1u << 1, /* any number of records belongs to it */
	/* answered or failed; kept for a while for a record that comes late */
	LAUNCH_RETIRED = 1u << 2,
	LAUNCH_MATCHED = 1u << 3, /* has had a record */
	LAUNCH_HOST = 1u << 4,    /* a call without GPU work: it need not have a record */
};

struct launch {
	uint32_t correlation_id;
	uint16_t window;
	uint16_t flags; /* enum launch_flags */
	uint32_t stack_id;
	uint32_t tid;
	uint64_t order;   /* of arrival; of retirement once LAUNCH_RETIRED */
	uint64_t time_ns; /* CLOCK_MONOTONIC, at the call's entry; 0: not known */
};

/* Embedded; zeroed memory is an empty map. */
struct launch_map {
	struct launch *slots;
	uint64_t factor; /* secret, so that a job cannot choose ids that collide */
	uint32_t mask;   /* number of slots - 1 */
	uint32_t shift;  /* of a product, whose upper bits are a block's number */
	uint32_t count;
};

void launch_map_fini(struct launch_map *map);

/* Borrowed until the next insert or remove; NULL: not there. */
struct launch *launch_map_find(const struct launch_map *map, uint32_t window,
			       uint32_t correlation_id);

/* Fetches the place of a launch into the processor's cache. Changes nothing. */
void launch_map_prefetch(const struct launch_map *map, uint32_t window, uint32_t correlation_id);

/* Copies those of the LAUNCH_MAP_RUN ids from first_id on, a multiple of it, in the order of their ids. Returns their
 * number. */
uint32_t launch_map_copy(const struct launch_map *map, uint32_t window, uint32_t first_id,
			 struct launch launches[static LAUNCH_MAP_RUN]);

/* The key must not be present. 0 or -ENOMEM: unchanged. */
int launch_map_insert(struct launch_map *map, const struct launch *launch);

/* launch: as launch_map_find() gave it. The slot may hold another launch afterwards. */
void launch_map_remove(struct launch_map *map, struct launch *launch);

#endif

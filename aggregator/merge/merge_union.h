/* All things that the merged profile names: strings, stacks, hosts, devices, processes and so on. Equal things of
 * several profiles become one. At the end all are ordered by content, so the ids do not depend on the order in which
 * the profiles came. One union is used by one thread. */
#ifndef MERGE_UNION_H
#define MERGE_UNION_H

#include <stdint.h>

#include "merge_map.h"

#include "aggregator/profile/collection.h"
#include "aggregator/store/database.h"

struct merge_union;

/* NULL: out of memory. merge_union_destroy() accepts NULL. */
struct merge_union *merge_union_create(void);
void merge_union_destroy(struct merge_union *whole);

/* Adds the things of a profile, which collection holds, and its writers and epochs, which database has. *map: their
 * ids here until merge_union_order_map(); owns, also on error. 0; -ENOMEM; the database's error. */
int merge_union_add(struct merge_union *whole, const struct collection *collection,
		    struct database *database, struct merge_map *map);

/* Orders all things by content and gives them their last ids, when all are added. 0 or -ENOMEM. */
int merge_union_order(struct merge_union *whole);
/* Turns the ids of merge_union_add() into the last ones. */
void merge_union_order_map(const struct merge_union *whole, struct merge_map *map);

/* Writes strings, modules, codes, frames and nodes into an empty store. 0 or the database's error. */
int merge_union_write(const struct merge_union *whole, struct database *database);

#endif

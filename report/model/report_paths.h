/* The tree of named frames that a report shows: the path of each row of totals, from the outside in.
 *	launch stack;leaf
 *	launch stack;[captured at];capture stack;leaf
 * The second is that of a graph's node whose capture is known. Either stack is cut where report_names_cut() says. What
 * no call is behind stands under one frame that says so: [unified memory], [CUPTI]. Part of report_build; used by one
 * thread. */
#ifndef REPORT_PATHS_H
#define REPORT_PATHS_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/catalog.h"

struct report_paths;

/* With a root. Both are borrowed until destroy. NULL: out of memory. report_paths_destroy() accepts
 * NULL. */
struct report_paths *report_paths_create(const struct catalog *catalog, struct report_names *names);
void report_paths_destroy(struct report_paths *paths);

/* *node: the innermost one of the row's path, the leaf itself excluded; [unknown stack] where no launch is known.
 * key->kind: enum report_kind; of idle time copy_kind is its enum idle_cause, and the path ends with what the host did,
 * "[CPU]", or is only "[unknown]" or "[gaps below 10 us]". The key's stacks must be in the catalog. 0; -EPROTO: a stack
 * is deeper than the wire allows; -ENOMEM. On error *node is not to be used. */
int report_paths_find(struct report_paths *paths, const struct fold_key *key, uint32_t *node);

/* A node that was found. Borrowed until the next call. */
const struct report_node *report_paths_node(const struct report_paths *paths, uint32_t node);

/* All nodes made so far. The caller owns them (free()); nothing can be found any more. */
struct report_node *report_paths_take(struct report_paths *paths, uint32_t *nr_nodes);

#endif

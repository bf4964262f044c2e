/* The id by which a store's timeline (timeline/log/event_format.h) knows it again. Ids of processes and stacks in a
 * timeline mean something in this store alone, so a merged or rewritten one has another id, or none. */
#ifndef STORE_TIMELINE_H
#define STORE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "database.h"

#define STORE_TIMELINE_ID 16u /* bytes */

/* Reads the id. *known false: the store has none, or what it has is none. 0 or the database's error. */
int store_timeline_read(struct database *database, uint8_t id[static STORE_TIMELINE_ID],
			bool *known);

/* The same; a store without an id gets a random one. -EPROTO: it has another text there. */
int store_timeline_make(struct database *database, uint8_t id[static STORE_TIMELINE_ID]);

/* Removes the id. 0 or the database's error. */
int store_timeline_forget(struct database *database);

/* Whether the store is a part of another by time. 0 or the database's error. */
int store_timeline_is_slice(struct database *database, bool *is_slice);

/* The key in `meta` of a store that is a part of another by time (timeline/slice/profile_slice.h): which part, in
 * words. */
#define STORE_TIMELINE_SLICE "slice"

/* The key of a part's note (store_note.h) that the whole is incomplete: its text says why, as reports do. */
#define STORE_TIMELINE_WHOLE "whole"

#endif

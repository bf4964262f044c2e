/* Where the event log of a store is: in a folder beside it, STORE.timeline. A profile may have several stores, which
 * get other names when they become one (report/profile/profile_parts.h). Until then the folder of each is found by the
 * store's id: PROFILE.part-ID.timeline, beside the profile's first store. Any thread. */
#ifndef EVENT_PLACE_H
#define EVENT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "event_format.h"

/* behind the path of a profile's first store: how the names of its further stores, and of folders by ids, go on */
#define EVENT_PLACE_PART ".part-"

/* Writes the path of the folder beside a store. 0 or -ENAMETOOLONG. */
int event_place_beside(const char *store_path, char folder[static PATH_MAX]);

/* Writes the path of the folder with this id of EVENT_FORMAT_ID bytes. store_path: of any store of the profile. 0 or
 * -ENAMETOOLONG. */
int event_place_by_id(const char *store_path, const uint8_t *id, char folder[static PATH_MAX]);

/* Writes the path of the folder by id if that is there, else of the one beside the store. id NULL: it has none. 0
 * or -ENAMETOOLONG. */
int event_place_find(const char *store_path, const uint8_t *id, char folder[static PATH_MAX]);

/* Returns whether there is a folder of the profile with this first store, be it that of a further one. It does not look
 * into stores for their ids. *changed_ns: another value once a folder has come, or a file in it; 0: there is none. */
bool event_place_has(const char *store_path, uint64_t *changed_ns);

/* Gives the folder another name, under which there is none or an empty one. 0, also if there is no folder; or
 * -errno. */
int event_place_move(const char *from, const char *to);

/* Removes the folder with the files of the log in it, if there is one. What else is in it stays, and then so does
 * the folder. directory: the descriptor of that in which it is, or AT_FDCWD. */
void event_place_remove(int directory, const char *folder);

#endif

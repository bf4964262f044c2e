/* A list of places in the source for readers: "train.py:loss:12, train.py:layer:5", each once. A place that has no room
 * becomes "...", and the list is then full. Pure; any thread. */
#ifndef PLACE_LIST_H
#define PLACE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define PLACE_LIST_MORE "..."

struct place_list {
	char *bytes;   /* of the caller; no NUL */
	uint32_t max;  /* bytes; at least those of ", ..." */
	uint32_t size; /* so far */
};

/* Adds a place, not empty, unless it is listed. Returns false if it has no room: nothing may be added any more. */
bool place_list_add(struct place_list *list, const char *place, uint32_t size);

/* Returns whether a file belongs to an installed package or to Python itself, by its path. */
bool place_is_installed(const char *path, uint32_t size);

#endif

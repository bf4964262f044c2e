/* Explains a profile's idle time while its file is open. Part of profile. */
#ifndef PROFILE_IDLE_H
#define PROFILE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct collection;
struct database;
struct fold_table;

/* Makes *idle from the idle time of each device whose processes have samples. *left_out counts the records and
 * samples that were not kept for it. The collection is loaded. is_damaged: parts of the profile are missing. The caller
 * owns *idle, also on error; it is NULL if there was no memory for it. 0, -EPROTO, -EIO, -ENOMEM. */
int profile_idle_load(struct database *database, const struct collection *collection,
		      bool is_damaged, struct fold_table **idle, uint64_t *left_out);

#endif

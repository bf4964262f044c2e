/* The store's messages: those that were applied and acknowledged, and whose effects are not in the other tables yet.
 * Part of the store; used by its thread. */
#ifndef STORE_MESSAGES_H
#define STORE_MESSAGES_H

#include <stdbool.h>

#include "database.h"
#include "statement_set.h"

#include "aggregator/profile/collection.h"

extern const char *const store_messages_commands[];

/* Adds the collection's logged messages to those that are stored. 0, or an error of the database. */
int store_messages_write(struct statement_set *set, const struct collection *collection);

/* Deletes the stored messages, because the other tables have their effects now. 0, or an error of the database. */
int store_messages_clear(struct statement_set *set);

/* Applies the stored messages to a collection that was loaded from the other tables; *any: there were some. 0; -ENOMEM;
 * -EPROTO: damaged; or another error of the database. */
int store_messages_load(struct database *database, struct collection *collection, bool *any);

#endif

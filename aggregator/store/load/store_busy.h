/* Reads the times in which streams and devices were busy back into a collection. Part of store_loader; used by one
 * thread. */
#ifndef STORE_BUSY_H
#define STORE_BUSY_H

#include <stdbool.h>

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/collection.h"
#include "aggregator/store/database.h"

/* is_closed: nobody adds to them, so each is closed (stream_timeline_close()). Open intervals are only compared with
 * the sums that are stored, which saves half a gigabyte of memory of a busy profile. 0; -EPROTO: impossible values;
 * -ENOMEM; or an error of the database. */
int store_busy_load(struct database *database, struct collection *collection, bool is_closed);

/* Reads one timeline with its open intervals into a table, for readers of a collection that has closed ones. No such
 * timeline is stored: the table stays as it is. Errors as above. */
int store_busy_read(struct database *database, const struct collection *collection,
		    const struct timeline_key *key, struct timeline_table *into);

#endif

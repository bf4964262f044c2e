/* Reads a store's tables as pages, from which nobody goes on (store_schema_select_final()). Used by one thread. */
#ifndef PAGE_READER_H
#define PAGE_READER_H

#include "profile_page.h"

#include "aggregator/store/database.h"

/* Gives each page of the profile to take(), by tables and numbers rising, as long as take() returns 0. The caller holds
 * a transaction, so that all pages are of one moment. The messages of a store (docs/store.md) are in no page: call
 * store_recover() before for a store whose writer was killed. 0; the error of take(); or one of the database. */
int page_reader_read(struct database *database,
		     int (*take)(void *context, const struct profile_page *page), void *context);

#endif

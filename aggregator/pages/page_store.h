/* Makes a store of pages again. Used by one thread. */
#ifndef PAGE_STORE_H
#define PAGE_STORE_H

#include "profile_page.h"

#include "aggregator/store/database.h"

struct page_store;

enum page_store_part {
	PAGE_STORE_ALL,
	PAGE_STORE_NAMES, /* what store_loader_load_names() reads, epochs and meta */
	PAGE_STORE_ROWS,  /* all but strings and stacks */
	PAGE_STORE_SUMS,  /* what metrics tell of GPUs */
	PAGE_STORE_STRINGS,
};

/* Opens an empty store in memory, for the pages of some tables; those of others are ignored. 0 or the database's error;
 * *store is then NULL. */
int page_store_create(enum page_store_part part, struct page_store **store);
void page_store_destroy(struct page_store *store); /* accepts NULL */

/* Adds the rows of a page. 0; -EPROTO: these bytes are no page of this table; -ENOMEM; the database's error. */
int page_store_add(struct page_store *store, const struct profile_page *page);

/* Returns the database with all rows added so far, which the caller owns, and destroys the store. Its contents are as
 * unchecked as the pages' (store_loader.h checks). NULL: out of memory, or an error of the database. */
struct database *page_store_finish(struct page_store *store);

#endif

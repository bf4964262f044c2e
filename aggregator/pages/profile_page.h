/* A profile in pages: the rows of its store's tables, as columns. A node sends the pages that have changed, and whoever
 * has the newest copy of all pages has the profile. Equal rows make equal pages, byte for byte, so that a page's bytes
 * tell whether it has changed. Plain data. */
#ifndef PROFILE_PAGE_H
#define PROFILE_PAGE_H

#include <stdint.h>

#define PROFILE_PAGE_ROWS  256u        /* at most, of one page */
#define PROFILE_PAGE_BYTES (64u << 10) /* a page that is larger has no further row */
#define PROFILE_TABLES_MAX 64u

/* A page is borrowed for the call that gets it. */
struct profile_page {
	/* the table's place among those of the store's schema, from 0. Messages (docs/store.md) are in no page. */
	uint32_t table;
	uint32_t number; /* in its table, from 0, without gaps */
	uint32_t size;   /* bytes, 1 to WIRE_PAGE_BYTES_MAX */
	const uint8_t *bytes;
};

#endif

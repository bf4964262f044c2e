/* The pages of a database file, as far as one needs to know SQLite's format to empty those that are damaged
 * (sqlite.org/fileformat2.html). Used by one thread, while nobody else writes the file. */
#ifndef DATABASE_PAGES_H
#define DATABASE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct database_page {
	uint8_t leaf; /* the type of a leaf of its tree; 0: the tree is not known */
	uint64_t key; /* the greatest row id that may be on it */
};

struct database_pages { /* zeroed: closed */
	int fd;
	uint32_t page_size, nr_pages;
	struct database_page *list; /* owns; by the page's number, from 1 */
};

/* 0; -EPROTO: it is no database; other -errno. */
int database_pages_open(struct database_pages *pages, const char *path);
void database_pages_close(struct database_pages *pages);

/* Notes which pages are of the tree with this root, as far as sound pages lead to them. is_index: its keys are no row
 * ids. 0, -EIO, -ENOMEM. */
int database_pages_walk(struct database_pages *pages, uint32_t root, bool is_index);

/* Makes a page a leaf with one row, whose values are NULL: SQLite takes a leaf without rows for damaged. 1; 0: it is of
 * no tree, or was emptied before; -EPROTO: it is the first one; -EIO, -ENOSPC, -ENOMEM. */
int database_pages_empty(struct database_pages *pages, uint64_t page);

#endif

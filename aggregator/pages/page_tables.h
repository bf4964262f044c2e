/* The tables of a store whose rows are in pages, in the order in which the schema makes them. Used by one thread. */
#ifndef PAGE_TABLES_H
#define PAGE_TABLES_H

#include <stdint.h>

#include "profile_page.h"

#include "aggregator/store/database.h"

#define PAGE_TABLES_NAME_MAX 64u
#define PAGE_TABLES_KEY_MAX  256u

struct page_tables {
	uint32_t count;
	struct page_table {
		char name[PAGE_TABLES_NAME_MAX];
		char key[PAGE_TABLES_KEY_MAX]; /* the columns of its primary key */
		uint32_t nr_columns;
	} tables[PROFILE_TABLES_MAX];
};

/* 0; -EPROTO: it is no store; or an error of the database. */
int page_tables_read(struct database *database, struct page_tables *tables);

#endif

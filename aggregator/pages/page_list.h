/* The pages of one complete round of a profile, by tables and numbers rising. A list never changes once it is made, so
 * any thread may read it. */
#ifndef PAGE_LIST_H
#define PAGE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "profile_page.h"

struct page_list {
	uint32_t count;
	uint64_t bytes; /* of all pages */
	struct profile_page pages[];
};

/* A list with room for count pages, and with none. NULL: out of memory. The caller owns it (free()), and the bytes of
 * its pages. */
struct page_list *page_list_create(uint32_t count);

/* Takes the page's bytes. */
void page_list_add(struct page_list *list, const struct profile_page *page);

/* Frees the pages, too. Accepts NULL. */
void page_list_destroy(struct page_list *list);

/* Returns whether the page comes before the one with this table and number. */
static inline bool page_list_precedes(const struct profile_page *page, uint32_t table,
				      uint32_t number)
{
	return page->table < table || (page->table == table && page->number < number);
}

static inline bool page_list_is(const struct profile_page *page, uint32_t table, uint32_t number)
{
	return page->table == table && page->number == number;
}

#endif

#include "page_list.h"

#include <stdlib.h>

struct page_list *page_list_create(uint32_t count)
{
	return calloc(1, sizeof(struct page_list) + count * sizeof(struct profile_page));
}

void page_list_add(struct page_list *list, const struct profile_page *page)
{
	list->pages[list->count++] = *page;
	list->bytes += page->size;
}

void page_list_destroy(struct page_list *list)
{
	if (!list)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		free((void *)list->pages[i].bytes);
	free(list);
}

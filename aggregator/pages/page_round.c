#include "page_round.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int refuse(const char **reason, const char *why)
{
	*reason = why;
	return -EPROTO;
}

void page_round_cut(struct page_round *round, uint32_t count, uint32_t filled)
{
	while (round->count > count) {
		const struct profile_page *page = &round->pages[--round->count];

		round->bytes -= page->size;
		free((void *)page->bytes);
	}
	round->filled = filled;
}

void page_round_fini(struct page_round *round)
{
	page_round_cut(round, 0, 0);
	free(round->pages);
	*round = (struct page_round){0};
}

static bool is_complete(const struct page_round *round)
{
	return round->count == 0 || round->filled == round->pages[round->count - 1].size;
}

static int begin_page(struct page_round *round, const struct message_page_part *part,
		      const char **reason)
{
	if (part->at != 0)
		return refuse(reason, "a page that begins in its middle");
	if (round->count &&
	    !page_list_precedes(&round->pages[round->count - 1], part->table, part->number))
		return refuse(reason, "pages that do not rise");
	if (part->page_bytes > PAGE_ROUND_BYTES_MAX - round->bytes)
		return refuse(reason, "a profile above 1 GiB");
	if (array_reserve(&round->pages, &round->room, (uint64_t)round->count + 1,
			  sizeof(*round->pages)))
		return -ENOMEM;
	uint8_t *bytes = malloc(part->page_bytes);
	if (!bytes)
		return -ENOMEM;
	round->pages[round->count++] =
		(struct profile_page){part->table, part->number, part->page_bytes, bytes};
	round->bytes += part->page_bytes;
	round->filled = 0;
	return 0;
}

static int add_part(struct page_round *round, const struct message_page_part *part,
		    const uint8_t *bytes, const char **reason)
{
	int error = is_complete(round) ? begin_page(round, part, reason) : 0;

	if (error)
		return error;
	const struct profile_page *page = &round->pages[round->count - 1];
	if (!page_list_is(page, part->table, part->number) || part->page_bytes != page->size ||
	    part->at != round->filled)
		return refuse(reason, "a part that does not follow the one before");
	memcpy((uint8_t *)page->bytes + round->filled, bytes, part->size);
	round->filled += part->size;
	return 0;
}

int page_round_add(struct page_round *round, const struct message_pages *message,
		   const char **reason)
{
	uint32_t count = round->count, filled = round->filled, at = 0;
	int error = 0;

	for (uint32_t i = 0; i < message->nr_parts && !error; i++) {
		error = add_part(round, &message->parts[i], message->bytes + at, reason);
		at += message->parts[i].size;
	}
	if (error)
		page_round_cut(round, count, filled);
	return error;
}

/* Counts the pages after the round. There cannot be more than have come. */
static int count_pages(const struct message_pages *message, uint64_t most, uint32_t *count,
		       const char **reason)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < message->nr_tables; i++) {
		if (i && message->tables[i].table <= message->tables[i - 1].table)
			return refuse(reason, "tables that do not rise");
		sum += message->tables[i].nr_pages;
	}
	if (sum > most || sum >= UINT32_MAX)
		return refuse(reason, "a table with pages that never came");
	*count = (uint32_t)sum;
	return 0;
}

/* The places in both sources up to which their pages are in the list. */
struct joining {
	uint32_t nr_new, nr_old;
};

static int join_table(struct joining *joining, const struct page_round *round,
		      const struct page_list *before, const struct message_page_table *table,
		      struct page_list *after)
{
	uint32_t nr_before = before ? before->count : 0;

	for (uint32_t number = 0; number < table->nr_pages; number++) {
		while (joining->nr_old < nr_before &&
		       page_list_precedes(&before->pages[joining->nr_old], table->table, number))
			joining->nr_old++;
		if (joining->nr_new < round->count &&
		    page_list_is(&round->pages[joining->nr_new], table->table, number))
			page_list_add(after, &round->pages[joining->nr_new++]);
		else if (joining->nr_old < nr_before &&
			 page_list_is(&before->pages[joining->nr_old], table->table, number))
			page_list_add(after, &before->pages[joining->nr_old]);
		else
			return -EPROTO;
	}
	return 0;
}

int page_round_finish(const struct page_round *round, const struct page_list *before,
		      const struct message_pages *message, struct page_list **after,
		      const char **reason)
{
	struct joining joining = {0};
	uint32_t count;
	int error = 0;

	*after = NULL;
	if (!is_complete(round))
		return refuse(reason, "a round that ends within a page");
	error = count_pages(message, (uint64_t)round->count + (before ? before->count : 0), &count,
			    reason);
	if (error)
		return error;
	*after = page_list_create(count);
	if (!*after)
		return -ENOMEM;
	for (uint32_t i = 0; i < message->nr_tables && !error; i++)
		error = join_table(&joining, round, before, &message->tables[i], *after);
	if (error)
		*reason = "a table with pages that never came";
	else if (joining.nr_new < round->count)
		error = refuse(reason, "a page beyond the end of its table");
	else if ((*after)->bytes > PAGE_ROUND_BYTES_MAX)
		error = refuse(reason, "a profile above 1 GiB");
	if (error) {
		free(*after);
		*after = NULL;
	}
	return error;
}

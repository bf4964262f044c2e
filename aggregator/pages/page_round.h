/* A round of a profile's pages that is coming (message_pages). Single-threaded. */
#ifndef PAGE_ROUND_H
#define PAGE_ROUND_H

#include <stdint.h>

#include "page_list.h"

#include "proto/batch/message.h"

/* Limit of a profile's pages in bytes, and of those of one round. */
#define PAGE_ROUND_BYTES_MAX (1ull << 30)

struct page_round {                 /* zeroed: none is coming */
	uint64_t round;             /* its number; 0: none */
	struct profile_page *pages; /* owns, with their bytes; by tables and numbers rising */
	uint32_t count, room;
	uint32_t filled; /* bytes of the last page that have come */
	uint64_t bytes;  /* of all pages, the last one as a whole */
};

void page_round_fini(struct page_round *round); /* the round is then none */

/* Adds the parts of a message. 0; -EPROTO: one cannot be in this place, and *reason (a constant) says why; -ENOMEM. On
 * error the round is as it was. */
int page_round_add(struct page_round *round, const struct message_pages *message,
		   const char **reason);

/* Takes the parts of the newest message back: the round is as with these values of its members. */
void page_round_cut(struct page_round *round, uint32_t count, uint32_t filled);

/* Makes the list of all pages after the round, whose last message this is: those of the round, and those of the list
 * before (NULL: it has none) that stay. Both lists then have these bytes in common, and the round has all of its own
 * still. 0; -EPROTO, and *reason (a constant) says why; -ENOMEM. On error *after is NULL. */
int page_round_finish(const struct page_round *round, const struct page_list *before,
		      const struct message_pages *message, struct page_list **after,
		      const char **reason);

#endif

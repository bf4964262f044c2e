/* Messages of pages, and the pages of a set, as short texts. Fails the running test on any error. */
#ifndef PAGES_TEXT_H
#define PAGES_TEXT_H

#include <stdint.h>

#include "aggregator/pages/page_set.h"
#include "proto/batch/message.h"

#define PAGES_TEXT_SIZE   256u
#define PAGES_TEXT_PARTS  16u
#define PAGES_TEXT_TABLES 4u

struct pages_text {
	struct message_pages pages; /* points to the other members */
	struct message_page_part parts[PAGES_TEXT_PARTS];
	struct message_page_table tables[PAGES_TEXT_TABLES];
	uint8_t bytes[PAGES_TEXT_SIZE];
};

/* Makes a message number 1 of words with blanks between them. "0.3=abc": page 3 of table 0. "0.3=..c/5": a part of that
 * page, which has 5 bytes, from byte 2 on. "|0:2": table 0 has 2 pages at the end of the round. The writer's name begins
 * with this byte. */
void pages_text_make(struct pages_text *made, uint8_t writer, uint64_t round, const char *text);

/* Writes the pages of a writer of the set, by index, in the same way. */
void pages_text_of(const struct page_set *set, uint32_t writer, char text[PAGES_TEXT_SIZE]);

#endif

#include "pages_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void make_part(struct pages_text *made, const char *word)
{
	struct message_page_part *part = &made->parts[made->pages.nr_parts++];
	unsigned int table, number, page_bytes = 0;
	char bytes[64];

	assert_true(sscanf(word, "%u.%u=%63[^/]/%u", &table, &number, bytes, &page_bytes) >= 3);
	uint32_t at = (uint32_t)strspn(bytes, ".");
	*part = (struct message_page_part){table, number, page_bytes, at,
					   (uint32_t)strlen(bytes) - at};
	if (!page_bytes)
		part->page_bytes = part->size;
	memcpy(made->bytes + made->pages.nr_bytes, bytes + at, part->size);
	made->pages.nr_bytes += part->size;
}

static void make_table(struct pages_text *made, const char *word)
{
	unsigned int table, nr_pages;

	assert_int_equal(sscanf(word, "|%u:%u", &table, &nr_pages), 2);
	made->tables[made->pages.nr_tables++] = (struct message_page_table){table, nr_pages};
}

void pages_text_make(struct pages_text *made, uint8_t writer, uint64_t round, const char *text)
{
	char copy[PAGES_TEXT_SIZE], *rest = NULL;

	*made = (struct pages_text){.pages = {.seq = 1, .writer = {writer}, .round = round}};
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (*word == '|')
			make_table(made, word);
		else
			make_part(made, word);
	}
	made->pages.parts = made->parts;
	made->pages.tables = made->tables;
	made->pages.bytes = made->bytes;
}

static int add_page(void *context, const struct profile_page *page)
{
	char *text = context;
	size_t length = strlen(text);

	snprintf(text + length, PAGES_TEXT_SIZE - length, "%s%u.%u=%.*s", length ? " " : "",
		 page->table, page->number, (int)page->size, (const char *)page->bytes);
	return 0;
}

void pages_text_of(const struct page_set *set, uint32_t writer, char text[PAGES_TEXT_SIZE])
{
	*text = '\0';
	assert_int_equal(page_set_read(set, writer, add_page, text), 0);
}

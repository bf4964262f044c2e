#include "page_sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/pages/heavy_totals.h"
#include "aggregator/pages/page_reader.h"
#include "aggregator/pages/page_tables.h"
#include "aggregator/store/database.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "base/log.h"

#define PART_BYTES (256u << 10)
#define PARTS_MAX  4096u
#define ROW_BYTES  32u   /* of a total in a page: some 15, seldom more */
#define ROWS_MIN   1024u /* totals that each round may have */

/* The digests of a table's pages, as they were sent last. */
struct sent_table {
	uint64_t *digests; /* owns */
	uint32_t count, room;
	uint32_t nr_pages; /* of this round */
};

struct page_sender {
	uint64_t number; /* of the last round that was begun */
	struct sent_table tables[PROFILE_TABLES_MAX];
	bool has_changed;
	/* the message that is being filled */
	struct message message;
	struct message_page_part parts[PARTS_MAX];
	struct message_page_table ends[PROFILE_TABLES_MAX];
	uint8_t bytes[PART_BYTES];
	int (*send)(void *context, struct message *message);
	void *context;
};

struct page_sender *page_sender_create(void)
{
	return calloc(1, sizeof(struct page_sender));
}

void page_sender_destroy(struct page_sender *sender)
{
	if (!sender)
		return;
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		free(sender->tables[i].digests);
	free(sender);
}

void page_sender_forget(struct page_sender *sender)
{
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		sender->tables[i].count = 0;
}

static int send_message(struct page_sender *sender)
{
	int r = sender->send(sender->context, &sender->message);

	sender->message.pages.nr_parts = sender->message.pages.nr_bytes = 0;
	return r;
}

static int add_part(struct page_sender *sender, const struct profile_page *page, uint32_t *at)
{
	struct message_pages *pages = &sender->message.pages;
	int r = 0;

	if (pages->nr_parts == PARTS_MAX || pages->nr_bytes == PART_BYTES)
		r = send_message(sender);
	if (r)
		return r;
	uint32_t room = PART_BYTES - pages->nr_bytes, left = page->size - *at;
	uint32_t size = left < room ? left : room;
	sender->parts[pages->nr_parts++] = (struct message_page_part){
		.table = page->table,
		.number = page->number,
		.page_bytes = page->size,
		.at = *at,
		.size = size,
	};
	memcpy(sender->bytes + pages->nr_bytes, page->bytes + *at, size);
	pages->nr_bytes += size;
	*at += size;
	return 0;
}

static uint64_t digest_of(const struct profile_page *page)
{
	return hash_index_digest(0, page->bytes, page->size);
}

static int take_page(void *context, const struct profile_page *page)
{
	struct page_sender *sender = context;
	uint64_t digest = digest_of(page);
	uint32_t at = 0;
	int r = 0;

	if (page->table >= PROFILE_TABLES_MAX)
		return -EPROTO;
	struct sent_table *table = &sender->tables[page->table];
	table->nr_pages = page->number + 1;
	if (page->number < table->count && table->digests[page->number] == digest)
		return 0;
	sender->has_changed = true;
	if (page->number >= table->count) {
		r = array_reserve(&table->digests, &table->room, (uint64_t)page->number + 1,
				  sizeof(*table->digests));
		if (r)
			return r;
		table->count = page->number + 1;
	}
	table->digests[page->number] = digest;
	while (r == 0 && at < page->size)
		r = add_part(sender, page, &at);
	return r;
}

/* Says how many pages each table has. */
static int send_end(struct page_sender *sender)
{
	struct message_pages *pages = &sender->message.pages;

	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++) {
		struct sent_table *table = &sender->tables[i];

		sender->has_changed |= table->nr_pages != table->count;
		table->count = table->nr_pages;
		sender->ends[i] = (struct message_page_table){i, table->nr_pages};
	}
	if (!sender->has_changed)
		return 0;
	pages->nr_tables = PROFILE_TABLES_MAX;
	pages->tables = sender->ends;
	return send_message(sender);
}

static int take_writer(struct statement *row, void *writer)
{
	uint32_t size;
	const void *bytes = statement_bytes(row, 0, &size);

	if (size != WIRE_EPOCH_SIZE)
		return -EPROTO;
	memcpy(writer, bytes, size);
	return 0;
}

/* What a round would be. */
struct round_size {
	const struct page_sender *sender;
	const struct page_tables *tables;
	uint64_t totals_bytes, other_bytes; /* of pages that have changed */
};

static int measure_page(void *context, const struct profile_page *page)
{
	struct round_size *size = context;
	const struct sent_table *sent = &size->sender->tables[page->table];
	const char *name = size->tables->tables[page->table].name;

	if (page->number < sent->count && sent->digests[page->number] == digest_of(page))
		return 0;
	if (heavy_totals_in(name))
		size->totals_bytes += page->size;
	else
		size->other_bytes += page->size;
	return 0;
}

/* Merges the lightest totals, if the round is too large. */
static int keep_to(struct page_sender *sender, struct database *database, uint64_t max_bytes)
{
	struct page_tables tables;
	struct round_size size = {sender, &tables, 0, 0};
	int64_t store_bytes;
	int r = database_query_number(
		database, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
		&store_bytes);

	if (r || (uint64_t)store_bytes <= max_bytes)
		return r;
	r = page_tables_read(database, &tables);
	if (r == 0)
		r = page_reader_read(database, measure_page, &size);
	if (r || size.totals_bytes + size.other_bytes <= max_bytes)
		return r;
	uint64_t room = size.other_bytes < max_bytes ? max_bytes - size.other_bytes : 0;
	uint64_t rows = room / ROW_BYTES;
	rows = rows < ROWS_MIN ? ROWS_MIN : rows < UINT32_MAX ? rows : UINT32_MAX;
	return heavy_totals_keep(database, sender->message.pages.writer, (uint32_t)rows);
}

static int read_pages(struct page_sender *sender, struct database *database, uint64_t max_bytes)
{
	int r = database_execute(database, "BEGIN");

	if (r == 0)
		r = database_rows(database, "SELECT ifnull(min(writer), x'') FROM writers", take_writer,
				  sender->message.pages.writer);
	if (r == 0)
		r = keep_to(sender, database, max_bytes);
	if (r == 0)
		r = page_reader_read(database, take_page, sender);
	if (r == 0)
		r = send_end(sender);
	database_execute(database, "COMMIT");
	return r;
}

int page_sender_send(struct page_sender *sender, const char *store_path, uint64_t max_bytes,
		     int (*send)(void *context, struct message *message), void *context)
{
	struct database *database;
	char *error = NULL;

	if (access(store_path, F_OK))
		return errno == ENOENT ? 1 : -errno;
	int r = database_open(store_path, true, &database, &error);
	if (r)
		log_warning("%s", error ? error : strerror(-r));
	free(error);
	if (r)
		return r;
	sender->message = (struct message){
		.type = MESSAGE_PAGES,
		.pages = {.round = ++sender->number,
			  .parts = sender->parts,
			  .bytes = sender->bytes},
	};
	sender->send = send;
	sender->context = context;
	sender->has_changed = false;
	for (uint32_t i = 0; i < PROFILE_TABLES_MAX; i++)
		sender->tables[i].nr_pages = 0;
	r = read_pages(sender, database, max_bytes);
	database_close(database);
	/* On a file system of several hosts nobody can read the store until it is closed. */
	return r == -EBUSY && !sender->has_changed ? 1 : r;
}

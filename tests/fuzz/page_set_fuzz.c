/* The file of nodes' profiles, and rounds of pages in any order. A first byte of 0: the rest is a file, as it is and with
 * the checksum mended; what is loaded can be saved, and is then the same. Else the rest is messages of rounds: one that is
 * refused changes nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/pages/page_set.h"
#include "base/checksum.h"
#include "fuzz_file.h"

#define HEAD_SIZE   32u
#define WRITER_SIZE 64u
#define PAGE_SIZE   24u
#define ITEMS_MAX   8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the file */

static void load(const uint8_t *bytes, size_t size)
{
	struct page_set *set, *again;
	const char *path = fuzz_file_write(bytes, size);

	if (page_set_load(path, &set) != 0)
		return;
	if (page_set_save(set, path) != 0 || page_set_load(path, &again) != 0 ||
	    page_set_writers(set) != page_set_writers(again) ||
	    page_set_bytes(set) != page_set_bytes(again))
		abort();
	page_set_destroy(set);
	page_set_destroy(again);
}

/* Puts the checksum behind the bytes that it is of, and behind that further ones. */
static void mend(uint8_t *bytes, size_t size, size_t further)
{
	const uint64_t checksum = checksum_add(checksum_add(0, bytes, size),
					       bytes + size + sizeof(checksum), further);

	memcpy(bytes + size, &checksum, sizeof(checksum));
}

static uint32_t number_at(const uint8_t *bytes)
{
	uint32_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

/* Mends the checksums, which nobody finds by chance, of all pages that follow one another. */
static size_t mend_pages(uint8_t *bytes, size_t left)
{
	size_t at = 0;

	while (left - at >= PAGE_SIZE && number_at(bytes + at + 8) <= left - at - PAGE_SIZE) {
		mend(bytes + at, PAGE_SIZE - 8, number_at(bytes + at + 8));
		at += PAGE_SIZE + number_at(bytes + at + 8);
	}
	return at;
}

static void load_mended(const uint8_t *bytes, size_t size)
{
	uint8_t *mended = malloc(size + 1);

	if (!mended)
		abort();
	memcpy(mended, bytes, size);
	if (size >= HEAD_SIZE)
		mend(mended, HEAD_SIZE - 8, 0);
	for (size_t at = HEAD_SIZE; at < size && size - at >= WRITER_SIZE;) {
		mend(mended + at, WRITER_SIZE - 8, 0);
		at += WRITER_SIZE;
		at += mend_pages(mended + at, size - at);
	}
	load(mended, size);
	free(mended);
}

/* ---- rounds */

struct input {
	const uint8_t *bytes;
	size_t left;
};

static uint8_t next(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->bytes++;
}

static int add_sum(void *context, const struct profile_page *page)
{
	uint64_t *sum = context;

	*sum = checksum_add(*sum, page->bytes, page->size);
	*sum = checksum_add(*sum, page, offsetof(struct profile_page, bytes));
	return 0;
}

static uint64_t sum_of(const struct page_set *set)
{
	uint64_t sum = page_set_bytes(set);

	for (uint32_t i = 0; i < page_set_writers(set); i++) {
		sum += page_set_round(set, i);
		page_set_read(set, i, add_sum, &sum);
	}
	return sum;
}

static void take(struct page_set *set, struct input *input)
{
	static const uint8_t bytes[ITEMS_MAX * 256];
	struct message_page_part parts[ITEMS_MAX];
	struct message_page_table tables[ITEMS_MAX];
	struct message_pages pages = {.parts = parts, .tables = tables, .bytes = bytes};
	const char *reason = NULL;

	pages.writer[0] = next(input) & 3;
	pages.round = 1 + (next(input) & 15);
	pages.nr_parts = next(input) & (ITEMS_MAX - 1);
	pages.nr_tables = next(input) & 3;
	for (uint32_t i = 0; i < pages.nr_parts; i++) {
		uint8_t page_bytes = next(input) | 1, at = next(input) % page_bytes;

		parts[i] = (struct message_page_part){
			.table = next(input) & 3,
			.number = next(input) & 7,
			.page_bytes = page_bytes,
			.at = at,
			.size = 1u + next(input) % (uint8_t)(page_bytes - at),
		};
		pages.nr_bytes += parts[i].size;
	}
	for (uint32_t i = 0; i < pages.nr_tables; i++)
		tables[i] = (struct message_page_table){next(input) & 3, next(input) & 7};
	uint64_t before = sum_of(set);
	if (page_set_take(set, &pages, &reason) != 0 && (!reason || sum_of(set) != before))
		abort();
	if ((next(input) & 15) == 1)
		page_set_begin(set, pages.writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};

	if (size == 0)
		return 0;
	if (next(&input) == 0) {
		load(input.bytes, input.left);
		load_mended(input.bytes, input.left);
		return 0;
	}
	struct page_set *set = page_set_create();
	if (!set)
		abort();
	while (input.left)
		take(set, &input);
	page_set_destroy(set);
	return 0;
}

/* The file of nodes' profiles, and rounds of pages in any order. A first byte of 0: the rest is a file, as it is and with
 * the checksum mended; what is loaded can be saved, and is then the same. Else the rest is messages of rounds: one that is
 * refused changes nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/pages/page_set.h"
#include "base/checksum.h"
#include "fuzz_file.h"

#define HEAD_SIZE   16u
#define WRITER_SIZE 32u
#define PAGE_SIZE   12u
#define ITEMS_MAX   8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the file */

struct digest {
	const uint8_t *bytes;
	size_t left;
	uint64_t checksum;
};

/* Returns whether the file has so many bytes more. */
static bool digest_part(struct digest *digest, size_t size)
{
	if (digest->left < size)
		return false;
	digest->checksum = checksum_add(digest->checksum, digest->bytes, size);
	digest->bytes += size;
	digest->left -= size;
	return true;
}

static uint32_t number_before(const struct digest *digest)
{
	uint32_t number;

	memcpy(&number, digest->bytes - sizeof(number), sizeof(number));
	return number;
}

/* The checksum, which nobody finds by chance. */
static uint64_t checksum_of(const uint8_t *bytes, size_t size)
{
	struct digest digest = {bytes, size, 0};
	bool more = digest_part(&digest, HEAD_SIZE);

	for (uint32_t writers = more ? number_before(&digest) : 0; writers > 0 && more; writers--) {
		more = digest_part(&digest, WRITER_SIZE);
		for (uint32_t pages = more ? number_before(&digest) : 0; pages > 0 && more; pages--)
			more = digest_part(&digest, PAGE_SIZE) &&
			       digest_part(&digest, number_before(&digest));
	}
	return digest.checksum;
}

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

static void load_mended(const uint8_t *bytes, size_t size)
{
	uint64_t checksum = checksum_of(bytes, size);
	uint8_t *mended = malloc(size + sizeof(checksum));

	if (!mended)
		abort();
	memcpy(mended, bytes, size);
	memcpy(mended + size, &checksum, sizeof(checksum));
	load(mended, size + sizeof(checksum));
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

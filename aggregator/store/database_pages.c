#include "database_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_HEAD   100u /* of the first page */
#define LEAF_HEAD   8u
#define BRANCH_HEAD 12u
#define DEPTH_MAX   20u /* of a tree, in SQLite, too */
#define NUMBER_MAX  9u  /* bytes */
#define ROW_SIZE    (3 + NUMBER_MAX)
#define ROW_LEAST   4u

enum page_type { INDEX_BRANCH = 2, TABLE_BRANCH = 5, INDEX_LEAF = 10, TABLE_LEAF = 13 };

static uint32_t get16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t get32(const uint8_t *bytes)
{
	return get16(bytes) << 16 | get16(bytes + 2);
}

static off_t place_of(const struct database_pages *pages, uint64_t page)
{
	return (off_t)((page - 1) * pages->page_size);
}

int database_pages_open(struct database_pages *pages, const char *path)
{
	uint8_t head[FILE_HEAD];
	struct stat status;

	*pages = (struct database_pages){.fd = open(path, O_RDWR | O_CLOEXEC)};
	int error = pages->fd < 0 || fstat(pages->fd, &status) ? -errno : 0;
	if (!error && pread(pages->fd, head, sizeof(head), 0) != sizeof(head))
		error = -EPROTO;
	if (error)
		return error;
	pages->page_size = get16(head + 16) == 1 ? 1u << 16 : get16(head + 16);
	if (pages->page_size < 512 || (uint64_t)status.st_size / pages->page_size >= UINT32_MAX)
		return -EPROTO;
	pages->nr_pages = (uint32_t)((uint64_t)status.st_size / pages->page_size);
	pages->list = calloc(pages->nr_pages + 1ull, sizeof(*pages->list));
	return pages->list ? 0 : -ENOMEM;
}

void database_pages_close(struct database_pages *pages)
{
	if (pages->fd > 0)
		close(pages->fd);
	free(pages->list);
	*pages = (struct database_pages){0};
}

/* Reads a number of seven bits a byte, the ninth of which has eight. end: behind the last byte. */
static uint64_t get_number(const uint8_t *bytes, const uint8_t *end)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < NUMBER_MAX && bytes < end; i++, bytes++) {
		if (i == NUMBER_MAX - 1)
			return number << 8 | *bytes;
		number = number << 7 | (*bytes & 0x7f);
		if (*bytes < 0x80)
			break;
	}
	return number;
}

static uint32_t put_number(uint8_t bytes[static NUMBER_MAX], uint64_t number)
{
	uint32_t size = 1;

	if (number >> 56) {
		bytes[NUMBER_MAX - 1] = (uint8_t)number;
		for (uint32_t i = NUMBER_MAX - 1; i-- > 0;)
			bytes[i] = (uint8_t)(number >> (8 + 7 * (NUMBER_MAX - 2 - i))) | 0x80;
		return NUMBER_MAX;
	}
	while (number >> (7 * size))
		size++;
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)((number >> (7 * (size - 1 - i)) & 0x7f) |
				     (i + 1 < size ? 0x80 : 0));
	return size;
}

static int walk(struct database_pages *pages, uint32_t page, struct database_page note,
		uint32_t depth);

static int walk_children(struct database_pages *pages, const uint8_t *bytes, uint32_t page,
			 uint32_t depth)
{
	const uint32_t head = page == 1 ? FILE_HEAD : 0, count = get16(bytes + head + 3);
	const struct database_page own = pages->list[page];
	struct database_page child = own;
	int error = 0;

	if (bytes[head] != (own.leaf == TABLE_LEAF ? TABLE_BRANCH : INDEX_BRANCH))
		return 0;
	for (uint32_t i = 0; i < count && !error; i++) {
		const uint32_t at = head + BRANCH_HEAD + 2 * i;
		const uint32_t cell = at + 2 <= pages->page_size ? get16(bytes + at) : UINT16_MAX;

		if (cell + 4 > pages->page_size)
			continue;
		child.key = get_number(bytes + cell + 4, bytes + pages->page_size);
		error = walk(pages, get32(bytes + cell), child, depth + 1);
	}
	/* Ids grow, so that one more than the last known one is greater than those before the last page. */
	child.key = own.key ? own.key : child.key + 1;
	return error ? error : walk(pages, get32(bytes + head + LEAF_HEAD), child, depth + 1);
}

static int walk(struct database_pages *pages, uint32_t page, struct database_page note,
		uint32_t depth)
{
	if (page == 0 || page > pages->nr_pages || pages->list[page].leaf || depth > DEPTH_MAX)
		return 0;
	pages->list[page] = note;
	uint8_t *bytes = malloc(pages->page_size);
	if (!bytes)
		return -ENOMEM;
	int error = pread(pages->fd, bytes, pages->page_size, place_of(pages, page)) ==
				    (ssize_t)pages->page_size
			    ? walk_children(pages, bytes, page, depth)
			    : -EIO;
	free(bytes);
	return error;
}

int database_pages_walk(struct database_pages *pages, uint32_t root, bool is_index)
{
	const struct database_page note = {.leaf = is_index ? INDEX_LEAF : TABLE_LEAF};

	return walk(pages, root, note, 0);
}

/* Returns the size. */
static uint32_t make_row(const struct database_page *page, uint8_t row[static ROW_SIZE])
{
	uint32_t size = 0;

	row[size++] = 2; /* bytes long */
	if (page->leaf == TABLE_LEAF)
		size += put_number(row + size, page->key);
	row[size++] = 2; /* bytes are its head */
	row[size++] = 0; /* the first value is NULL, and the others are missing */
	return size < ROW_LEAST ? ROW_LEAST : size;
}

int database_pages_empty(struct database_pages *pages, uint64_t page)
{
	if (page == 1)
		return -EPROTO;
	if (page == 0 || page > pages->nr_pages || !pages->list[page].leaf)
		return 0;
	uint8_t row[ROW_SIZE] = {0}, *bytes = calloc(1, pages->page_size);
	if (!bytes)
		return -ENOMEM;
	const uint32_t at = pages->page_size - make_row(&pages->list[page], row);
	memcpy(bytes + at, row, pages->page_size - at);
	bytes[0] = pages->list[page].leaf;
	bytes[4] = 1; /* row, which begins here */
	bytes[5] = bytes[8] = (uint8_t)(at >> 8);
	bytes[6] = bytes[9] = (uint8_t)at;
	pages->list[page].leaf = 0;
	const ssize_t size = pwrite(pages->fd, bytes, pages->page_size, place_of(pages, page));
	const int error = size < 0 ? -errno : -ENOSPC;
	free(bytes);
	return size == (ssize_t)pages->page_size ? 1 : error;
}

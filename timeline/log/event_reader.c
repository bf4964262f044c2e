#include "event_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_format.h"
#include "zstd_library.h"

#include "base/array.h"
#include "proto/batch/batch_decode.h"

#define WINDOW_BYTES 65536u /* in which the head of the next block is looked for */

struct reader {
	event_take *take; /* NULL: heads alone */
	void *context;
	struct event_sums *sums;
	int fd;
	uint64_t size;           /* of the file */
	uint64_t lost;           /* that the file's last head names */
	uint8_t *stored, *plain; /* owns; of one block */
	uint32_t room_stored, room_plain;
	struct batch_decoder *decoder;   /* owns */
	const struct zstd_library *zstd; /* NULL: there is none */
	void *decompressor;              /* owns */
};

/* ---- a block */

static bool read_at(const struct reader *reader, void *to, size_t size, uint64_t at)
{
	return at <= reader->size && size <= reader->size - at &&
	       pread(reader->fd, to, size, (off_t)at) == (ssize_t)size;
}

static bool is_sound(const struct event_block_head *head)
{
	return head->magic == EVENT_FORMAT_BLOCK && head->checksum == EVENT_FORMAT_CHECKSUM(head) &&
	       head->plain_bytes <= EVENT_FORMAT_PLAIN && head->stored_bytes <= EVENT_FORMAT_STORED;
}

/* Returns the block's frames; NULL: they cannot be read, which was counted. */
static const uint8_t *unpack(struct reader *reader, const struct event_block_head *head)
{
	if (head->codec == EVENT_FORMAT_COPY && head->stored_bytes == head->plain_bytes)
		return reader->stored;
	if (head->codec == EVENT_FORMAT_ZSTD && !reader->zstd) {
		reader->sums->compressed++;
		return NULL;
	}
	if (head->codec == EVENT_FORMAT_ZSTD &&
	    reader->zstd->decompress(reader->decompressor, reader->plain, head->plain_bytes,
				     reader->stored, head->stored_bytes) == head->plain_bytes)
		return reader->plain;
	reader->sums->damaged++;
	return NULL;
}

static int take_frames(struct reader *reader, const uint8_t *bytes, size_t left)
{
	struct message message;
	uint32_t size;
	int status = 0;

	while (left && status == 0) {
		memcpy(&size, bytes, left < sizeof(size) ? left : sizeof(size));
		if (left < sizeof(size) || size > left - sizeof(size))
			break;
		status = batch_decode(reader->decoder, bytes + sizeof(size), size, &message);
		if (status == -ENOMEM)
			return status;
		if (status || message.type != MESSAGE_EVENTS)
			break;
		reader->sums->launches += message.events.nr_launches;
		reader->sums->records += message.events.nr_gpu;
		bytes += sizeof(size) + size;
		left -= sizeof(size) + size;
		status = reader->take(reader->context, &message.events);
		if (status)
			return status;
	}
	reader->sums->damaged += left > 0;
	return 0;
}

static int take_block(struct reader *reader, const struct event_block_head *head, uint64_t at)
{
	reader->lost = head->lost_events;
	if (!reader->take) {
		reader->sums->launches += head->nr_launches;
		reader->sums->records += head->nr_records;
		return 0;
	}
	/* No more than the file can have, and than a block has. */
	if (head->stored_bytes <= reader->size &&
	    (array_reserve(&reader->stored, &reader->room_stored, head->stored_bytes + 1ull, 1) ||
	     array_reserve(&reader->plain, &reader->room_plain, head->plain_bytes + 1ull, 1)))
		return -ENOMEM;
	if (!read_at(reader, reader->stored, head->stored_bytes, at) ||
	    checksum_add(0, reader->stored, head->stored_bytes) != head->data_checksum) {
		reader->sums->damaged++;
		return 0;
	}
	const uint8_t *plain = unpack(reader, head);
	return plain ? take_frames(reader, plain, head->plain_bytes) : 0;
}

/* ---- a file */

/* Returns where the next sound head of a block is, from here on; the file's size: there is none. */
static uint64_t find_block(const struct reader *reader, uint64_t at)
{
	const uint32_t magic = EVENT_FORMAT_BLOCK;
	struct event_block_head head;
	uint8_t window[WINDOW_BYTES];

	while (at < reader->size) {
		ssize_t got = pread(reader->fd, window, sizeof(window), (off_t)at);

		for (ssize_t i = 0; i + (ssize_t)sizeof(head) <= got; i++) {
			if (memcmp(window + i, &magic, sizeof(magic)) != 0)
				continue;
			memcpy(&head, window + i, sizeof(head));
			if (is_sound(&head))
				return at + (uint64_t)i;
		}
		if (got < (ssize_t)sizeof(window))
			break;
		at += (uint64_t)got - sizeof(head) + 1;
	}
	return reader->size;
}

static int read_blocks(struct reader *reader, uint64_t at)
{
	struct event_block_head head;
	int status = 0;

	while (at < reader->size && status == 0) {
		if (!read_at(reader, &head, sizeof(head), at) || !is_sound(&head)) {
			reader->sums->damaged++;
			at = find_block(reader, at + 1);
			continue;
		}
		at += sizeof(head);
		status = take_block(reader, &head, at);
		at += head.stored_bytes;
	}
	return status;
}

static int read_file(struct reader *reader, int directory, const char *name, bool *begins)
{
	struct event_file_head head;
	struct event_sums *sums = reader->sums;
	struct stat status;
	int error = 0;

	*begins = false;
	reader->lost = 0;
	reader->fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (reader->fd < 0) /* a writer deletes its oldest files */
		return errno == ENOENT ? 0 : -errno;
	if (fstat(reader->fd, &status) == 0 && S_ISREG(status.st_mode)) {
		reader->size = (uint64_t)status.st_size;
		sums->files++;
		sums->bytes += reader->size;
		*begins = read_at(reader, &head, sizeof(head), 0) &&
			  memcmp(head.magic, EVENT_FORMAT_MAGIC, 8) == 0 &&
			  head.version == EVENT_FORMAT_VERSION &&
			  head.checksum == EVENT_FORMAT_CHECKSUM(&head);
		if (*begins) { /* later files have the sums of earlier ones */
			sums->dropped_files = head.dropped_files;
			sums->dropped_events = head.dropped_events;
		}
		sums->damaged += !*begins;
		error = read_blocks(reader, *begins ? sizeof(head) : find_block(reader, 0));
		if (reader->lost > sums->lost_events)
			sums->lost_events = reader->lost;
	}
	close(reader->fd);
	return error;
}

/* ---- a log */

static void fini(struct reader *reader)
{
	if (reader->decompressor)
		reader->zstd->free_decompressor(reader->decompressor);
	batch_decoder_destroy(reader->decoder);
	free(reader->stored);
	free(reader->plain);
}

/* 0 or -ENOMEM. Call fini() in either case. */
static int init(struct reader *reader, event_take *take, void *context, struct event_sums *sums)
{
	char *error = NULL;

	*reader = (struct reader){.take = take, .context = context, .sums = sums, .fd = -1};
	if (!take)
		return 0;
	if (zstd_library_open(&reader->zstd, &error) == 0)
		reader->decompressor = reader->zstd->create_decompressor();
	free(error);
	if (!reader->decompressor)
		reader->zstd = NULL;
	reader->decoder = batch_decoder_create();
	return reader->decoder ? 0 : -ENOMEM;
}

uint32_t event_reader_number(const char *name)
{
	char *end;
	unsigned long number = *name >= '0' && *name <= '9' ? strtoul(name, &end, 10) : 0;

	return number > 0 && number < UINT32_MAX && strcmp(end, EVENT_FORMAT_SUFFIX) == 0
		       ? (uint32_t)number
		       : 0;
}

int event_reader_file(int directory, const char *name, event_take *take, void *context,
		      struct event_sums *sums, bool *begins)
{
	struct reader reader;
	int error = init(&reader, take, context, sums);

	if (!error)
		error = read_file(&reader, directory, name, begins);
	fini(&reader);
	return error;
}

static int is_file(const struct dirent *entry)
{
	return event_reader_number(entry->d_name) != 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	uint32_t left = event_reader_number((*a)->d_name),
		 right = event_reader_number((*b)->d_name);

	return (left > right) - (left < right);
}

int event_reader_read(const char *store_path, event_take *take, void *context,
		      struct event_sums *sums)
{
	struct dirent **names = NULL;
	struct reader reader;
	char path[PATH_MAX];
	bool begins;

	if (snprintf(path, sizeof(path), "%s" EVENT_FORMAT_FOLDER, store_path) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int nr = directory < 0 ? -1 : scandirat(directory, ".", &names, is_file, by_number);
	if (nr < 0) {
		int error = -errno;

		if (directory >= 0)
			close(directory);
		return error;
	}
	int error = init(&reader, take, context, sums);
	for (int i = 0; i < nr; i++) {
		if (!error)
			error = read_file(&reader, directory, names[i]->d_name, &begins);
		free(names[i]);
	}
	free(names);
	fini(&reader);
	close(directory);
	return error;
}

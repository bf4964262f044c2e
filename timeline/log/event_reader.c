#include "event_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block_marks.h"
#include "event_format.h"
#include "event_place.h"
#include "zstd_library.h"

#include "base/array.h"
#include "proto/batch/batch_decode.h"

#define WINDOW_BYTES 65536u      /* in which the head of the next block is looked for */
#define SEARCH_BYTES (64u << 20) /* of damage: what lies behind is left out, too */

struct reader {
	struct event_asks asks;
	struct event_sums *sums;
	int fd;
	uint32_t number;          /* in the file's name */
	uint64_t size;            /* of the file */
	uint64_t lost;            /* that the file's last head names */
	uint8_t *stored, *plain;  /* owns; of one block */
	struct event_span *spans; /* owns; of one block */
	uint32_t room_stored, room_plain, room_spans;
	struct block_marks marks;        /* of sound blocks; owns */
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

/* Reads a block's head of either version. Returns its size; 0: it is none. */
static uint32_t take_head(const uint8_t *bytes, size_t size, struct event_block_head *head)
{
	struct event_block_head_1 old;
	uint32_t used = 0;

	if (size >= sizeof(*head)) {
		memcpy(head, bytes, sizeof(*head));
		if (head->magic == EVENT_FORMAT_BLOCK &&
		    head->checksum == EVENT_FORMAT_CHECKSUM(head) &&
		    head->nr_spans <= EVENT_FORMAT_SPANS)
			used = sizeof(*head);
	}
	if (!used && size >= sizeof(old)) {
		memcpy(&old, bytes, sizeof(old));
		if (old.magic == EVENT_FORMAT_BLOCK_1 &&
		    old.checksum == EVENT_FORMAT_CHECKSUM(&old)) {
			*head = (struct event_block_head){.codec = old.codec,
							  .plain_bytes = old.plain_bytes,
							  .stored_bytes = old.stored_bytes,
							  .nr_launches = old.nr_launches,
							  .nr_records = old.nr_records,
							  .lost_events = old.lost_events,
							  .data_checksum = old.data_checksum,
							  .checksum = old.checksum};
			used = sizeof(old);
		}
	}
	return head->plain_bytes <= EVENT_FORMAT_PLAIN && head->stored_bytes <= EVENT_FORMAT_STORED
		       ? used
		       : 0;
}

/* Damaged spans are none, so the block is read. 0 or -ENOMEM. */
static int read_spans(struct reader *reader, struct event_block_head *head, uint64_t at)
{
	const size_t size = head->nr_spans * sizeof(*reader->spans);

	if (!head->nr_spans)
		return 0;
	if (array_reserve(&reader->spans, &reader->room_spans, head->nr_spans,
			  sizeof(*reader->spans)))
		return -ENOMEM;
	if (!read_at(reader, reader->spans, size, at) ||
	    checksum_add(0, reader->spans, size) != head->spans_checksum) {
		reader->sums->damaged++;
		head->nr_spans = 0;
	}
	return 0;
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

static bool is_unwanted(const struct reader *reader, const uint8_t *frame, size_t size)
{
	const struct event_asks *asks = &reader->asks;
	const uint32_t process_id = asks->wants_process ? batch_frame_process(frame, size) : 0;

	return process_id && !asks->wants_process(asks->context, process_id);
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
		if (is_unwanted(reader, bytes + sizeof(size), size)) {
			bytes += sizeof(size) + size;
			left -= sizeof(size) + size;
			continue;
		}
		status = batch_decode(reader->decoder, bytes + sizeof(size), size, &message);
		if (status == -ENOMEM)
			return status;
		if (status || message.type != MESSAGE_EVENTS)
			break;
		reader->sums->launches += message.events.nr_launches;
		reader->sums->records += message.events.nr_gpu;
		bytes += sizeof(size) + size;
		left -= sizeof(size) + size;
		status = reader->asks.take(reader->asks.context, &message.events);
		if (status)
			return status;
	}
	reader->sums->damaged += left > 0;
	return 0;
}

/* at: where the block's spans are. */
static int take_block(struct reader *reader, struct event_block_head *head, uint64_t at)
{
	const struct event_asks *asks = &reader->asks;
	const uint64_t spans_bytes = head->nr_spans * sizeof(*reader->spans);
	int error = asks->wants ? read_spans(reader, head, at) : 0;

	at += spans_bytes;
	reader->lost = head->lost_events;
	reader->sums->blocks++;
	if (error)
		return error;
	if (block_marks_have(&reader->marks, head->checksum)) {
		reader->sums->damaged++;
		return 0;
	}
	if (asks->wants && !asks->wants(asks->context, head, reader->spans))
		return block_marks_add(&reader->marks, head->checksum);
	if (!asks->take) {
		reader->sums->launches += head->nr_launches;
		reader->sums->records += head->nr_records;
		return block_marks_add(&reader->marks, head->checksum);
	}
	reader->sums->blocks_read++;
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
	/* A block whose bytes are damaged may have a sound copy. */
	error = block_marks_add(&reader->marks, head->checksum);
	if (error)
		return error;
	const uint8_t *plain = unpack(reader, head);
	return plain ? take_frames(reader, plain, head->plain_bytes) : 0;
}

/* ---- a file */

static bool is_magic(const uint8_t *bytes)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof(magic));
	return magic == EVENT_FORMAT_BLOCK || magic == EVENT_FORMAT_BLOCK_1;
}

/* Returns where bytes were written, from here on; the file's size: nowhere. A writer leaves no holes, so they are
 * damage, and may be far larger than any disk. */
static uint64_t skip_hole(const struct reader *reader, uint64_t at)
{
	const off_t data = lseek(reader->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? reader->size : at; /* there is none; or nobody knows */
	return (uint64_t)data;
}

/* Returns where the next sound head of a block is, from here on; the file's size: there is none. */
static uint64_t find_block(const struct reader *reader, uint64_t at)
{
	struct event_block_head head = {0};
	uint8_t window[WINDOW_BYTES];
	uint64_t searched = 0;

	while (at < reader->size && searched < SEARCH_BYTES) {
		at = skip_hole(reader, at);
		ssize_t got = pread(reader->fd, window, sizeof(window), (off_t)at);

		for (ssize_t i = 0; i + (ssize_t)sizeof(struct event_block_head_1) <= got; i++)
			if (is_magic(window + i) && take_head(window + i, (size_t)(got - i), &head))
				return at + (uint64_t)i;
		if (got < (ssize_t)sizeof(window))
			break;
		at += (uint64_t)got - sizeof(head) + 1;
		searched += (uint64_t)got;
	}
	return reader->size;
}

static int read_blocks(struct reader *reader, uint64_t at)
{
	struct event_block_head head = {0};
	uint8_t bytes[sizeof(head)];
	int status = 0;

	while (at < reader->size && status == 0) {
		const ssize_t got = pread(reader->fd, bytes, sizeof(bytes), (off_t)at);
		const uint32_t size = got > 0 ? take_head(bytes, (size_t)got, &head) : 0;

		if (!size) {
			reader->sums->damaged++;
			at = find_block(reader, at + 1);
			continue;
		}
		const uint64_t end =
			at + size + head.nr_spans * sizeof(*reader->spans) + head.stored_bytes;
		status = take_block(reader, &head, at + size);
		at = end;
	}
	return status;
}

enum begin { BEGIN_DAMAGED, BEGIN_OURS, BEGIN_FOREIGN, BEGIN_MISNAMED };

/* Reads a file's head of either version. *first: where the first block is. */
static enum begin read_begin(struct reader *reader, struct event_file_head *head, uint64_t *first)
{
	const uint8_t *profile = reader->asks.profile;
	struct event_file_head_1 old;

	if (!read_at(reader, &old, sizeof(old), 0) ||
	    memcmp(old.magic, EVENT_FORMAT_MAGIC, sizeof(old.magic)) != 0)
		return BEGIN_DAMAGED;
	if (old.version == 1 && old.checksum == EVENT_FORMAT_CHECKSUM(&old)) {
		if (old.number != reader->number)
			return BEGIN_MISNAMED;
		*head = (struct event_file_head){.dropped_files = old.dropped_files,
						 .dropped_events = old.dropped_events};
		*first = sizeof(old);
		reader->sums->nameless++;
		return BEGIN_OURS;
	}
	if (!read_at(reader, head, sizeof(*head), 0) || head->version != EVENT_FORMAT_VERSION ||
	    head->checksum != EVENT_FORMAT_CHECKSUM(head))
		return BEGIN_DAMAGED;
	*first = sizeof(*head);
	if (!profile || memcmp(head->profile, profile, EVENT_FORMAT_ID) != 0)
		return BEGIN_FOREIGN;
	return head->number == reader->number ? BEGIN_OURS : BEGIN_MISNAMED;
}

/* Reads an open file. */
static int read_regular(struct reader *reader, bool *begins)
{
	struct event_sums *sums = reader->sums;
	struct event_file_head head;
	const uint64_t damaged = sums->damaged;
	uint64_t first = 0;
	const enum begin begin = read_begin(reader, &head, &first);

	if (begin == BEGIN_FOREIGN) {
		sums->foreign++;
		return 0;
	}
	if (begin == BEGIN_MISNAMED) {
		sums->misnamed++;
		sums->misnamed_number = reader->number;
		return 0;
	}
	*begins = begin == BEGIN_OURS;
	sums->files++;
	sums->bytes += reader->size;
	sums->damaged += !*begins;
	if (*begins) { /* later files have the sums of earlier ones */
		sums->dropped_files = head.dropped_files;
		sums->dropped_events = head.dropped_events;
	}
	int error = read_blocks(reader, *begins ? first : find_block(reader, 0));
	if (sums->damaged > damaged && !sums->damaged_number)
		sums->damaged_number = reader->number;
	if (reader->lost > sums->lost_events)
		sums->lost_events = reader->lost;
	return error;
}

/* Nobody but the log's writer has a use for other files here, so none of them keeps its files from being read. */
static int read_file(struct reader *reader, int directory, const char *name, bool *begins)
{
	struct stat status;
	int error = 0;

	*begins = false;
	reader->lost = 0;
	reader->number = event_reader_number(name);
	if (!reader->number) {
		reader->sums->foreign++;
		return 0;
	}
	reader->fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (reader->fd < 0) {
		error = -errno;
		reader->sums->foreign += error == -ELOOP || error == -ENXIO;
		reader->sums->damaged += error == -EACCES || error == -EIO;
		/* A writer deletes its oldest files. */
		return error == -ENOMEM || error == -EMFILE || error == -ENFILE ? error : 0;
	}
	if (fstat(reader->fd, &status) == 0 && S_ISREG(status.st_mode)) {
		reader->size = (uint64_t)status.st_size;
		error = read_regular(reader, begins);
	} else {
		reader->sums->foreign++;
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
	free(reader->spans);
	block_marks_fini(&reader->marks);
}

/* 0 or -ENOMEM. Call fini() in either case. */
static int init(struct reader *reader, const struct event_asks *asks, struct event_sums *sums)
{
	char *error = NULL;

	*reader = (struct reader){.asks = *asks, .sums = sums, .fd = -1};
	if (!asks->take)
		return 0;
	if (zstd_library_open(&reader->zstd, &error) == 0)
		reader->decompressor = reader->zstd->create_decompressor();
	free(error);
	if (!reader->decompressor)
		reader->zstd = NULL;
	reader->decoder = batch_decoder_create();
	if (reader->decoder)
		batch_decoder_widen(reader->decoder);
	return reader->decoder ? 0 : -ENOMEM;
}

void event_reader_name(uint32_t number, char name[static EVENT_READER_NAME])
{
	snprintf(name, EVENT_READER_NAME, "%08" PRIu32 EVENT_FORMAT_SUFFIX, number);
}

uint32_t event_reader_number(const char *name)
{
	const unsigned long number = *name >= '0' && *name <= '9' ? strtoul(name, NULL, 10) : 0;
	char known[EVENT_READER_NAME];

	if (number == 0 || number >= UINT32_MAX)
		return 0;
	event_reader_name((uint32_t)number, known);
	return strcmp(name, known) == 0 ? (uint32_t)number : 0;
}

int event_reader_file(int directory, const char *name, const struct event_asks *asks,
		      struct event_sums *sums, bool *begins)
{
	struct reader reader;
	int error = init(&reader, asks, sums);

	if (!error)
		error = read_file(&reader, directory, name, begins);
	fini(&reader);
	return error;
}

static int is_file(const struct dirent *entry)
{
	const size_t suffix = strlen(EVENT_FORMAT_SUFFIX), size = strlen(entry->d_name);

	return size > suffix && !strcmp(entry->d_name + size - suffix, EVENT_FORMAT_SUFFIX);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	uint32_t left = event_reader_number((*a)->d_name),
		 right = event_reader_number((*b)->d_name);

	return (left > right) - (left < right);
}

/* Returns a descriptor or -errno. The folder may get its other name meanwhile. */
static int open_folder(const char *store_path, const uint8_t *profile)
{
	char path[PATH_MAX];
	int error, directory = -1;

	for (int i = 0; i < 2 && directory < 0; i++) {
		error = event_place_find(store_path, profile, path);
		if (error)
			return error;
		directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = -errno;
	}
	return directory < 0 ? error : directory;
}

int event_reader_read(const char *store_path, const struct event_asks *asks,
		      struct event_sums *sums)
{
	struct dirent **names = NULL;
	struct reader reader;
	bool begins;

	int directory = open_folder(store_path, asks->profile);
	if (directory < 0)
		return directory;
	int nr = scandirat(directory, ".", &names, is_file, by_number);
	if (nr < 0) {
		int error = -errno;

		close(directory);
		return error;
	}
	int error = init(&reader, asks, sums);
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

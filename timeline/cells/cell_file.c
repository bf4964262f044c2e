#include "cell_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell_bytes.h"
#include "cell_origin.h"
#include "process_shares.h"

#include "base/array.h"
#include "base/output_file.h"
#include "timeline/log/zstd_library.h"
#include "timeline/trace/timeline_source.h"

#define LEVEL 1 /* of zstd */

static size_t index_bytes(const struct cell_file_head *head)
{
	return (size_t)cell_format_nr_parts(head) * sizeof(struct cell_file_part);
}

/* ---- reading */

static bool is_sound(const struct cell_file_head *head, const struct timeline_source *source)
{
	const struct profile *profile = timeline_source_profile(source);

	return memcmp(head->magic, CELL_FORMAT_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == CELL_FORMAT_VERSION &&
	       head->checksum == EVENT_FORMAT_CHECKSUM(head) && head->nr_shares &&
	       head->nr_shares <= PROCESS_SHARES_MOST && head->nr_cells &&
	       head->nr_cells <= CELL_FORMAT_CELLS &&
	       memcmp(head->profile, profile->timeline_id, sizeof(head->profile)) == 0 &&
	       head->first_ns <= TIMELINE_SOURCE_NS_MAX && head->cell_ns &&
	       head->cell_ns <= TIMELINE_SOURCE_NS_MAX / head->nr_cells &&
	       (!head->nr_bins || head->cell_ns % head->nr_bins == 0) && head->origin &&
	       head->origin == cell_origin(source);
}

static bool is_whole(const struct cell_file *file)
{
	return pread(file->fd, file->parts, index_bytes(&file->head), sizeof(file->head)) ==
		       (ssize_t)index_bytes(&file->head) &&
	       checksum_add(0, file->parts, index_bytes(&file->head)) == file->head.index_checksum;
}

int cell_file_open(struct cell_file *file, const struct timeline_source *source)
{
	char path[PATH_MAX];
	int error = 0;

	*file = (struct cell_file){0};
	if (cell_origin_path(source, path))
		return 0;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_good = file->fd >= 0 &&
		       pread(file->fd, &file->head, sizeof(file->head), 0) ==
			       (ssize_t)sizeof(file->head) &&
		       is_sound(&file->head, source);
	if (is_good) {
		file->parts = malloc(index_bytes(&file->head));
		error = file->parts ? 0 : -ENOMEM;
		is_good = file->parts && is_whole(file);
	}
	if (!is_good) {
		close(file->fd);
		free(file->parts);
		*file = (struct cell_file){0};
	}
	return error;
}

void cell_file_close(struct cell_file *file)
{
	if (file->parts)
		close(file->fd);
	free(file->parts);
	*file = (struct cell_file){0};
}

uint64_t cell_file_at(const struct cell_file *file, uint32_t cell)
{
	return file->head.first_ns + cell * file->head.cell_ns;
}

uint32_t cell_file_of(const struct cell_file *file, uint64_t at_ns)
{
	const struct cell_file_head *head = &file->head;
	const uint64_t cell = at_ns > head->first_ns ? (at_ns - head->first_ns) / head->cell_ns : 0;

	return cell < head->nr_cells ? (uint32_t)cell : head->nr_cells;
}

bool cell_file_has(const struct cell_file *file, uint32_t cell)
{
	const struct cell_file_part *parts = &file->parts[cell_format_place(&file->head, cell, 0)];
	bool has = true;

	for (uint32_t i = 0; i < file->head.nr_shares; i++)
		has &= parts[i].stored_bytes > 0;
	return has;
}

void cell_file_find(const struct cell_file *file, uint64_t from_ns, uint64_t to_ns, uint32_t *begin,
		    uint32_t *end)
{
	uint32_t first = 0;

	*begin = *end = 0;
	for (uint32_t cell = 0; cell < file->head.nr_cells; cell++) {
		if (cell_file_at(file, cell) < from_ns || cell_file_at(file, cell + 1) > to_ns ||
		    !cell_file_has(file, cell)) {
			first = cell + 1;
		} else if (cell + 1 - first > *end - *begin) {
			*begin = first;
			*end = cell + 1;
		}
	}
}

/* ---- a part */

int cell_reader_init(struct cell_reader *reader, const struct cell_file *file)
{
	char *error = NULL;
	const int status = zstd_library_open(&reader->zstd, &error);

	free(error);
	*reader = (struct cell_reader){.file = file, .zstd = reader->zstd};
	if (status)
		return -EPROTO;
	reader->decompressor = reader->zstd->create_decompressor();
	return reader->decompressor ? 0 : -ENOMEM;
}

void cell_reader_fini(struct cell_reader *reader)
{
	if (reader->decompressor)
		reader->zstd->free_decompressor(reader->decompressor);
	free(reader->stored);
	free(reader->plain);
	*reader = (struct cell_reader){0};
}

int cell_reader_part(struct cell_reader *reader, uint32_t cell, uint32_t share,
		     const uint8_t **data, size_t *size)
{
	const struct cell_file *file = reader->file;
	const struct cell_file_part *part =
		&file->parts[cell_format_place(&file->head, cell, share)];

	if (part->plain_bytes > CELL_FORMAT_PLAIN || part->stored_bytes > 2 * CELL_FORMAT_PLAIN)
		return -EPROTO;
	if (array_reserve(&reader->stored, &reader->room_stored, part->stored_bytes, 1) ||
	    array_reserve(&reader->plain, &reader->room_plain, part->plain_bytes + 1ull, 1))
		return -ENOMEM;
	if (pread(file->fd, reader->stored, part->stored_bytes, (off_t)part->at) !=
		    (ssize_t)part->stored_bytes ||
	    checksum_add(0, reader->stored, part->stored_bytes) != part->checksum ||
	    reader->zstd->decompress(reader->decompressor, reader->plain, part->plain_bytes,
				     reader->stored, part->stored_bytes) != part->plain_bytes)
		return -EPROTO;
	*data = reader->plain;
	*size = part->plain_bytes;
	return 0;
}

/* ---- writing */

int cell_packer_init(struct cell_packer *packer)
{
	char *error = NULL;
	const int status = zstd_library_open(&packer->zstd, &error);

	free(error);
	packer->compressor = status ? NULL : packer->zstd->create_compressor();
	if (status)
		return status;
	return packer->compressor ? 0 : -ENOMEM;
}

void cell_packer_fini(struct cell_packer *packer)
{
	if (packer->compressor)
		packer->zstd->free_compressor(packer->compressor);
}

int cell_packer_pack(const struct cell_packer *packer, struct cell_bytes *bytes,
		     struct cell_file_part *part)
{
	const size_t bound = packer->zstd->bound(bytes->size);
	uint8_t *stored = bytes->size > CELL_FORMAT_PLAIN ? NULL : malloc(bound);

	if (!stored)
		return bytes->size > CELL_FORMAT_PLAIN ? -E2BIG : -ENOMEM;
	const size_t size = packer->zstd->compress(packer->compressor, stored, bound, bytes->data,
						   bytes->size, LEVEL);
	uint8_t *less = packer->zstd->is_error(size) ? NULL : realloc(stored, size);
	if (!less) {
		free(stored);
		return -ENOMEM;
	}
	*part = (struct cell_file_part){.stored_bytes = (uint32_t)size,
					.plain_bytes = bytes->size,
					.checksum = checksum_add(0, less, size)};
	free(bytes->data);
	*bytes = (struct cell_bytes){less, (uint32_t)size, (uint32_t)size};
	return 0;
}

static int put_all(FILE *stream, const struct cell_file_head *head,
		   const struct cell_file_part *parts, const struct cell_bytes *bytes)
{
	bool is_written = fwrite(head, sizeof(*head), 1, stream) == 1 &&
			  fwrite(parts, index_bytes(head), 1, stream) == 1;

	for (uint32_t i = 0; i < cell_format_nr_parts(head) && is_written; i++)
		is_written =
			bytes[i].size == 0 || fwrite(bytes[i].data, bytes[i].size, 1, stream) == 1;
	return is_written && fflush(stream) == 0 ? 0 : -errno;
}

int cell_file_create(struct output_file *file, const struct timeline_source *source,
		     char path[static PATH_MAX])
{
	const int error = cell_origin_path(source, path);
	struct stat status;

	if (error)
		return error;
	/* A pipe would be written in place, and wait for a reader. */
	if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode) &&
	    !S_ISDIR(status.st_mode))
		return -EEXIST;
	return output_file_open(file, path, OUTPUT_FILE_REPLACES, 0600);
}

int cell_file_write(struct output_file *file, const struct timeline_source *source,
		    struct cell_file_head *head, struct cell_file_part *parts,
		    const struct cell_bytes *bytes, int result)
{
	uint64_t at = sizeof(*head) + index_bytes(head);

	if (result < 0)
		return output_file_close(file, result);
	for (uint32_t i = 0; i < cell_format_nr_parts(head); i++) {
		parts[i].at = at;
		at += parts[i].stored_bytes;
	}
	memcpy(head->magic, CELL_FORMAT_MAGIC, sizeof(head->magic));
	memcpy(head->profile, timeline_source_profile(source)->timeline_id, sizeof(head->profile));
	head->version = CELL_FORMAT_VERSION;
	head->index_checksum = checksum_add(0, parts, index_bytes(head));
	head->checksum = EVENT_FORMAT_CHECKSUM(head);
	return output_file_close(file, put_all(file->stream, head, parts, bytes));
}

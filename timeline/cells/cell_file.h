/* Reads and writes the file of sums by cells (cell_format.h). It may be damaged or hostile: what is not sound is not
 * used. A file that is open is used by several threads, each with a reader of its own. */
#ifndef CELL_FILE_H
#define CELL_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "cell_format.h"

struct cell_bytes;
struct output_file;
struct timeline_source;
struct zstd_library;

struct cell_file { /* zeroed: there are no sums */
	int fd;    /* owns, if there are parts */
	struct cell_file_head head;
	struct cell_file_part *parts; /* owns; by cell_format_place(); NULL: there are no sums */
};

/* Opens the sums of the source's log. Without a sound file of just that log, the result has no cells. 0 or -ENOMEM.
 * Call cell_file_close() in either case. */
int cell_file_open(struct cell_file *file, const struct timeline_source *source);
void cell_file_close(struct cell_file *file);

/* Finds the longest run of cells within [from_ns, to_ns) that all have sums. *end is behind the last one; both are 0:
 * there is none. */
void cell_file_find(const struct cell_file *file, uint64_t from_ns, uint64_t to_ns, uint32_t *begin,
		    uint32_t *end);

/* Returns whether a cell has sums. */
bool cell_file_has(const struct cell_file *file, uint32_t cell);

/* Returns the cell in which a time is; nr_cells: it is behind all of them. Before them it is the first one. */
uint32_t cell_file_of(const struct cell_file *file, uint64_t at_ns);

/* Returns when a cell begins; of nr_cells: when the last one ends. */
uint64_t cell_file_at(const struct cell_file *file, uint32_t cell);

struct cell_reader {                     /* one thread */
	const struct cell_file *file;    /* borrowed */
	const struct zstd_library *zstd; /* borrowed */
	void *decompressor;              /* owns */
	uint8_t *stored, *plain;         /* owns */
	uint32_t room_stored, room_plain;
};

/* 0; -EPROTO: there is no libzstd; -ENOMEM. Call cell_reader_fini() in either case. */
int cell_reader_init(struct cell_reader *reader, const struct cell_file *file);
void cell_reader_fini(struct cell_reader *reader);

/* share: nr_shares: the strips. *data: the part's bytes, borrowed until the next call. 0; -EPROTO: damaged, or there
 * are none; -ENOMEM. */
int cell_reader_part(struct cell_reader *reader, uint32_t cell, uint32_t share,
		     const uint8_t **data, size_t *size);

struct cell_packer {                     /* one thread */
	const struct zstd_library *zstd; /* borrowed */
	void *compressor;                /* owns */
};

/* 0; -ENOPKG: there is no libzstd; -ENOMEM. Call cell_packer_fini() in either case. */
int cell_packer_init(struct cell_packer *packer);
void cell_packer_fini(struct cell_packer *packer);

/* Compresses a part's bytes in place, and describes them in *part, but for part->at. 0; -E2BIG: they are too many;
 * -ENOMEM. */
int cell_packer_pack(const struct cell_packer *packer, struct cell_bytes *bytes,
		     struct cell_file_part *part);

/* Begins a file, before it is known what is in it, so that nothing is made that nobody can keep. 0; -EEXIST: a pipe or
 * device is there; or -errno. path: for its path, as long as the file is open. */
int cell_file_create(struct output_file *file, const struct timeline_source *source,
		     char path[static PATH_MAX]);

/* Writes and closes it. head: nr_shares, nr_cells, nr_bins, origin, first_ns and cell_ns are set; the rest is filled
 * in. parts, bytes: by cell_format_place(), as cell_packer_pack() made them; all zeroes: there are no sums. result:
 * negative: nothing is written. Returns that, or 0 or -errno: what was there is as before. */
int cell_file_write(struct output_file *file, const struct timeline_source *source,
		    struct cell_file_head *head, struct cell_file_part *parts,
		    const struct cell_bytes *bytes, int result);

#endif

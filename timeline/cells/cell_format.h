/* The sums of a timeline by cells of time, in a file beside the store: STORE.cells. They are made of the event log, and
 * can be made again. The file is a head, an index, and parts, which zstd has compressed. A cell has a part for each
 * share of the processes, with the sums of their GPU work that begins in the cell (cell_part.h), and one of what the
 * devices did in the cell, for strips (strip_cells.h). Everything is little-endian, and has a checksum. Plain data. */
#ifndef CELL_FORMAT_H
#define CELL_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline/log/event_format.h"

#define CELL_FORMAT_SUFFIX  ".cells" /* behind the store's path */
#define CELL_FORMAT_MAGIC   "fgcells"
#define CELL_FORMAT_VERSION 3u
#define CELL_FORMAT_CELLS   65536u      /* of a file at most */
#define CELL_FORMAT_PLAIN   (64u << 20) /* bytes of a part at most */

struct cell_file_head {
	char magic[8];
	uint32_t version, nr_shares;
	uint32_t nr_cells, nr_bins;       /* of a cell's strips; 0: they have none */
	uint8_t profile[EVENT_FORMAT_ID]; /* the store's (store_timeline_id()) */
	uint64_t origin;                  /* of what they were made (cell_origin.h) */
	uint64_t first_ns,
		cell_ns; /* on the common clock: when cell 0 begins, and how long each is */
	uint64_t index_checksum, checksum; /* of what is before it */
};

/* Why a share of a cell has no sums. */
enum cell_format_lack {
	CELL_FORMAT_LATE = 1, /* the launch of its work came in a later cell */
	CELL_FORMAT_GONE =
		2, /* a launch of its work may have been there, and had no room until the work came */
};

/* The index has one for each cell and share (process_shares.h), by cell and then by share. Behind its shares a cell has
 * that of its strips. */
struct cell_file_part {
	uint64_t at;           /* in the file */
	uint32_t stored_bytes; /* 0: it would not be exact, so there is none */
	uint32_t plain_bytes;  /* without stored ones: enum cell_format_lack */
	uint64_t checksum;     /* of the stored bytes */
	/* On the common clock: the first launch of the share's work in the cell; UINT64_MAX: none has one. Work without
	 * a launch from then on has none in all of the log. */
	uint64_t launches_ns;
};

static inline uint32_t cell_format_nr_parts(const struct cell_file_head *head)
{
	return head->nr_cells * (head->nr_shares + 1);
}

/* Returns the index of the part of a share; of nr_shares: of the strips. */
static inline uint32_t cell_format_place(const struct cell_file_head *head, uint32_t cell,
					 uint32_t share)
{
	return cell * (head->nr_shares + 1) + share;
}

static_assert(sizeof(struct cell_file_head) == 80 && sizeof(struct cell_file_part) == 32,
	      "format of the file");

#endif

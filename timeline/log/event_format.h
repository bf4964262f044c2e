/* The files of an event log, in a folder beside the store: NUMBER.events, the oldest with the lowest number. A file is
 * a head and blocks. A block's bytes, once decompressed, are EVENTS frames (wire.md), each behind its size of 32 bits.
 * Their ids are the store's. Everything is little-endian. Each part has a checksum, so that damage to one leaves the
 * others. Plain data. */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/checksum.h"

#define EVENT_FORMAT_FOLDER  ".timeline" /* behind the store's path */
#define EVENT_FORMAT_SUFFIX  ".events"
#define EVENT_FORMAT_MAGIC   "fgevents"
#define EVENT_FORMAT_VERSION 1u
#define EVENT_FORMAT_BLOCK   0x4b4c4267u /* "gBLK" */
#define EVENT_FORMAT_PLAIN   (4u << 20)  /* bytes of a block's frames at most */
#define EVENT_FORMAT_STORED  (5u << 20)  /* bytes of a block in the file at most */

enum event_format_codec {
	EVENT_FORMAT_COPY = 0, /* as they are: no libzstd was there */
	EVENT_FORMAT_ZSTD = 1,
};

struct event_file_head {
	char magic[8];
	uint32_t version, number;
	/* of files that were deleted before this one began, because the log was full or they were too old */
	uint64_t dropped_files, dropped_events;
	uint64_t checksum; /* of what is before it */
};

struct event_block_head {
	uint32_t magic, codec;
	uint32_t plain_bytes, stored_bytes;
	uint32_t nr_launches, nr_records;
	uint64_t lost_events;   /* by this writer so far, because they could not be written */
	uint64_t data_checksum; /* of the stored bytes, which follow */
	uint64_t checksum;      /* of what is before it */
};

static_assert(sizeof(struct event_file_head) == 40 && sizeof(struct event_block_head) == 48,
	      "format of the file");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

#define EVENT_FORMAT_CHECKSUM(head) checksum_add(0, head, offsetof(__typeof__(*(head)), checksum))

#endif

/* The files of an event log, in a folder beside the store: NUMBER.events, with eight digits at least, the oldest with
 * the lowest number. A file is a head, which has the same number, and blocks, without holes between them. A block is a
 * head, its spans, and its bytes. These bytes, once decompressed, are EVENTS frames (wire.md), each behind its size of
 * 32 bits. Their ids are the store's, and may be above WIRE_ID_MAX. Everything is little-endian. Each part has a
 * checksum, so that damage to one leaves the others. Plain data. */
#ifndef EVENT_FORMAT_H
#define EVENT_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/checksum.h"

#define EVENT_FORMAT_FOLDER  ".timeline" /* behind the store's path */
#define EVENT_FORMAT_SUFFIX  ".events"
#define EVENT_FORMAT_MAGIC   "fgevents"
#define EVENT_FORMAT_VERSION 2u
#define EVENT_FORMAT_BLOCK   0x324b4c42u /* "BLK2" */
#define EVENT_FORMAT_SPANS   4096u       /* of a block at most */
#define EVENT_FORMAT_ID      16u         /* bytes of a profile's id */
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
	uint8_t profile
		[EVENT_FORMAT_ID]; /* the store's (store_timeline_id()): all ids are of that store */
	uint64_t checksum;         /* of what is before it */
};

/* Version 1, which is still read. It does not say whose events these are, nor when they were. */
struct event_file_head_1 {
	char magic[8];
	uint32_t version, number;
	uint64_t dropped_files, dropped_events;
	uint64_t checksum;
};

struct event_block_head {
	uint32_t magic, codec;
	uint32_t plain_bytes, stored_bytes;
	uint32_t nr_launches, nr_records;
	uint32_t nr_spans, nr_marks; /* marks: of the launches (RECORD_LAUNCH_MARK) */
	uint64_t lost_events;        /* by this writer so far, because they could not be written */
	uint64_t spans_checksum;     /* of the spans, which follow */
	uint64_t data_checksum;      /* of the stored bytes, which follow the spans */
	uint64_t checksum;           /* of what is before it */
};

#define EVENT_FORMAT_BLOCK_1 0x4b4c4267u /* "gBLK": without spans */

struct event_block_head_1 {
	uint32_t magic, codec;
	uint32_t plain_bytes, stored_bytes;
	uint32_t nr_launches, nr_records;
	uint64_t lost_events;
	uint64_t data_checksum;
	uint64_t checksum;
};

/* When the events of one process were, by CLOCK_MONOTONIC of its host. A block has one for each of its processes.
 * Records of processes whose clock was never compared do not count. */
struct event_span {
	uint32_t process_id;
	uint32_t marks;             /* EVENT_SPAN_…; the bits below are their number */
	uint64_t first_ns, last_ns; /* first_ns above last_ns: the block has no time of it */
};

#define EVENT_SPAN_KNOWN   (1u << 31) /* the next bit says it: earlier writers did not */
#define EVENT_SPAN_WINDOWS (1u << 30) /* some marks are of capture windows (RECORD_MARK_WINDOW) */
#define EVENT_SPAN_MARKS   (EVENT_SPAN_WINDOWS - 1)

static_assert(sizeof(struct event_file_head) == 56 && sizeof(struct event_block_head) == 64 &&
		      sizeof(struct event_span) == 24 && sizeof(struct event_file_head_1) == 40 &&
		      sizeof(struct event_block_head_1) == 48,
	      "format of the file");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

#define EVENT_FORMAT_CHECKSUM(head) checksum_add(0, head, offsetof(__typeof__(*(head)), checksum))

#endif

/* Reads the elements of a checked frame one after the other. Part of batch_decode. The first fault is kept, and every
 * later read returns 0 or nothing. So callers check for a fault only before they act on values. `name` names the
 * element in the fault's text. One thread. */
#ifndef BATCH_READER_H
#define BATCH_READER_H

#include <msgpack.h>
#include <stdint.h>

#include "column.h"
#include "event_fields.h"
#include "message.h"

struct batch_fault {
	int err; /* 0: none yet */
	const char *message_name;
	char text[160];
};

/* Keeps the fault unless an earlier one is kept. */
void batch_fault_set(struct batch_fault *fault, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* One array. Text and bytes are borrowed from the frame. */
struct batch_reader {
	struct batch_fault *fault;
	const msgpack_object *next;
	uint32_t nr_left;
};

/* Each function reads the next element. The fault is -EBADMSG where that is missing, of another type, or outside
 * [min, max]. */
uint64_t batch_reader_uint(struct batch_reader *reader, const char *name, uint64_t min,
			   uint64_t max);
uint32_t batch_reader_u32(struct batch_reader *reader, const char *name);
uint64_t batch_reader_u64(struct batch_reader *reader, const char *name);
int64_t batch_reader_int(struct batch_reader *reader, const char *name, int64_t min, int64_t max);

/* A count or an id; above max the fault is -EMSGSIZE. */
uint32_t batch_reader_limited(struct batch_reader *reader, const char *name, uint32_t max);

/* Elements of many messages: an id up to WIRE_ID_MAX; a process's id and a sequence number, which are never 0; a rank
 * or an index, -1 or more. */
uint32_t batch_reader_id(struct batch_reader *reader, const char *name);
uint32_t batch_reader_process_id(struct batch_reader *reader);
uint64_t batch_reader_seq(struct batch_reader *reader);
int32_t batch_reader_rank(struct batch_reader *reader, const char *name);

/* Reads no element. Checks that `count` ids from base on are valid: base was read before as `name`. The faults are
 * -EBADMSG and -EMSGSIZE. */
void batch_reader_check_base(struct batch_reader *reader, const char *name, uint32_t base,
			     uint32_t count);

/* Copy a bin: of exactly size bytes; or of at most max bytes (more: -EMSGSIZE), returning its size. */
void batch_reader_bytes(struct batch_reader *reader, const char *name, uint8_t *out, uint32_t size);
uint32_t batch_reader_bin(struct batch_reader *reader, const char *name, uint8_t *out,
			  uint32_t max);

/* Borrow text, or the whole of a bin (*bytes is NULL where it has none), from the frame. */
struct message_text batch_reader_text(struct batch_reader *reader, const char *name);
uint32_t batch_reader_borrow(struct batch_reader *reader, const char *name, const uint8_t **bytes);
struct batch_reader batch_reader_array(struct batch_reader *reader, const char *name);

/* Decodes a column in any of its forms. A value above target->max is -EMSGSIZE for ids (max is WIRE_ID_MAX), else
 * -EBADMSG. */
void batch_reader_column(struct batch_reader *reader, const char *name,
			 const struct column_target *target);

/* Decodes one column for each of these fields into count rows, row_bytes apart. rows is NULL where count is 0. */
void batch_reader_rows(struct batch_reader *reader, const struct event_field *fields,
		       uint32_t nr_fields, void *rows, size_t row_bytes, uint32_t count);

#endif

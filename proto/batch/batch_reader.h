/* Reads the elements of a checked frame one after the other, for batch_decode and its parts alone. The first
 * fault is kept and makes everything read after it 0 or empty, so that callers look at it only
 * where they would act on what they read. `name` is what a fault says was wrong. One thread. */
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

/* Keeps the fault unless there is one. */
void batch_fault_set(struct batch_fault *fault, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* One array. What the elements refer to is borrowed from the frame. */
struct batch_reader {
	struct batch_fault *fault;
	const msgpack_object *next;
	uint32_t nr_left;
};

/* Each takes the next element. -EBADMSG: missing, of another type, or out of [min, max]. */
uint64_t batch_reader_uint(struct batch_reader *reader, const char *name, uint64_t min,
			   uint64_t max);
uint32_t batch_reader_u32(struct batch_reader *reader, const char *name);
uint64_t batch_reader_u64(struct batch_reader *reader, const char *name);
int64_t batch_reader_int(struct batch_reader *reader, const char *name, int64_t min, int64_t max);

/* A count or an id: above max it is -EMSGSIZE. */
uint32_t batch_reader_limited(struct batch_reader *reader, const char *name, uint32_t max);

/* What many messages have: an id up to WIRE_ID_MAX, a process's id or a sequence number, neither ever 0, and a rank or
 * an index from -1 on. */
uint32_t batch_reader_id(struct batch_reader *reader, const char *name);
uint32_t batch_reader_process_id(struct batch_reader *reader);
uint64_t batch_reader_seq(struct batch_reader *reader);
int32_t batch_reader_rank(struct batch_reader *reader, const char *name);

/* Takes nothing. Whether `count` ids from base on, which was read before as name, are ids: else -EBADMSG, -EMSGSIZE. */
void batch_reader_check_base(struct batch_reader *reader, const char *name, uint32_t base,
			     uint32_t count);

/* Copies a bin: of exactly size bytes, or of up to max (-EMSGSIZE: more), returning its size. */
void batch_reader_bytes(struct batch_reader *reader, const char *name, uint8_t *out, uint32_t size);
uint32_t batch_reader_bin(struct batch_reader *reader, const char *name, uint8_t *out,
			  uint32_t max);

struct message_text batch_reader_text(struct batch_reader *reader, const char *name);
struct batch_reader batch_reader_array(struct batch_reader *reader, const char *name);

/* Decodes a column in any of its forms. A value above target->max is -EMSGSIZE for ids (max
 * WIRE_ID_MAX), else -EBADMSG. */
void batch_reader_column(struct batch_reader *reader, const char *name,
			 const struct column_target *target);

/* A column each for these fields of count rows, row_bytes apart. rows is NULL where there are none. */
void batch_reader_rows(struct batch_reader *reader, const struct event_field *fields,
		       uint32_t nr_fields, void *rows, size_t row_bytes, uint32_t count);

#endif

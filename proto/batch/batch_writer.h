/* Writes the elements of a frame one after the other. Part of batch_encode. The first error is kept, and later writes
 * do nothing; the encoder checks it at the end. One thread. */
#ifndef BATCH_WRITER_H
#define BATCH_WRITER_H

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

#include "column.h"
#include "event_fields.h"
#include "message.h"

struct batch_writer {
	/* writes to frame; points to this struct, which must not move */
	msgpack_packer packer;
	uint8_t *frame; /* owns */
	size_t size, capacity;
	uint8_t *packed; /* owns; one column */
	size_t packed_capacity;
	uint32_t nr_elements; /* so far, as frame_check() counts them */
	int err;              /* -EINVAL, -EMSGSIZE, -ENOMEM */
	bool wide_ids;        /* batch_encoder_widen() */
};

void batch_writer_init(struct batch_writer *writer);
void batch_writer_fini(struct batch_writer *writer);
/* Begins an empty frame without error, and keeps the memory. */
void batch_writer_restart(struct batch_writer *writer);

void batch_writer_fail(struct batch_writer *writer, int err);
void batch_writer_require(struct batch_writer *writer, bool allowed); /* else -EINVAL */

/* -EMSGSIZE: over a limit of message.h. */
void batch_writer_array(struct batch_writer *writer, uint32_t nr_elements);
void batch_writer_uint(struct batch_writer *writer, uint64_t value);
void batch_writer_int(struct batch_writer *writer, int64_t value);
void batch_writer_bin(struct batch_writer *writer, const void *bytes, size_t size);
void batch_writer_text(struct batch_writer *writer, const struct message_text *text);
void batch_writer_column(struct batch_writer *writer, const struct column_source *source);

/* Elements of many messages. -EMSGSIZE: an id above WIRE_ID_MAX, `count` ids of which the last is above it, or a count
 * above max. -EINVAL: a sequence number of 0, or a first id of 0 where count is not 0. */
void batch_writer_id(struct batch_writer *writer, uint32_t id);
void batch_writer_base(struct batch_writer *writer, uint32_t base, uint32_t count);
void batch_writer_count(struct batch_writer *writer, uint32_t count, uint32_t max);
void batch_writer_seq(struct batch_writer *writer, uint64_t seq);

/* The error of a value that is above its field's maximum: -EMSGSIZE for an id, else -EINVAL. */
void batch_writer_fail_field(struct batch_writer *writer, const struct event_field *field);

/* Writes one column for each of these fields of count rows, row_bytes apart. */
void batch_writer_rows(struct batch_writer *writer, const struct event_field *fields,
		       uint32_t nr_fields, const void *rows, size_t row_bytes, uint32_t count);

/* Makes *memory (NULL or from malloc) at least size bytes large; its contents stay. false: out of memory, and nothing
 * changed. */
bool batch_writer_grow(void **memory, size_t *capacity, size_t size);

#endif

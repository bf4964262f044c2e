/* Writes the elements of a frame one after the other, for batch_encode alone. The first error is
 * kept and makes everything written after it vain; the encoder looks at it in the end. One thread.
 */
#ifndef BATCH_WRITER_H
#define BATCH_WRITER_H

#include <msgpack.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/column.h"
#include "proto/message.h"

struct batch_writer {
	msgpack_packer
		packer; /* writes to frame; refers to this struct, which must stay where it is */
	uint8_t *frame; /* owns */
	size_t size, capacity;
	uint8_t *packed; /* owns; one column */
	size_t packed_capacity;
	uint32_t nr_elements; /* so far, as frame_check() counts them */
	int err;              /* -EINVAL, -EMSGSIZE, -ENOMEM */
};

void batch_writer_init(struct batch_writer *writer);
void batch_writer_fini(struct batch_writer *writer);
void batch_writer_restart(
	struct batch_writer *writer); /* an empty frame without error; keeps the memory */

void batch_writer_fail(struct batch_writer *writer, int err);
void batch_writer_require(struct batch_writer *writer, bool allowed); /* else -EINVAL */

/* -EMSGSIZE: over a limit of message.h. */
void batch_writer_array(struct batch_writer *writer, uint32_t nr_elements);
void batch_writer_uint(struct batch_writer *writer, uint64_t value);
void batch_writer_int(struct batch_writer *writer, int64_t value);
void batch_writer_bin(struct batch_writer *writer, const void *bytes, size_t size);
void batch_writer_text(struct batch_writer *writer, const struct message_text *text);
void batch_writer_column(struct batch_writer *writer, const struct column_source *source);

/* Makes *memory (NULL or of malloc) at least size bytes large; its contents stay. false: out of
 * memory, nothing changed. */
bool batch_writer_grow(void **memory, size_t *capacity, size_t size);

#endif

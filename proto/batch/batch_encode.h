/* Encodes messages to frames. One encoder is used by one thread; it keeps its buffers between calls. */
#ifndef BATCH_ENCODE_H
#define BATCH_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct batch_encoder;

/* NULL: out of memory. batch_encoder_destroy() accepts NULL. */
struct batch_encoder *batch_encoder_create(void);
void batch_encoder_destroy(struct batch_encoder *encoder);

/* Encodes *message. *frame is borrowed until the next call on this encoder. batch_decode() accepts every frame that it
 * makes. 0; -EINVAL: an unknown or reserved type, or a value that wire.md excludes (a sequence number 0, a node whose
 * parent's id is not below its own, GPU times that are zero or reversed, an unknown kind); -EMSGSIZE: over a limit of
 * message.h (the caller splits; nothing is cut); -ENOMEM. On error *frame is NULL and *size 0. */
int batch_encode(struct batch_encoder *encoder, const struct message *message,
		 const uint8_t **frame, size_t *size);

/* Allows ids of events up to UINT32_MAX, as a store has them; for files, which batch_decoder_widen() reads. */
void batch_encoder_widen(struct batch_encoder *encoder);

#endif

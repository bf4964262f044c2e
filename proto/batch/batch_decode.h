/* Decodes frames to messages. A hostile frame causes no crash, but an error that says where the fault is. Memory is
 * bounded: 24 bytes for each MessagePack element (at most WIRE_ELEMENTS_MAX) during the call, and the decoded structs
 * (at most WIRE_EVENTS_MAX or WIRE_ITEMS_MAX), which the decoder keeps for the next call. Text is not copied.
 * One decoder is used by one thread. */
#ifndef BATCH_DECODE_H
#define BATCH_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct batch_decoder;

/* NULL: out of memory. batch_decoder_destroy() accepts NULL. */
struct batch_decoder *batch_decoder_create(void);
void batch_decoder_destroy(struct batch_decoder *decoder);

/* Takes ids of events above WIRE_ID_MAX, too (batch_encoder_widen()). */
void batch_decoder_widen(struct batch_decoder *decoder);

/* Checks (frame_check) and decodes one frame. Everything in *message is borrowed until the next call on this decoder,
 * or until the frame is freed. Unknown trailing elements are ignored.
 * 0; -EPROTONOSUPPORT: an unknown or reserved type (message->type is set: count it and go on), or a version other than
 * message_version(); -EBADMSG: malformed; -EMSGSIZE: over a limit; -ENOMEM.
 * On error batch_decoder_error() says what is wrong and where, and *message is zero but for the type. */
int batch_decode(struct batch_decoder *decoder, const uint8_t *frame, size_t size,
		 struct message *message);

/* Returns the type that a frame names, unchecked, without a look at the rest; 0: only batch_decode() can tell. */
enum message_type batch_frame_type(const uint8_t *frame, size_t size);

/* Returns the process of an EVENTS frame in the same way; 0: only batch_decode() can tell. */
uint32_t batch_frame_process(const uint8_t *frame, size_t size);

/* One line about the last error, borrowed until the next call; "" after success. */
const char *batch_decoder_error(const struct batch_decoder *decoder);

#endif

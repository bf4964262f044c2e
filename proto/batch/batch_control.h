/* Encodes and decodes CONTROL messages. Part of batch_encode and batch_decode; nobody else includes it. */
#ifndef BATCH_CONTROL_H
#define BATCH_CONTROL_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "batch_writer.h"
#include "message.h"

void batch_encode_control(struct batch_writer *writer, const struct message_control *control);
void batch_decode_control(struct batch_rooms *rooms, struct batch_reader *reader,
			  struct message_control *control);

#endif

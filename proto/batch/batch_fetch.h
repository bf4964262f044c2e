/* Encodes and decodes FETCH messages. Part of batch_encode and batch_decode; nobody else includes it. */
#ifndef BATCH_FETCH_H
#define BATCH_FETCH_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "batch_writer.h"
#include "message.h"

void batch_encode_fetch(struct batch_writer *writer, const struct message_fetch *fetch);
void batch_decode_fetch(struct batch_rooms *rooms, struct batch_reader *reader,
			struct message_fetch *fetch);

#endif

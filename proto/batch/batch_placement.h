/* Encodes and decodes PLACEMENT messages. Part of batch_encode and batch_decode; nobody else includes it. */
#ifndef BATCH_PLACEMENT_H
#define BATCH_PLACEMENT_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "batch_writer.h"
#include "message.h"

void batch_encode_placement(struct batch_writer *writer, const struct message_placement *placement);
void batch_decode_placement(struct batch_rooms *rooms, struct batch_reader *reader,
			    struct message_placement *placement);

#endif

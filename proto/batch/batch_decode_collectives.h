/* Frames to COLLECTIVES messages; part of batch_decode. */
#ifndef BATCH_DECODE_COLLECTIVES_H
#define BATCH_DECODE_COLLECTIVES_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "message.h"

/* Everything behind type and version; the lists lie in the rooms. Errors are in reader->fault. */
void batch_decode_collectives(struct batch_rooms *rooms, struct batch_reader *reader,
			      struct message_collectives *message);

#endif

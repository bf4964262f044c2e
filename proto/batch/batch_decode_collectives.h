/* Decodes COLLECTIVES messages. Part of batch_decode. One thread. */
#ifndef BATCH_DECODE_COLLECTIVES_H
#define BATCH_DECODE_COLLECTIVES_H

#include "batch_reader.h"
#include "batch_rooms.h"
#include "message.h"

/* Reads what follows the version. The lists lie in *rooms. On a fault of the reader *message is undefined. */
void batch_decode_collectives(struct batch_rooms *rooms, struct batch_reader *reader,
			      struct message_collectives *message);

#endif

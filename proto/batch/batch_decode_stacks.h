/* Decodes STACKS messages. Part of batch_decode. One thread. */
#ifndef BATCH_DECODE_STACKS_H
#define BATCH_DECODE_STACKS_H

#include "batch_reader.h"
#include "batch_rooms.h"

/* Reads what follows the version. The lists lie in *rooms. On a fault of the reader *stacks is undefined. */
void batch_decode_stacks(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message_stacks *stacks);

#endif

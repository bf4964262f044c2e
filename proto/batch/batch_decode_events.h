/* Decodes EVENTS messages. Part of batch_decode. One thread. */
#ifndef BATCH_DECODE_EVENTS_H
#define BATCH_DECODE_EVENTS_H

#include "batch_reader.h"
#include "batch_rooms.h"

/* Reads what follows the version. The records lie in *rooms. On a fault of the reader *events is undefined. */
void batch_decode_events(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message_events *events);

#endif

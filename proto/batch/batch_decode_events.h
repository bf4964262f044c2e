/* An EVENTS message's elements to records; part of batch_decode. One thread. */
#ifndef BATCH_DECODE_EVENTS_H
#define BATCH_DECODE_EVENTS_H

#include "batch_reader.h"
#include "batch_rooms.h"

/* Reads what follows the version. The records lie in *rooms. Faults are the reader's; *events is then undefined. */
void batch_decode_events(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message_events *events);

#endif

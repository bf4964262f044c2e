/* Encodes COLLECTIVES messages. Part of batch_encode. One thread. */
#ifndef BATCH_ENCODE_COLLECTIVES_H
#define BATCH_ENCODE_COLLECTIVES_H

#include "batch_writer.h"
#include "message.h"

/* Writes what follows the version. Errors are the writer's. */
void batch_encode_collectives(struct batch_writer *writer,
			      const struct message_collectives *message);

#endif

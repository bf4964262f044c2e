/* COLLECTIVES messages to frames; part of batch_encode. */
#ifndef BATCH_ENCODE_COLLECTIVES_H
#define BATCH_ENCODE_COLLECTIVES_H

#include "batch_writer.h"
#include "message.h"

/* Everything behind type and version. Errors are in writer->err. */
void batch_encode_collectives(struct batch_writer *writer,
			      const struct message_collectives *message);

#endif

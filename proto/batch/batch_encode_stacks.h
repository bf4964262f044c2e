/* Encodes STACKS messages. Part of batch_encode. One thread. */
#ifndef BATCH_ENCODE_STACKS_H
#define BATCH_ENCODE_STACKS_H

#include "batch_writer.h"

/* Writes what follows the version. Errors are the writer's. */
void batch_encode_stacks(struct batch_writer *writer, const struct message_stacks *stacks);

#endif

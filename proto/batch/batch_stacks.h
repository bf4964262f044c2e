/* Encodes and decodes STACKS messages. Part of batch_encode and batch_decode; nobody else includes it. */
#ifndef BATCH_STACKS_H
#define BATCH_STACKS_H

#include "batch_list.h"

void batch_encode_stacks(struct batch_writer *writer, const struct message *message);
void batch_decode_stacks(struct batch_rooms *rooms, struct batch_reader *reader,
			 struct message *message);

#endif

/* Encodes and decodes PAGES (wire.md). Part of batch_encode and batch_decode; nobody else includes it. */
#ifndef BATCH_PAGES_H
#define BATCH_PAGES_H

#include "batch_list.h"

void batch_encode_pages(struct batch_writer *writer, const struct message *message);
void batch_decode_pages(struct batch_rooms *rooms, struct batch_reader *reader,
			struct message *message);

#endif

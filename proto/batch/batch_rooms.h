/* A decoder's memory for the structs of a message. It is kept between frames, as large as the largest needed. Part of
 * batch_decode. One thread. */
#ifndef BATCH_ROOMS_H
#define BATCH_ROOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch_reader.h"

#define BATCH_ROOMS 6u /* a message has at most this many lists of structs */

/* Embedded; zeroed memory is empty. */
struct batch_rooms {
	struct {
		void *memory; /* owns */
		size_t size;
	} rooms[BATCH_ROOMS];
	bool wide_ids; /* batch_decoder_widen() */
};

void batch_rooms_fini(struct batch_rooms *rooms);

/* Room number index for count structs of size_bytes each, with undefined contents; borrowed until the next call with
 * this index. NULL: count is 0, or there is a fault: an earlier one, or -ENOMEM now. */
void *batch_rooms_get(struct batch_rooms *rooms, struct batch_fault *fault, uint32_t index,
		      uint32_t count, size_t size_bytes);

#endif

/* The functions of one loaded file, each of which is read when it is asked for. A few words of the header's search
 * table lead to it. Only the functions of a file without a table are listed at the start. Reads stay inside the file's
 * image, are copies, which cannot fault, and are not believed. Memory comes from mmap(), not malloc(). One thread at a
 * time. */
#ifndef EH_FRAME_LOOKUP_H
#define EH_FRAME_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "eh_frame_header.h"
#include "eh_frame_image.h"
#include "eh_frame_index.h"
#include "frame_description.h"

#define EH_FRAME_ENTRY_MAX  65536u /* bytes of one function's entry; larger ones are not found */
#define EH_FRAME_COMMON_MAX 1024u
#define EH_FRAME_LIST_MAX                                                                          \
	(16u << 20) /* bytes of .eh_frame that are listed where there is no search table */

struct eh_frame_lookup {
	struct eh_frame_header header;
	struct eh_frame_index index; /* empty where there is a search table */
};

/* A function that was found, and the bytes that hold its description. */
struct eh_frame_found {
	/* borrowed until the next search, or the lookup's end */
	struct frame_description description;
	uint8_t entry[EH_FRAME_ENTRY_MAX], common[EH_FRAME_COMMON_MAX];
};

/* Returns 0, or an error of eh_frame_header_read() or eh_frame_index_init(). Call eh_frame_lookup_fini() after an
 * error, too. */
int eh_frame_lookup_init(struct eh_frame_lookup *lookup, const struct eh_frame_image *image,
			 uint64_t header, uint64_t header_size);

/* Does the same for a file without a header, whose .eh_frame lies at `frames`. */
int eh_frame_lookup_init_frames(struct eh_frame_lookup *lookup, const struct eh_frame_image *image,
				uint64_t frames, uint64_t size);
void eh_frame_lookup_fini(struct eh_frame_lookup *lookup);

/* Bytes of memory that the lookup holds. */
uint64_t eh_frame_lookup_bytes(const struct eh_frame_lookup *lookup);

/* Finds the function that holds an address. false: there is none. */
bool eh_frame_lookup_find(const struct eh_frame_lookup *lookup, uint64_t address,
			  struct eh_frame_found *found);

#endif

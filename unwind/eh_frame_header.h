/* What a loaded file's .eh_frame_hdr says: where its .eh_frame lies, and the search table of its functions. Pure
 * but for the reading of memory, which goes through a copy and cannot fault. Any thread. */
#ifndef EH_FRAME_HEADER_H
#define EH_FRAME_HEADER_H

#include <stdint.h>

#include "eh_frame_image.h"

#define EH_FRAME_TABLE_ENTRY 8u /* bytes: two signed 32-bit offsets from the header */

struct eh_frame_header {
	struct eh_frame_image image; /* of its file */
	uint64_t address; /* its own */
	uint64_t frames;  /* address of .eh_frame */
	uint64_t table;   /* address of the search table, which lies in the header */
	uint64_t nr;      /* its entries; 0: there is no table, or one in another form */
};

/* The header at an address, of so many bytes. Returns 0; -EINVAL: it makes no sense, or lies outside the image;
 * -EFAULT: it cannot be read. */
int eh_frame_header_read(struct eh_frame_header *header, const struct eh_frame_image *image,
			 uint64_t address, uint64_t size);

#endif

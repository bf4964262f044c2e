/* Reads a loaded file's .eh_frame_hdr, which says where .eh_frame and the search table of functions lie. It copies
 * memory before it reads, so that it cannot fault. Any thread. */
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

/* Reads the header of `size` bytes at `address`. Returns 0; -EINVAL: the header makes no sense, or lies outside the
 * image; -EFAULT: it cannot be read. */
int eh_frame_header_read(struct eh_frame_header *header, const struct eh_frame_image *image,
			 uint64_t address, uint64_t size);

#endif

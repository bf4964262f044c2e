/* What a loaded file's .eh_frame_hdr says: where its .eh_frame lies, and the search table of its functions. Pure
 * but for the reading of memory, which goes through a copy and cannot fault. Any thread. */
#ifndef EH_FRAME_HEADER_H
#define EH_FRAME_HEADER_H

#include <stdint.h>

#define EH_FRAME_TABLE_ENTRY 8u /* bytes: two signed 32-bit offsets from the header */

struct eh_frame_header {
	uint64_t address; /* its own */
	uint64_t frames;  /* address of .eh_frame */
	uint64_t table;   /* address of the search table, which lies in the header */
	uint64_t nr;      /* its entries; 0: there is no table, or one in another form */
};

/* Returns 0; -EINVAL: it makes no sense; -EFAULT: it cannot be read. */
int eh_frame_header_read(struct eh_frame_header *header, uint64_t address, uint64_t size);

#endif

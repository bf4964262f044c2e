/* Tells files apart whose build ids are equal: one that was built again with a fixed id, or without one. One thread. */
#ifndef EH_FRAME_IDENTITY_H
#define EH_FRAME_IDENTITY_H

#include <stdint.h>

struct dl_phdr_info;

#define EH_FRAME_IDENTITY_PIECE  4096u /* bytes that are read at a time */
#define EH_FRAME_IDENTITY_PIECES 32u   /* of a file, at most */

/* Hashes what a table is built from: .eh_frame_hdr, whose entries are the functions' addresses, and .eh_frame behind or
 * before it. Of more than EH_FRAME_IDENTITY_PIECES pieces so many count, evenly spread, the first and the last among
 * them. It reads in a way that cannot fault. Equal at each address of a file. Returns 0 if the file has none, or may
 * change it at run time, or without memory. */
uint64_t eh_frame_identity(const struct dl_phdr_info *info);

#endif

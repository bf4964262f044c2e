/* What the addresses in a cubin's line table point to. They are 0 in the table, or an addend, because each section of
 * code starts at 0; relocations of the table name the symbols. Compilers write them with addends (RELA, since sm_90) or
 * without (REL), and some files have both. The linker drops functions that nobody calls, and their relocations, but not
 * their rows. Single-threaded while it is made; then any thread. */
#ifndef CUBIN_TARGETS_H
#define CUBIN_TARGETS_H

#include <stdint.h>

#include "proto/cubin_image.h"

struct cubin_target {
	uint64_t at; /* offset of the address in the line table */
	uint64_t
		addend; /* what the relocation adds to the address there: the symbol's value and its addend */
	uint32_t section;
	uint32_t keeps; /* 1: the address in the table counts, too (REL) */
};

/* Embedded; zeroed memory has no targets. */
struct cubin_targets {
	struct cubin_target *items; /* owns; by at */
	uint32_t count, room;
};

/* table: the index of the line table's section. Relocations of other types than 32 and 64 bits of an address are left
 * out, and those of symbols that lie in no section. 0; -EBADMSG: the image has no symbols, or more relocations than
 * bytes for them; -ENOMEM. On error the targets are to be ended, too. */
int cubin_targets_init(struct cubin_targets *targets, const struct cubin_image *image,
		       uint32_t table);
void cubin_targets_fini(struct cubin_targets *targets);

/* NULL: no relocation is for the address at this offset. */
const struct cubin_target *cubin_targets_find(const struct cubin_targets *targets, uint64_t at);

#endif

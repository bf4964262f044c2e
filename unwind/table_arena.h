/* Unwind tables that the processes of one user on a node share. The agent makes the memory, a memfd of fixed size, and
 * hands it to guests (proto/handshake.h). Each of these may look a table up, and enters one that it has built, once for
 * all. An index says which table lies where, or which one is being built. Its words are atomic, and no process waits
 * for another. Nothing in the memory is believed: a process that writes nonsense into it harms the stacks of its user's
 * processes, and nothing else. One thread at a time in each process. */
#ifndef TABLE_ARENA_H
#define TABLE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind_pack.h"

#define TABLE_ARENA_BYTES   (128ull << 20)
#define TABLE_ARENA_ENTRIES 4096u
#define TABLE_ARENA_LAYOUT  5u  /* words that tell segments and builds of a file apart */
#define TABLE_ARENA_CLAIM_S 10u /* after that, another process may build the table */

struct table_arena_entry {
	_Atomic uint64_t tag; /* 0: free; never changes again */
	_Atomic uint64_t
		place; /* 0: not there; odd: claimed; else where it lies, and whether it was found */
};

struct table_arena_index {
	_Atomic uint64_t nr_pages; /* taken so far, behind the index */
	uint64_t reserved[7];      /* 0 */
	struct table_arena_entry entries[TABLE_ARENA_ENTRIES];
};

struct table_arena {                     /* zeroed: none */
	struct table_arena_index *index; /* owns all that is mapped */
};

/* A table's name. build_id: of the file, of `size` bytes; layout: places and sizes of the segment and of its
 * .eh_frame_hdr, and eh_frame_identity(). Returns 0, which is no name, if there is no build id. */
uint64_t table_arena_tag(const uint8_t *build_id, uint32_t size,
			 const uint64_t layout[TABLE_ARENA_LAYOUT]);

/* Maps the memory of a descriptor, which the caller keeps. Returns 0; -EPROTO: it is not sealed against shrinking, or
 * has another size; others of mmap(). On error *arena is zeroed. */
int table_arena_map(int fd, struct table_arena *arena);
void table_arena_unmap(struct table_arena *arena);

enum table_arena_answer {
	TABLE_ARENA_NONE,    /* no arena, no name, no room, or nonsense: build it, and keep it */
	TABLE_ARENA_HAS,     /* here it is */
	TABLE_ARENA_BUSY,    /* another process builds it now: ask again */
	TABLE_ARENA_CLAIMED, /* build it, and enter it or give it up */
};

struct table_arena_claim {
	struct table_arena_entry *entry;
	uint64_t place;
};

/* Looks a table up, or claims it. *pack is borrowed until table_arena_unmap(), and zeroed but for TABLE_ARENA_HAS. */
enum table_arena_answer table_arena_find(const struct table_arena *arena, uint64_t tag,
					 struct unwind_pack *pack, struct table_arena_claim *claim);

/* Enters a copy of a table. *entered is the copy, borrowed as above. false: there is no room, or another process was
 * faster; the claim is given up, and *entered is zeroed. */
bool table_arena_enter(const struct table_arena *arena, const struct table_arena_claim *claim,
		       uint64_t tag, const struct unwind_pack *pack, struct unwind_pack *entered);

/* The table will not come. */
void table_arena_give_up(const struct table_arena_claim *claim);

/* Returns whether the i-th table was found since the last call. i is below TABLE_ARENA_ENTRIES. */
bool table_arena_was_found(const struct table_arena *arena, uint32_t i);

/* Returns whether three quarters of the names or of the memory are taken. Names that are not found near their place
 * have no room soon after that. Nothing in an arena is given free: another one takes its place. */
bool table_arena_is_full(const struct table_arena *arena);

/* The i-th table, i below TABLE_ARENA_ENTRIES. false: there is none; *tag is 0 and *pack zeroed. */
bool table_arena_entry(const struct table_arena *arena, uint32_t i, uint64_t *tag,
		       struct unwind_pack *pack);

#endif

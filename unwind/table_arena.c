#include "table_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proto/sparse_memory.h"

#define PROBES_MAX  64u
#define PAGE_BYTES  UINT64_C(4096)
#define INDEX_BYTES ((sizeof(struct table_arena_index) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1))
#define NR_PAGES    ((TABLE_ARENA_BYTES - INDEX_BYTES) / PAGE_BYTES)
#define FIRST_SHIFT 32u /* of a place: the first page lies above, twice the number of pages below */
#define FOUND       (UINT64_C(1) << 31) /* in a place: more than twice the number of pages */

#ifndef F_GET_SEALS /* the oldest C library that guests run with lacks them */
#define F_GET_SEALS   1034
#define F_SEAL_SHRINK 0x2
#endif

/* System calls that the guest has no other use for are made by number: each name of a function costs its file more. */
static int protect(void *start, uint64_t bytes, int access)
{
	return (int)syscall(SYS_mprotect, start, bytes, access);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

uint64_t table_arena_tag(const uint8_t *build_id, uint32_t size,
			 const uint64_t layout[TABLE_ARENA_LAYOUT])
{
	uint64_t hash = UNWIND_PACK_VERSION;

	if (size == 0)
		return 0;
	for (uint32_t i = 0; i < size; i++)
		hash = mix(hash, build_id[i]);
	for (uint32_t i = 0; i < TABLE_ARENA_LAYOUT; i++)
		hash = mix(hash, layout[i]);
	return hash ? hash : 1;
}

int table_arena_map(int fd, struct table_arena *arena)
{
	uint8_t *base;

	arena->index = NULL;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) ||
	    syscall(SYS_lseek, fd, 0L, SEEK_END) != (long)TABLE_ARENA_BYTES)
		return -EPROTO;
	base = sparse_memory_map_file(TABLE_ARENA_BYTES, fd);
	if (!base)
		return -errno;
	/* Tables can be written only while they are entered, so that a program's stray pointer finds none of them.
	 * They can be read once they were found, so that mlockall() brings no others in. */
	protect(base + INDEX_BYTES, TABLE_ARENA_BYTES - INDEX_BYTES, PROT_NONE);
	arena->index = (struct table_arena_index *)base;
	return 0;
}

void table_arena_unmap(struct table_arena *arena)
{
	if (arena->index)
		munmap(arena->index, TABLE_ARENA_BYTES);
	arena->index = NULL;
}

static uint8_t *page_at(const struct table_arena *arena, uint64_t page)
{
	return (uint8_t *)arena->index + INDEX_BYTES + page * PAGE_BYTES;
}

/* Opens the table at a place, which may be any number. */
static bool open_place(const struct table_arena *arena, uint64_t place, uint64_t tag,
		       struct unwind_pack *pack)
{
	uint64_t first = place >> FIRST_SHIFT, nr = (uint32_t)(place & ~FOUND) >> 1;

	*pack = (struct unwind_pack){0};
	return place % 2 == 0 && first < NR_PAGES && nr <= NR_PAGES - first &&
	       protect(page_at(arena, first), nr * PAGE_BYTES, PROT_READ) == 0 &&
	       unwind_pack_open(page_at(arena, first), nr * PAGE_BYTES, tag, pack);
}

/* Finds the entry of this name, or makes it. NULL: there is no room near its place. */
static struct table_arena_entry *entry_of(const struct table_arena *arena, uint64_t tag)
{
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct table_arena_entry *entry =
			&arena->index->entries[(tag + i) % TABLE_ARENA_ENTRIES];
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&entry->tag, &found, tag) || found == tag)
			return entry;
	}
	return NULL;
}

enum table_arena_answer table_arena_find(const struct table_arena *arena, uint64_t tag,
					 struct unwind_pack *pack, struct table_arena_claim *claim)
{
	struct table_arena_entry *entry;
	struct timespec now;
	uint64_t place;

	*pack = (struct unwind_pack){0};
	*claim = (struct table_arena_claim){0};
	if (!arena->index || !tag || !(entry = entry_of(arena, tag)))
		return TABLE_ARENA_NONE;
	place = atomic_load(&entry->place);
	if (place && place % 2 == 0) {
		atomic_fetch_or(&entry->place, FOUND);
		return open_place(arena, place, tag, pack) ? TABLE_ARENA_HAS : TABLE_ARENA_NONE;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (place && (uint64_t)now.tv_sec - (place >> 1) < TABLE_ARENA_CLAIM_S)
		return TABLE_ARENA_BUSY;
	*claim = (struct table_arena_claim){entry, (uint64_t)now.tv_sec << 1 | 1};
	return atomic_compare_exchange_strong(&entry->place, &place, claim->place)
		       ? TABLE_ARENA_CLAIMED
		       : TABLE_ARENA_BUSY;
}

bool table_arena_enter(const struct table_arena *arena, const struct table_arena_claim *claim,
		       uint64_t tag, const struct unwind_pack *pack, struct unwind_pack *entered)
{
	uint64_t nr = (pack->bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	uint64_t first = atomic_load(&arena->index->nr_pages), place = claim->place;

	if (first < NR_PAGES && nr <= NR_PAGES - first)
		first = atomic_fetch_add(&arena->index->nr_pages, nr);
	if (first < NR_PAGES && nr <= NR_PAGES - first &&
	    protect(page_at(arena, first), nr * PAGE_BYTES, PROT_READ | PROT_WRITE) == 0) {
		memcpy(page_at(arena, first), pack->data, pack->bytes);
		protect(page_at(arena, first), nr * PAGE_BYTES, PROT_READ);
		if (open_place(arena, first << FIRST_SHIFT | nr << 1, tag, entered) &&
		    atomic_compare_exchange_strong(&claim->entry->place, &place,
						   first << FIRST_SHIFT | nr << 1))
			return true;
	}
	table_arena_give_up(claim);
	*entered = (struct unwind_pack){0};
	return false;
}

void table_arena_give_up(const struct table_arena_claim *claim)
{
	uint64_t place = claim->place;

	if (claim->entry)
		atomic_compare_exchange_strong(&claim->entry->place, &place, 0);
}

bool table_arena_was_found(const struct table_arena *arena, uint32_t i)
{
	_Atomic uint64_t *place = &arena->index->entries[i].place;
	uint64_t seen = atomic_load(place);

	/* In a claim the bit is one of the time. */
	return seen % 2 == 0 && (seen & FOUND) &&
	       atomic_compare_exchange_strong(place, &seen, seen & ~FOUND);
}

bool table_arena_is_full(const struct table_arena *arena)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < TABLE_ARENA_ENTRIES; i++)
		nr += atomic_load(&arena->index->entries[i].tag) != 0;
	return nr >= TABLE_ARENA_ENTRIES / 4 * 3 ||
	       atomic_load(&arena->index->nr_pages) >= NR_PAGES / 4 * 3;
}

bool table_arena_entry(const struct table_arena *arena, uint32_t i, uint64_t *tag,
		       struct unwind_pack *pack)
{
	uint64_t place = atomic_load(&arena->index->entries[i].place);

	*tag = atomic_load(&arena->index->entries[i].tag);
	if (place && open_place(arena, place, *tag, pack))
		return true;
	*tag = 0;
	*pack = (struct unwind_pack){0};
	return false;
}

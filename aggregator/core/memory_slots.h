/* Allocations and frees that wait to be taken in order, and allocations that live: what has to be kept of them to go
 * on. Waiting ones come out by time, live ones are found by address. An allocation that waited becomes a live one in
 * its place. Blocks of neighbouring slots are what is saved. Pure; part of memory_account. */
#ifndef MEMORY_SLOTS_H
#define MEMORY_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "block_set.h"

#include "proto/hash_index.h"

#define MEMORY_SLOTS_BLOCK 512u /* slots of one block */

/* One RECORD_GPU_ALLOC or _FREE with what its launch told. Ids are of the caller's scope. */
struct memory_event {
	uint64_t time_ns;
	uint64_t address, bytes;
	uint32_t correlation_id; /* of events of one time the lower comes first */
	uint32_t device_id;      /* CUDA ordinal in its process */
	uint32_t stack_id, tid;
	uint8_t kind;    /* enum memory_kind */
	uint8_t is_free; /* 1: a free */
	uint8_t matched; /* 1: a launch was found */
};

enum memory_slot_state {
	MEMORY_SLOT_UNUSED = 0,
	MEMORY_SLOT_WAITING = 1, /* this and the next: part of the store's schema */
	MEMORY_SLOT_LIVE = 2,
};

struct memory_slot {
	struct memory_event event;
	uint64_t order; /* of arrival */
	uint32_t index; /* its own; so that a saved one finds its place again */
	uint32_t next;  /* unused: the next one's id, 0: none */
	uint8_t state;  /* enum memory_slot_state */
	uint8_t owed;   /* live: 1: another allocation lived here whose free may still come */
};

/* Embedded; zeroed memory is empty. A slot's id is its index + 1; ids stay, pointers hold until the next add. */
struct memory_slots {
	struct memory_slot *slots;
	uint32_t nr_slots, room;
	uint32_t unused; /* id */
	uint32_t *heap;  /* ids of the waiting ones, the earliest first */
	uint32_t nr_waiting, nr_live;
	struct hash_index live; /* ids, by address */
	uint64_t next_order;
	bool track_changes;
	struct block_set blocks; /* changed since the last save */
};

void memory_slots_fini(struct memory_slots *slots);

/* A waiting one. 0 or -ENOMEM: unchanged. */
int memory_slots_add(struct memory_slots *slots, const struct memory_event *event);

/* The earliest waiting one; 0: none. */
uint32_t memory_slots_first(const struct memory_slots *slots);

static inline struct memory_slot *memory_slots_get(const struct memory_slots *slots, uint32_t id)
{
	return &slots->slots[id - 1];
}

/* The live one at that address; 0: none. */
uint32_t memory_slots_find(const struct memory_slots *slots, uint64_t address);

/* The earliest waiting one becomes live, or goes. 0 or -ENOMEM: only that it is not saved rightly any more. */
int memory_slots_revive_first(struct memory_slots *slots);
int memory_slots_drop_first(struct memory_slots *slots);

/* A live one goes. Likewise. */
int memory_slots_end(struct memory_slots *slots, uint32_t id);

/* A live one was changed. Likewise. */
int memory_slots_touch(struct memory_slots *slots, uint32_t id);

/* Nothing is left, nor to be saved. */
void memory_slots_clear(struct memory_slots *slots);

/* slots: of one block, by index. count 0: nothing is left of it. Borrowed until it returns. */
typedef int memory_slots_put(void *context, uint64_t block, const struct memory_slot *slots,
			     uint32_t count);

/* Hands over every block that changed since memory_slots_saved(), until put returns nonzero; returns that. */
int memory_slots_save(const struct memory_slots *slots, memory_slots_put *put, void *context);
void memory_slots_saved(struct memory_slots *slots);

/* Into empty ones: each slot that was saved, in any order, then the end. slots_max: more are no store's. 0; -EINVAL:
 * nothing that was saved; -ENOMEM. */
int memory_slots_load(struct memory_slots *slots, const struct memory_slot *slot,
		      uint32_t slots_max);
void memory_slots_load_end(struct memory_slots *slots);

#endif

/* The state of memory_account: allocations and frees that wait for their turn, and live allocations. Waiting ones are
 * taken by time, and live ones are found by address. A waiting allocation becomes a live one in the same slot. Saving
 * works on blocks of neighbouring slots. Pure; part of memory_account. */
#ifndef MEMORY_SLOTS_H
#define MEMORY_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "block_set.h"

#include "base/hash_index.h"

#define MEMORY_SLOTS_BLOCK 512u /* slots of one block */

/* One RECORD_GPU_ALLOC or _FREE, with the stack and thread of its call. Ids are of the caller's scope. */
struct memory_event {
	uint64_t time_ns;
	uint64_t address, bytes;
	uint32_t correlation_id; /* orders events of the same time */
	uint32_t device_id;      /* CUDA ordinal in its process */
	uint32_t stack_id, tid;
	uint8_t kind;    /* enum memory_kind */
	uint8_t is_free; /* 1: a free */
	uint8_t matched; /* 1: a launch was found */
};

enum memory_slot_state {
	MEMORY_SLOT_UNUSED = 0,
	MEMORY_SLOT_WAITING = 1, /* this number and the next are part of the store's schema */
	MEMORY_SLOT_LIVE = 2,
};

struct memory_slot {
	struct memory_event event;
	uint64_t order; /* of arrival */
	uint32_t index; /* the slot's own index, by which loading finds its place */
	uint32_t next;  /* of an unused slot: the next unused slot's id, 0: none */
	uint8_t state;  /* enum memory_slot_state */
	uint8_t owed;   /* 1: an earlier allocation lived here, and its free may still come */
};

/* Embedded; zeroed memory is empty. A slot's id is its index + 1. Ids stay; pointers hold until the next add. */
struct memory_slots {
	struct memory_slot *slots;
	uint32_t nr_slots, room;
	uint32_t unused; /* id of the first unused slot */
	uint32_t *heap;  /* ids of waiting slots, the earliest first */
	uint32_t nr_waiting, nr_live;
	struct hash_index live; /* ids, by address */
	uint64_t next_order;
	bool track_changes;
	struct block_set blocks; /* changed since the last save */
};

void memory_slots_fini(struct memory_slots *slots);

/* Adds a waiting event. 0 or -ENOMEM: unchanged. */
int memory_slots_add(struct memory_slots *slots, const struct memory_event *event);

/* The id of the earliest waiting event; 0: none. */
uint32_t memory_slots_first(const struct memory_slots *slots);

static inline struct memory_slot *memory_slots_get(const struct memory_slots *slots, uint32_t id)
{
	return &slots->slots[id - 1];
}

/* The id of the live allocation at that address; 0: none. */
uint32_t memory_slots_find(const struct memory_slots *slots, uint64_t address);

/* Make the earliest waiting event a live allocation, or remove it. 0; -ENOMEM: done, but the blocks to save are no
 * longer known. */
int memory_slots_revive_first(struct memory_slots *slots);
int memory_slots_drop_first(struct memory_slots *slots);

/* Removes a live allocation. 0; -ENOMEM as above. */
int memory_slots_end(struct memory_slots *slots, uint32_t id);

/* Marks a live allocation that the caller has changed. 0; -ENOMEM as above. */
int memory_slots_touch(struct memory_slots *slots, uint32_t id);

/* Removes all slots. Nothing is left to save. */
void memory_slots_clear(struct memory_slots *slots);

/* slots: the block's slots by index, borrowed until it returns. count 0: the block is empty now. */
typedef int memory_slots_put(void *context, uint64_t block, const struct memory_slot *slots,
			     uint32_t count);

/* Hands every block that changed since memory_slots_saved() to put, until it returns nonzero, and returns that
 * value. */
int memory_slots_save(const struct memory_slots *slots, memory_slots_put *put, void *context);
void memory_slots_saved(struct memory_slots *slots);

/* Load each saved slot, in any order, then call the last function. slots_max: no store has more. 0; -EINVAL: no saved
 * slot; -ENOMEM. */
int memory_slots_load(struct memory_slots *slots, const struct memory_slot *slot,
		      uint32_t slots_max);
void memory_slots_load_end(struct memory_slots *slots);

#endif

#include "memory_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void memory_slots_fini(struct memory_slots *slots)
{
	free(slots->slots);
	free(slots->heap);
	hash_index_fini(&slots->live);
	block_set_fini(&slots->blocks);
	*slots = (struct memory_slots){0};
}

/* The index has room for every slot. */
static void insert_live(struct memory_slots *slots, const struct memory_slot *slot)
{
	hash_index_insert(&slots->live, hash_index_hash_word(slot->event.address), slot->index + 1);
	slots->nr_live++;
}

static int reserve(struct memory_slots *slots, uint32_t need)
{
	uint32_t room = slots->room;

	if (need <= room)
		return 0;
	if (array_reserve(&slots->heap, &room, need, sizeof(*slots->heap)) ||
	    hash_index_reserve(&slots->live, room))
		return -ENOMEM;
	return array_reserve(&slots->slots, &slots->room, need, sizeof(*slots->slots));
}

static int touch(struct memory_slots *slots, uint32_t index)
{
	return slots->track_changes ? block_set_add(&slots->blocks, index / MEMORY_SLOTS_BLOCK) : 0;
}

int memory_slots_touch(struct memory_slots *slots, uint32_t id)
{
	return touch(slots, id - 1);
}

/* ---- waiting slots */

static bool earlier(const struct memory_slots *slots, uint32_t a, uint32_t b)
{
	const struct memory_slot *x = memory_slots_get(slots, a), *y = memory_slots_get(slots, b);

	if (x->event.time_ns != y->event.time_ns)
		return x->event.time_ns < y->event.time_ns;
	if (x->event.correlation_id != y->event.correlation_id)
		return x->event.correlation_id < y->event.correlation_id;
	return x->order < y->order;
}

static void sift_up(struct memory_slots *slots, uint32_t at)
{
	uint32_t id = slots->heap[at];

	while (at > 0 && earlier(slots, id, slots->heap[(at - 1) / 2])) {
		slots->heap[at] = slots->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	slots->heap[at] = id;
}

static void sift_down(struct memory_slots *slots, uint32_t at)
{
	uint32_t id = slots->heap[at], count = slots->nr_waiting;

	for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && earlier(slots, slots->heap[child + 1], slots->heap[child]))
			child++;
		if (!earlier(slots, slots->heap[child], id))
			break;
		slots->heap[at] = slots->heap[child];
		at = child;
	}
	slots->heap[at] = id;
}

static void push(struct memory_slots *slots, uint32_t id)
{
	slots->heap[slots->nr_waiting] = id;
	sift_up(slots, slots->nr_waiting++);
}

static uint32_t pop(struct memory_slots *slots)
{
	uint32_t id = slots->heap[0];

	slots->heap[0] = slots->heap[--slots->nr_waiting];
	if (slots->nr_waiting)
		sift_down(slots, 0);
	return id;
}

int memory_slots_add(struct memory_slots *slots, const struct memory_event *event)
{
	if (!slots->unused && reserve(slots, slots->nr_slots + 1))
		return -ENOMEM;

	uint32_t index = slots->unused ? slots->unused - 1 : slots->nr_slots;
	if (touch(slots, index))
		return -ENOMEM;
	if (slots->unused)
		slots->unused = slots->slots[index].next;
	else
		slots->nr_slots++;
	slots->slots[index] = (struct memory_slot){
		.event = *event,
		.order = slots->next_order++,
		.index = index,
		.state = MEMORY_SLOT_WAITING,
	};
	push(slots, index + 1);
	return 0;
}

uint32_t memory_slots_first(const struct memory_slots *slots)
{
	return slots->nr_waiting ? slots->heap[0] : 0;
}

static int release(struct memory_slots *slots, uint32_t id)
{
	struct memory_slot *slot = memory_slots_get(slots, id);

	slot->state = MEMORY_SLOT_UNUSED;
	slot->next = slots->unused;
	slots->unused = id;
	return touch(slots, id - 1);
}

int memory_slots_drop_first(struct memory_slots *slots)
{
	return release(slots, pop(slots));
}

/* ---- live slots */

int memory_slots_revive_first(struct memory_slots *slots)
{
	uint32_t id = pop(slots);
	struct memory_slot *slot = memory_slots_get(slots, id);

	slot->state = MEMORY_SLOT_LIVE;
	insert_live(slots, slot);
	return touch(slots, id - 1);
}

static bool is_at(const void *context, uint32_t id, const void *key)
{
	return memory_slots_get(context, id)->event.address == *(const uint64_t *)key;
}

uint32_t memory_slots_find(const struct memory_slots *slots, uint64_t address)
{
	return hash_index_find(&slots->live, hash_index_hash_word(address), is_at, slots, &address);
}

int memory_slots_end(struct memory_slots *slots, uint32_t id)
{
	uint64_t address = memory_slots_get(slots, id)->event.address;

	hash_index_replace(&slots->live, hash_index_hash_word(address), id, 0);
	slots->nr_live--;
	return release(slots, id);
}

void memory_slots_clear(struct memory_slots *slots)
{
	struct memory_slots empty = {.track_changes = slots->track_changes};

	memory_slots_fini(slots);
	*slots = empty;
}

/* ---- on disk */

int memory_slots_save(const struct memory_slots *slots, memory_slots_put *put, void *context)
{
	struct memory_slot used[MEMORY_SLOTS_BLOCK];
	int error = 0;

	for (uint32_t i = 0; i < slots->blocks.count && !error; i++) {
		uint64_t first = slots->blocks.blocks[i] * MEMORY_SLOTS_BLOCK;
		uint32_t count = 0;

		for (uint64_t at = first; at < first + MEMORY_SLOTS_BLOCK && at < slots->nr_slots;
		     at++)
			if (slots->slots[at].state != MEMORY_SLOT_UNUSED)
				used[count++] = slots->slots[at];
		error = put(context, slots->blocks.blocks[i], used, count);
	}
	return error;
}

void memory_slots_saved(struct memory_slots *slots)
{
	block_set_clear(&slots->blocks);
}

int memory_slots_load(struct memory_slots *slots, const struct memory_slot *slot,
		      uint32_t slots_max)
{

	if (slot->index >= slots_max ||
	    (slot->state != MEMORY_SLOT_WAITING && slot->state != MEMORY_SLOT_LIVE))
		return -EINVAL;
	if (reserve(slots, slot->index + 1))
		return -ENOMEM;
	for (; slots->nr_slots <= slot->index; slots->nr_slots++)
		slots->slots[slots->nr_slots] = (struct memory_slot){.index = slots->nr_slots};

	struct memory_slot *own = &slots->slots[slot->index];
	if (own->state != MEMORY_SLOT_UNUSED ||
	    (slot->state == MEMORY_SLOT_LIVE && memory_slots_find(slots, slot->event.address)))
		return -EINVAL;
	*own = *slot;
	own->next = 0;
	if (slot->order >= slots->next_order)
		slots->next_order = slot->order + 1;
	if (slot->state == MEMORY_SLOT_WAITING) {
		push(slots, slot->index + 1);
		return 0;
	}
	insert_live(slots, own);
	return 0;
}

void memory_slots_load_end(struct memory_slots *slots)
{
	for (uint32_t i = slots->nr_slots; i > 0; i--) {
		if (slots->slots[i - 1].state != MEMORY_SLOT_UNUSED)
			continue;
		slots->slots[i - 1].next = slots->unused;
		slots->unused = i;
	}
}

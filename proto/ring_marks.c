#include "proto/ring_marks.h"

static _Atomic uint64_t *slot_at(const struct ring_marks *marks, uint32_t slot)
{
	return marks->slots + slot * marks->words;
}

static void forget_own(struct ring_marks *marks)
{
	marks->first = marks->count = 0;
	for (uint32_t i = 0; i < RECORD_RING_MARKS; i++)
		marks->unused[i] = (uint16_t)(RECORD_RING_MARKS - 1 - i);
}

/* The others are holes in the memory: a look at them would fill them. */
static uint32_t slots_in_use(const struct ring_marks *marks)
{
	uint32_t nr = atomic_load_explicit(marks->nr_slots, memory_order_acquire);

	return nr < RECORD_RING_MARKS ? nr : RECORD_RING_MARKS;
}

void ring_marks_init(struct ring_marks *marks, uint8_t *memory, _Atomic uint32_t *nr_slots,
		     const struct record_ring_sizes *sizes)
{
	marks->slots = (_Atomic uint64_t *)memory;
	marks->nr_slots = nr_slots;
	marks->words = ring_mark_words(sizes);
	marks->launch_lanes = sizes->launch_lanes;
	forget_own(marks);
}

void ring_marks_clear(struct ring_marks *marks)
{
	for (uint32_t slot = 0, nr = slots_in_use(marks); slot < nr; slot++)
		if (atomic_load_explicit(slot_at(marks, slot), memory_order_relaxed))
			atomic_store_explicit(slot_at(marks, slot), 0, memory_order_release);
	forget_own(marks);
}

int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors)
{
	if (marks->count == RECORD_RING_MARKS)
		return -EBUSY;

	uint16_t slot = marks->unused[RECORD_RING_MARKS - 1 - marks->count];
	_Atomic uint64_t *words = slot_at(marks, slot);
	uint32_t lanes =
		cursors->lanes < marks->launch_lanes ? cursors->lanes : marks->launch_lanes;

	if (slot >= slots_in_use(marks))
		atomic_store_explicit(marks->nr_slots, slot + 1u, memory_order_release);
	atomic_store_explicit(words + RING_MARK_ACTIVITY, cursors->activity, memory_order_relaxed);
	atomic_store_explicit(words + RING_MARK_DEFINITION, cursors->definition,
			      memory_order_relaxed);
	atomic_store_explicit(words + RING_MARK_COLLECTIVE, cursors->collective,
			      memory_order_relaxed);
	for (uint32_t i = 0; i < RING_GONE_KINDS; i++)
		atomic_store_explicit(words + RING_MARK_GONE + i, cursors->gone[i],
				      memory_order_relaxed);
	atomic_store_explicit(words + RING_MARK_LANES, lanes, memory_order_relaxed);
	for (uint32_t i = 0; i < lanes; i++)
		atomic_store_explicit(words + RING_MARK_LAUNCH + i, cursors->launch[i],
				      memory_order_relaxed);
	atomic_store_explicit(words + RING_MARK_SEQ, seq + 1, memory_order_release);
	marks->seqs[slot] = seq;
	marks->queue[(marks->first + marks->count++) % RECORD_RING_MARKS] = slot;
	return 0;
}

void ring_marks_drop(struct ring_marks *marks, uint64_t seq)
{
	while (marks->count > 1) {
		uint16_t slot = marks->queue[marks->first];
		uint16_t next = marks->queue[(marks->first + 1) % RECORD_RING_MARKS];

		if (marks->seqs[next] > seq)
			return;
		atomic_store_explicit(slot_at(marks, slot), 0, memory_order_release);
		marks->first = (marks->first + 1) % RECORD_RING_MARKS;
		marks->count--;
		marks->unused[RECORD_RING_MARKS - 1 - marks->count] = slot;
	}
}

const _Atomic uint64_t *ring_marks_find(const struct ring_marks *marks, uint64_t seq)
{
	const _Atomic uint64_t *found = NULL;
	uint64_t best = 0;

	for (uint32_t slot = 0, nr = slots_in_use(marks); slot < nr; slot++) {
		const _Atomic uint64_t *words = slot_at(marks, slot);
		uint64_t tag = atomic_load_explicit(words + RING_MARK_SEQ, memory_order_acquire);

		if (tag > best && tag - 1 <= seq) {
			best = tag;
			found = words;
		}
	}
	return found;
}

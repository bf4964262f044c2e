#include "ring_marks.h"

#include <string.h>
#include <unistd.h>

static off_t slot_at(const struct ring_marks *marks, uint32_t slot)
{
	return (off_t)(marks->offset + slot * marks->words * sizeof(uint64_t));
}

/* Returns the mark's tag. 0: there is no mark, or it cannot be read. */
static uint64_t tag_of(const struct ring_marks *marks, uint32_t slot)
{
	uint64_t tag;

	return pread(marks->fd, &tag, sizeof(tag), slot_at(marks, slot)) == sizeof(tag) ? tag : 0;
}

static _Atomic uint64_t *words_of(const struct ring_marks *marks, uint32_t slot)
{
	return marks->slots + slot * marks->words;
}

static void set_tag(const struct ring_marks *marks, uint32_t slot, uint64_t tag)
{
	atomic_store_explicit(words_of(marks, slot), tag, memory_order_release);
}

/* Returns the number of slots in use. The others are holes in the memory, and a look at each costs a call. */
static uint32_t slots_in_use(const struct ring_marks *marks)
{
	uint32_t nr = atomic_load_explicit(marks->nr_slots, memory_order_acquire);

	return nr < RECORD_RING_MARKS ? nr : RECORD_RING_MARKS;
}

static void forget_own(struct ring_marks *marks)
{
	marks->first = marks->count = 0;
	for (uint32_t i = 0; i < RECORD_RING_MARKS; i++)
		marks->unused[i] = (uint16_t)(RECORD_RING_MARKS - 1 - i);
}

void ring_marks_init(struct ring_marks *marks, int fd, uint8_t *base, uint64_t offset,
		     _Atomic uint32_t *nr_slots, const struct record_ring_sizes *sizes)
{
	marks->fd = fd;
	marks->slots = (_Atomic uint64_t *)(base + offset);
	marks->offset = offset;
	marks->nr_slots = nr_slots;
	marks->words = ring_mark_words(sizes);
	marks->launch_lanes = sizes->launch_lanes;
	forget_own(marks);
}

void ring_marks_clear(struct ring_marks *marks)
{
	for (uint32_t slot = 0, nr = slots_in_use(marks); slot < nr; slot++)
		if (tag_of(marks, slot))
			set_tag(marks, slot, 0);
	forget_own(marks);
}

int ring_marks_add(struct ring_marks *marks, uint64_t seq, const struct ring_cursors *cursors)
{
	if (marks->count == RECORD_RING_MARKS)
		return -EBUSY;

	uint16_t slot = marks->unused[RECORD_RING_MARKS - 1 - marks->count];
	uint32_t lanes =
		cursors->lanes < marks->launch_lanes ? cursors->lanes : marks->launch_lanes;
	uint64_t words[RING_MARK_WORDS_MAX] = {
		[RING_MARK_ACTIVITY] = cursors->activity,
		[RING_MARK_DEFINITION] = cursors->definition,
		[RING_MARK_COLLECTIVE] = cursors->collective,
		[RING_MARK_LANES] = lanes,
	};

	memcpy(words + RING_MARK_GONE, cursors->gone, sizeof(cursors->gone));
	memcpy(words + RING_MARK_LAUNCH, cursors->launch, lanes * sizeof(*words));
	if (slot >= slots_in_use(marks))
		atomic_store_explicit(marks->nr_slots, slot + 1u, memory_order_release);
	for (uint32_t i = RING_MARK_SEQ + 1; i < RING_MARK_LAUNCH + lanes; i++)
		atomic_store_explicit(words_of(marks, slot) + i, words[i], memory_order_relaxed);
	/* The tag comes last, because without it there is no mark. */
	set_tag(marks, slot, seq + 1);
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
		set_tag(marks, slot, 0);
		marks->first = (marks->first + 1) % RECORD_RING_MARKS;
		marks->count--;
		marks->unused[RECORD_RING_MARKS - 1 - marks->count] = slot;
	}
}

bool ring_marks_find(const struct ring_marks *marks, uint64_t seq,
		     uint64_t words[static RING_MARK_WORDS_MAX])
{
	ssize_t size = (ssize_t)(marks->words * sizeof(*words));
	uint64_t best = 0;
	uint32_t found = 0;

	for (uint32_t slot = 0, nr = slots_in_use(marks); slot < nr; slot++) {
		uint64_t tag = tag_of(marks, slot);

		if (tag > best && tag - 1 <= seq) {
			best = tag;
			found = slot;
		}
	}
	return best > 0 && pread(marks->fd, words, (size_t)size, slot_at(marks, found)) == size;
}

#include <string.h>

#include "record_ring_reader.h"

void record_ring_beat(struct record_ring *ring, uint64_t now_ns)
{
	atomic_store_explicit(&ring->header->beat_ns, now_ns, memory_order_relaxed);
}

void record_ring_probe(struct record_ring *ring, bool on)
{
	atomic_store_explicit(&ring->header->probe, on, memory_order_relaxed);
}

static_assert(RECORD_RING_EPOCH == sizeof(((struct ring_header *)0)->owner), "an epoch's bytes");

bool record_ring_owner(const struct record_ring *ring, uint8_t epoch[static RECORD_RING_EPOCH])
{
	uint64_t words[2];

	for (int i = 0; i < 2; i++)
		words[i] = atomic_load_explicit(&ring->header->owner[i], memory_order_acquire);
	memcpy(epoch, words, sizeof(words));
	return words[0] != 0;
}

static struct ring_cursors cursors_now(const struct record_ring *ring,
				       uint64_t launch[static RECORD_RING_LANES_MAX])
{
	struct ring_cursors cursors = {
		.activity = ring->activity.read,
		.definition = ring->definition.read,
		.collective = ring->collective.read,
		.lanes = ring_lanes_claimed(ring),
		.launch = launch,
	};

	for (uint32_t i = 0; i < RING_GONE_KINDS; i++)
		cursors.gone[i] =
			atomic_load_explicit(&ring->header->gone[i], memory_order_relaxed);
	for (uint32_t i = 0; i < cursors.lanes; i++)
		launch[i] = ring->lanes[i].read;
	return cursors;
}

static void set_owner_word(struct record_ring *ring, int word, uint64_t value)
{
	atomic_store_explicit(&ring->header->owner[word], value, memory_order_release);
}

/* Makes the agent with this epoch the owner. It may be killed after each store. From the first store to the last, the
 * ring has no owner. An agent that finds it so reads from `release`, which record_ring_resume() has set to the end of
 * the last owner's messages. */
void record_ring_own(struct record_ring *ring, const uint8_t epoch[static RECORD_RING_EPOCH])
{
	uint64_t words[2], launch[RECORD_RING_LANES_MAX];
	struct ring_cursors cursors = cursors_now(ring, launch);

	memcpy(words, epoch, sizeof(words));
	set_owner_word(ring, 0, 0);
	ring_marks_clear(&ring->marks);
	set_owner_word(ring, 1, words[1]);
	set_owner_word(ring, 0, words[0]);
	/* This mark belongs to no message: the next agent begins here if none of our messages arrived. */
	ring_marks_add(&ring->marks, 0, &cursors);
}

int record_ring_mark(struct record_ring *ring, uint64_t seq)
{
	uint64_t launch[RECORD_RING_LANES_MAX];
	struct ring_cursors cursors = cursors_now(ring, launch);

	return ring_marks_add(&ring->marks, seq, &cursors);
}

bool record_ring_can_mark(const struct record_ring *ring)
{
	return ring->marks.count < RECORD_RING_MARKS;
}

void record_ring_unmark(struct record_ring *ring, uint64_t seq)
{
	ring_marks_drop(&ring->marks, seq);
}

/* Moves a lane to a position. Returns how many records are lost between that position and the first one that can still
 * be read. */
static uint64_t lane_go_to(struct reader_lane *lane, struct ring_lane *control, uint64_t capacity,
			   uint64_t position)
{
	uint64_t produced = atomic_load_explicit(&control->produced, memory_order_acquire);

	if (position <= lane->released)
		return lane->released - position;
	if (position > produced || produced - lane->released > capacity)
		return 0;
	lane->read = lane->released = position;
	atomic_store_explicit(&control->read, position, memory_order_relaxed);
	atomic_store_explicit(&control->release, position, memory_order_release);
	return 0;
}

/* Samples before the position are in stored messages, or are skipped. Other definitions there are read again. */
static void samples_go_to(struct record_ring *ring, uint64_t position)
{
	if (position <= ring->samples_begin)
		return;
	ring->samples_begin = position;
	atomic_store_explicit(&ring->header->samples_begin, position, memory_order_release);
}

void record_ring_skip(struct record_ring *ring)
{
	struct record_ring_snapshot now;

	record_ring_begin(ring);
	record_ring_snapshot(ring, &now);
	lane_go_to(&ring->activity, &ring->header->activity, ring->sizes.activity_records,
		   now.activity);
	lane_go_to(&ring->collective, &ring->header->collective, ring->sizes.collectives,
		   now.collective);
	samples_go_to(ring, now.definition);
	for (uint32_t i = 0; i < now.lanes; i++)
		lane_go_to(&ring->lanes[i], &ring->lane_controls[i],
			   ring->sizes.launch_lane_records, now.launch[i]);
}

/* Sets the number of lost records: those that the mark says were lost before, and the gap. It uses the mark alone. So
 * the next agent gets the same number if this one is killed before it ends. */
static void set_gone(struct record_ring *ring, const uint64_t mark[static RING_MARK_WORDS_MAX],
		     enum ring_gone_kind kind, uint64_t gap)
{
	atomic_store_explicit(&ring->header->gone[kind],
			      ledger_add_saturating(mark[RING_MARK_GONE + kind], gap),
			      memory_order_relaxed);
}

void record_ring_resume(struct record_ring *ring, uint64_t durable_seq)
{
	uint64_t mark[RING_MARK_WORDS_MAX], launches = 0, gap;

	record_ring_begin(ring);
	if (!ring_marks_find(&ring->marks, durable_seq, mark))
		return;
	gap = lane_go_to(&ring->activity, &ring->header->activity, ring->sizes.activity_records,
			 mark[RING_MARK_ACTIVITY]);
	set_gone(ring, mark, RING_GONE_RECORDS, gap);
	samples_go_to(ring, mark[RING_MARK_DEFINITION]);
	gap = lane_go_to(&ring->collective, &ring->header->collective, ring->sizes.collectives,
			 mark[RING_MARK_COLLECTIVE]);
	set_gone(ring, mark, RING_GONE_COLLECTIVES, gap);
	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++) {
		/* A lane that was claimed later begins at 0. */
		uint64_t position = i < mark[RING_MARK_LANES] ? mark[RING_MARK_LAUNCH + i] : 0;

		launches += lane_go_to(&ring->lanes[i], &ring->lane_controls[i],
				       ring->sizes.launch_lane_records, position);
	}
	set_gone(ring, mark, RING_GONE_LAUNCHES, launches);
}

/* Subtracts the lost records, which also lie before the cursors. */
static uint64_t without_gone(const struct record_ring *ring, enum ring_gone_kind kind,
			     uint64_t read)
{
	uint64_t gone = atomic_load_explicit(&ring->header->gone[kind], memory_order_relaxed);

	return read > gone ? read - gone : 0;
}

void record_ring_passed_on(const struct record_ring *ring, uint64_t *launches, uint64_t *records)
{
	uint64_t read = 0;

	for (uint32_t i = 0, nr = ring_lanes_claimed(ring); i < nr; i++)
		read = ledger_add_saturating(read, ring->lanes[i].read);
	*launches = without_gone(ring, RING_GONE_LAUNCHES, read);
	*records = without_gone(ring, RING_GONE_RECORDS, ring->activity.read);
}

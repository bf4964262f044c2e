#include <string.h>

#include "proto/record_ring_reader.h"

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
	return words[0] || words[1];
}

static struct ring_cursors cursors_now(const struct record_ring *ring,
				       uint64_t launch[static RECORD_RING_LANES_MAX])
{
	uint32_t lanes = record_ring_claimed(ring);

	for (uint32_t i = 0; i < lanes; i++)
		launch[i] = ring->lanes[i].read;
	return (struct ring_cursors){
		.activity = ring->activity.read,
		.definition = ring->definition.read,
		.collective = ring->collective.read,
		.lanes = lanes,
		.launch = launch,
	};
}

void record_ring_own(struct record_ring *ring, const uint8_t epoch[static RECORD_RING_EPOCH])
{
	uint64_t words[2], launch[RECORD_RING_LANES_MAX];
	struct ring_cursors cursors = cursors_now(ring, launch);

	ring_marks_clear(&ring->marks);
	memcpy(words, epoch, sizeof(words));
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&ring->header->owner[i], words[i], memory_order_release);
	/* Of no message: where the next agent begins if none of ours arrived. */
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

/* Returns how many records lie between what arrived and what can still be read. */
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

void record_ring_skip(struct record_ring *ring)
{
	struct record_ring_snapshot now;

	record_ring_snapshot(ring, &now);
	lane_go_to(&ring->activity, &ring->header->activity, ring->sizes.activity_records,
		   now.activity);
	lane_go_to(&ring->collective, &ring->header->collective, ring->sizes.collectives,
		   now.collective);
	for (uint32_t i = 0; i < now.lanes; i++)
		lane_go_to(&ring->lanes[i], &ring->lane_controls[i],
			   ring->sizes.launch_lane_records, now.launch[i]);
}

void record_ring_resume(struct record_ring *ring, uint64_t durable_seq, struct record_ring_gap *gap)
{
	uint64_t mark[RING_MARK_WORDS_MAX];

	*gap = (struct record_ring_gap){0};
	if (!ring_marks_find(&ring->marks, durable_seq, mark))
		return;
	gap->records = lane_go_to(&ring->activity, &ring->header->activity,
				  ring->sizes.activity_records, mark[RING_MARK_ACTIVITY]);
	gap->collectives = lane_go_to(&ring->collective, &ring->header->collective,
				      ring->sizes.collectives, mark[RING_MARK_COLLECTIVE]);
	for (uint32_t i = 0; i < record_ring_claimed(ring); i++) {
		/* A lane that was claimed later begins at 0. */
		uint64_t position = i < mark[RING_MARK_LANES] ? mark[RING_MARK_LAUNCH + i] : 0;

		gap->launches += lane_go_to(&ring->lanes[i], &ring->lane_controls[i],
					    ring->sizes.launch_lane_records, position);
	}
}

#include "ring_ownership.h"

#include <string.h>

void ring_ownership_init(struct ring_ownership *ownership, struct record_ring *ring,
			 const uint8_t epoch[static RECORD_RING_EPOCH])
{
	*ownership = (struct ring_ownership){.ring = ring};
	memcpy(ownership->epoch, epoch, RECORD_RING_EPOCH);
}

void ring_ownership_fini(struct ring_ownership *ownership)
{
	release_queue_fini(&ownership->releases);
}

enum ring_claim ring_ownership_claim(const struct record_ring *ring,
				     const uint8_t epoch[static RECORD_RING_EPOCH],
				     uint8_t before[static RECORD_RING_EPOCH])
{
	bool owned = record_ring_owner(ring, before);

	if (owned && memcmp(before, epoch, RECORD_RING_EPOCH) != 0)
		return RING_CLAIM_ASK;
	memset(before, 0, RECORD_RING_EPOCH);
	return owned ? RING_CLAIM_DROP : RING_CLAIM_TAKE;
}

static void own(struct ring_ownership *ownership)
{
	record_ring_own(ownership->ring, ownership->epoch);
	ownership->taken = true;
}

void ring_ownership_take(struct ring_ownership *ownership)
{
	record_ring_begin(ownership->ring);
	own(ownership);
}

void ring_ownership_take_after(struct ring_ownership *ownership, uint64_t durable_seq)
{
	record_ring_resume(ownership->ring, durable_seq);
	own(ownership);
}

void ring_ownership_take_anew(struct ring_ownership *ownership)
{
	record_ring_skip(ownership->ring);
	own(ownership);
}

bool ring_ownership_holds(const struct ring_ownership *ownership)
{
	uint8_t owner[RECORD_RING_EPOCH];

	/* A ring that cannot be read does not tell its owner, so it stays ours until its process ends. */
	if (record_ring_is_broken(ownership->ring))
		return ownership->taken;
	return ownership->taken && record_ring_owner(ownership->ring, owner) &&
	       memcmp(owner, ownership->epoch, sizeof(owner)) == 0;
}

int ring_ownership_announce(struct ring_ownership *ownership, uint64_t seq)
{
	return ring_ownership_holds(ownership) ? record_ring_mark(ownership->ring, seq) : 0;
}

bool ring_ownership_can_announce(const struct ring_ownership *ownership)
{
	return record_ring_can_mark(ownership->ring);
}

int ring_ownership_sent(struct ring_ownership *ownership, uint64_t seq)
{
	int r;

	if (!ring_ownership_holds(ownership))
		return 0;
	r = release_queue_push(&ownership->releases, ownership->ring, seq);
	/* The send window holds what was read, so the guest must not run out of room because of it. */
	record_ring_release_crowded(ownership->ring);
	return r;
}

void ring_ownership_acknowledged(struct ring_ownership *ownership, uint64_t seq)
{
	if (!ring_ownership_holds(ownership))
		return;
	release_queue_pop(&ownership->releases, ownership->ring, seq);
	record_ring_unmark(ownership->ring, seq);
}

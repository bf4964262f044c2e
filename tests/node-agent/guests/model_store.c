#include "tests/support/cmocka_test.h"

#include <string.h>

#include "model_store.h"

void model_store_commit(struct model_store *store)
{
	store->stored = store->received;
}

void model_store_die(struct model_store *store)
{
	store->alive = false;
	store->received = store->stored;
	memset(store->ways, 0, sizeof(store->ways));
}

bool model_store_hello(struct model_store *store, uint32_t agent, uint64_t *seq)
{
	assert_true(store->alive);
	*seq = 0;
	store->ways[agent].nr = 0;
	if (store->received.over[agent])
		return false;
	if (store->received.seq[agent] != store->stored.seq[agent])
		model_store_commit(store);
	*seq = store->stored.seq[agent];
	return true;
}

uint64_t model_store_ask(struct model_store *store, uint32_t agent)
{
	assert_true(store->alive);
	store->received.over[agent] = !store->forgets;
	model_store_commit(store);
	return store->stored.seq[agent];
}

bool model_store_send(struct model_store *store, uint32_t agent, uint64_t seq,
		      const struct model_frame *frame)
{
	struct model_way *way = &store->ways[agent];

	if (way->nr == MODEL_ON_WAY)
		return false;
	if (way->nr == 0)
		way->first_seq = seq;
	assert_true(seq == way->first_seq + way->nr);
	way->frames[way->nr++] = *frame;
	return true;
}

static void apply(struct model_state *state, const struct model_frame *frame)
{
	for (uint32_t i = 0; i < frame->nr; i++)
		state->guests[frame->guest]
			.count[frame->records[i].lane][frame->records[i].number]++;
	if (frame->kind == MODEL_LEDGER)
		memcpy(state->guests[frame->guest].lost, frame->lost, sizeof(frame->lost));
	if (frame->kind == MODEL_END)
		state->guests[frame->guest].ended = true;
}

void model_store_receive(struct model_store *store, uint32_t agent)
{
	struct model_way *way = &store->ways[agent];
	struct model_frame frame = way->frames[0];
	uint64_t seq = way->first_seq;

	assert_true(store->alive);
	if (way->nr == 0)
		return;
	way->first_seq++;
	memmove(way->frames, way->frames + 1, --way->nr * sizeof(*way->frames));
	if (store->received.over[agent])
		return;
	assert_true(seq <= store->received.seq[agent] + 1);
	if (seq <= store->received.seq[agent])
		return;
	store->received.seq[agent] = seq;
	apply(&store->received, &frame);
}

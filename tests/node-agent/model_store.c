#include "cmocka_test.h"

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
}

uint64_t model_store_hello(struct model_store *store, uint32_t agent)
{
	assert_true(store->alive);
	if (store->received.seq[agent] != store->stored.seq[agent])
		model_store_commit(store);
	return store->stored.seq[agent];
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

void model_store_receive(struct model_store *store, uint32_t agent, uint64_t seq,
			 const struct model_frame *frame)
{
	assert_true(store->alive);
	assert_true(seq <= store->received.seq[agent] + 1);
	if (seq <= store->received.seq[agent])
		return;
	store->received.seq[agent] = seq;
	apply(&store->received, frame);
}

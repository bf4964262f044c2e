#include "tests/support/cmocka_test.h"

#include "model_agent.h"

#include <string.h>

#define WINDOW_FRAMES 6u

bool model_agent_holds(const struct model_world *world, uint32_t index)
{
	for (uint32_t i = 0; i < MODEL_AGENTS; i++)
		if (world->agents[i].alive && world->agents[i].entries[index].ring)
			return true;
	return false;
}

void model_agent_start(struct model_world *world)
{
	struct model_agent *agent = world->agents;

	if (world->listening || world->nr_agents == MODEL_EPOCHS)
		return;
	while (agent < world->agents + MODEL_AGENTS && agent->alive)
		agent++;
	if (agent == world->agents + MODEL_AGENTS)
		return;
	*agent = (struct model_agent){.number = world->nr_agents++, .alive = true, .next_seq = 1};
	memset(agent->epoch, (int)agent->number + 1, sizeof(agent->epoch));
	agent->window = send_window_create();
	world->listening = agent;
}

void model_agent_hide(struct model_world *world, struct model_agent *agent)
{
	if (world->listening != agent)
		return;
	world->listening = NULL;
	world->nr_offers = 0;
}

static void drop(struct model_entry *entry)
{
	ring_ownership_fini(&entry->ownership);
	record_ring_unmap(entry->ring);
	entry->ring = NULL;
}

void model_agent_die(struct model_world *world, struct model_agent *agent)
{
	if (!agent->alive)
		return;
	agent->alive = false;
	model_agent_hide(world, agent);
	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			drop(&agent->entries[i]);
	send_window_destroy(agent->window);
}

/* The aggregator refuses it for good. */
static void agent_is_superseded(struct model_world *world, struct model_agent *agent)
{
	world->counts->superseded++;
	model_agent_die(world, agent);
}

static void connect_to_store(struct model_world *world, struct model_agent *agent)
{
	uint64_t seq;

	if (!world->store.alive || agent->connected)
		return;
	if (!model_store_hello(&world->store, agent->number, &seq)) {
		agent_is_superseded(world, agent);
		return;
	}
	assert_int_equal(send_window_ack(agent->window, seq), 0);
	agent->next_seq = seq + 1;
	agent->connected = agent->greeted = true;
}

static void send_one(struct model_world *world, struct model_agent *agent)
{
	size_t size;
	const uint8_t *frame = send_window_frame(agent->window, agent->next_seq, &size);
	struct model_frame copy;

	if (!agent->connected || !world->store.alive || !frame)
		return;
	memcpy(&copy, frame, sizeof(copy));
	if (model_store_send(&world->store, agent->number, agent->next_seq, &copy))
		agent->next_seq++;
}

static void acknowledge(struct model_world *world, struct model_agent *agent)
{
	if (!agent->connected || !world->store.alive)
		return;
	if (world->store.stored.over[agent->number]) {
		agent_is_superseded(world, agent);
		return;
	}
	send_window_ack(agent->window, world->store.stored.seq[agent->number]);
	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			ring_ownership_acknowledged(&agent->entries[i].ownership,
						    send_window_acked_seq(agent->window));
}

static void take_in(struct model_world *world)
{
	struct model_agent *agent = world->listening;
	uint32_t index = world->offers[0];
	struct model_entry *entry = &agent->entries[index];
	uint8_t before[RECORD_RING_EPOCH];
	struct record_ring *ring;

	memmove(world->offers, world->offers + 1, --world->nr_offers * sizeof(*world->offers));
	assert_int_equal(record_ring_map(world->guests[index].fd, &ring), 0);
	if (entry->ring || (world->rule != RING_MODEL_READ_AGAIN &&
			    ring_ownership_claim(ring, agent->epoch, before) == RING_CLAIM_DROP)) {
		world->counts->dropped_offers++;
		record_ring_unmap(ring);
		return;
	}
	*entry = (struct model_entry){.ring = ring};
	ring_ownership_init(&entry->ownership, ring, agent->epoch);
	world->guests[index].beat = world->step;
}

/* What agents before passed on is what the aggregator has of the process. */
static void check_passed_on(const struct model_world *world, const struct model_agent *agent,
			    const struct model_entry *entry)
{
	uint64_t launches, records, sums[MODEL_LANES] = {0};
	const uint32_t index = (uint32_t)(entry - agent->entries);

	if (world->rule != RING_MODEL_REAL)
		return;
	for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
		for (uint32_t i = 0; i < MODEL_RECORDS; i++)
			sums[lane] += world->store.received.guests[index].count[lane][i];
	record_ring_passed_on(entry->ring, &launches, &records);
	assert_int_equal(launches, sums[0] + sums[1]);
	assert_int_equal(records, sums[2]);
}

/* Asks first, and takes the ring in a later step. May die in the middle of it. */
static void take(struct model_world *world, struct model_agent *agent, struct model_entry *entry)
{
	uint8_t before[RECORD_RING_EPOCH];

	if (ring_ownership_claim(entry->ring, agent->epoch, before) != RING_CLAIM_ASK) {
		ring_ownership_take(&entry->ownership);
		check_passed_on(world, agent, entry);
		return;
	}
	uint32_t epoch = before[0] - 1u;
	if (!agent->has_answer[epoch]) {
		if (!world->store.alive || world->store_stalled)
			return;
		agent->answers[epoch] = model_store_ask(&world->store, epoch);
		agent->has_answer[epoch] = true;
		return;
	}
	world->counts->takeovers++;
	if (model_world_dice(world, 16) == 0) {
		record_ring_resume(entry->ring, agent->answers[epoch]);
		model_agent_die(world, agent);
		return;
	}
	ring_ownership_take_after(&entry->ownership, agent->answers[epoch]);
	check_passed_on(world, agent, entry);
}

static void add_records(struct model_entry *entry, uint32_t lane)
{
	struct launch_record launches[MODEL_BATCH];
	struct gpu_record records[MODEL_BATCH];
	struct model_frame *frame = &entry->frame;
	uint32_t room = MODEL_BATCH - frame->nr;
	int nr;

	if (lane + 1 < MODEL_LANES)
		nr = record_ring_read_launches(entry->ring, &entry->snapshot, lane, launches, room);
	else
		nr = record_ring_read_activity(entry->ring, &entry->snapshot, records, room);
	for (int i = 0; i < nr; i++, frame->nr++) {
		frame->records[frame->nr].lane = lane;
		frame->records[frame->nr].number = lane + 1 < MODEL_LANES
							   ? launches[i].correlation_id
							   : records[i].correlation_id;
	}
}

static void push(struct model_agent *agent, const struct model_frame *frame)
{
	assert_int_equal(send_window_push(agent->window, (const uint8_t *)frame, sizeof(*frame), 0),
			 0);
}

static void push_ledger(struct model_agent *agent, const struct model_entry *entry, uint32_t index)
{
	static struct ledger_entry entries[(RECORD_DEVICES_MAX + 1) * LEDGER_REASONS];
	struct model_frame frame = {.kind = MODEL_LEDGER, .guest = index};
	int nr = record_ring_ledger(entry->ring, entries, sizeof(entries) / sizeof(*entries));

	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++) {
		if (entries[i].reason == LEDGER_LAUNCH_RING_FULL)
			frame.lost[0] += entries[i].count;
		if (entries[i].reason == LEDGER_RECORD_RING_FULL)
			frame.lost[MODEL_LANES - 1] += entries[i].count;
	}
	push(agent, &frame);
}

static void end_pass(struct model_agent *agent, struct model_entry *entry, uint32_t index)
{
	const struct model_frame end = {.kind = MODEL_END, .guest = index};

	entry->in_pass = false;
	if (!entry->last_pass)
		return;
	push_ledger(agent, entry, index);
	if (entry->died)
		push(agent, &end);
	drop(entry);
}

static void read_some(struct model_agent *agent, struct model_entry *entry, uint32_t index)
{
	entry->frame = (struct model_frame){.kind = MODEL_EVENTS, .guest = index};
	for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
		add_records(entry, lane);
	if (entry->frame.nr)
		entry->work = WORK_ANNOUNCE;
	else
		end_pass(agent, entry, index);
}

/* One step of a pass (guest_process.c): between two of them anything may happen. */
static void pass_step(struct model_agent *agent, struct model_entry *entry, uint32_t index)
{
	struct send_window *window = agent->window;
	uint64_t last = send_window_last_seq(window);

	switch (entry->work) {
	case WORK_READ:
		if (!ring_ownership_holds(&entry->ownership)) {
			drop(entry);
			break;
		}
		if (!entry->in_pass) {
			entry->last_pass = entry->died || agent->leaving;
			record_ring_snapshot(entry->ring, &entry->snapshot);
			entry->in_pass = true;
		}
		if (last - send_window_acked_seq(window) < WINDOW_FRAMES &&
		    ring_ownership_can_announce(&entry->ownership))
			read_some(agent, entry, index);
		break;
	case WORK_ANNOUNCE:
		assert_int_equal(ring_ownership_announce(&entry->ownership, last + 1), 0);
		entry->work = WORK_PUSH;
		break;
	case WORK_PUSH:
		push(agent, &entry->frame);
		entry->work = WORK_SENT;
		break;
	case WORK_SENT:
		assert_int_equal(ring_ownership_sent(&entry->ownership, last), 0);
		entry->work = WORK_READ;
		break;
	}
}

/* A message is made in one go: no other process's comes between its announcement and it. */
static struct model_entry *at_work(struct model_agent *agent, uint32_t *index)
{
	for (*index = 0; *index < MODEL_GUESTS; ++*index)
		if (agent->entries[*index].ring && agent->entries[*index].work != WORK_READ)
			return &agent->entries[*index];
	return NULL;
}

void model_agent_look_at_death(const struct model_world *world, struct model_agent *agent,
			       uint32_t index)
{
	struct model_entry *entry = &agent->entries[index];

	if (entry->ring && !agent->leaving && !world->guests[index].alive)
		entry->died = true;
}

static void look_at_guest(struct model_world *world, struct model_agent *agent, uint32_t index)
{
	struct model_entry *entry = &agent->entries[index];

	if (!entry->ring)
		return;
	model_agent_look_at_death(world, agent, index);
	if (!entry->ownership.taken || ring_ownership_holds(&entry->ownership))
		world->guests[index].beat = world->step;
	if (!entry->ownership.taken)
		take(world, agent, entry);
	else
		pass_step(agent, entry, index);
}

void model_agent_step(struct model_world *world, struct model_agent *agent)
{
	uint32_t index;

	if (!agent->alive || agent->stalled)
		return;
	struct model_entry *entry = at_work(agent, &index);
	if (entry && model_world_dice(world, 4)) {
		pass_step(agent, entry, index);
		return;
	}
	switch (model_world_dice(world, 6)) {
	case 0:
		connect_to_store(world, agent);
		break;
	case 1:
		acknowledge(world, agent);
		break;
	case 2:
		if (world->nr_offers && agent == world->listening && agent->greeted)
			take_in(world);
		break;
	case 3:
		send_one(world, agent);
		break;
	default:
		if (!entry)
			look_at_guest(world, agent, model_world_dice(world, world->nr_guests));
		break;
	}
}

void model_agent_leave(struct model_world *world, struct model_agent *agent)
{
	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			return;
	if (send_window_acked_seq(agent->window) != send_window_last_seq(agent->window))
		return;
	model_agent_die(world, agent);
}

#include "cmocka_test.h"

#include "ring_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_store.h"
#include "node-agent/ring_ownership.h"
#include "node-agent/send_window.h"
#include "proto/definition.h"

#define STEPS         64u 
#define SETTLED       4000u /* steps within which a world without faults comes to rest */
#define WINDOW_FRAMES 6u
#define OFFERS_MAX    8u
#define PATIENCE      10u/* steps without a beat: the guest offers its ring again */

static const struct record_ring_sizes sizes = {
	.launch_lanes = MODEL_LANES - 1,
	.launch_lane_records = 8,
	.activity_records = 8,
	.definition_bytes = 2 * DEFINITION_SIZE_MAX,
	.stacks = 2,
	.stack_words = 16,
	.codes = 2,
	.code_words = 16,
};

enum work { WORK_READ, WORK_ANNOUNCE, WORK_PUSH, WORK_SENT };

/* A process as its agent sees it. */
struct entry {
	struct record_ring *ring; /* owns; NULL: free */
	struct ring_ownership ownership;
	struct record_ring_snapshot snapshot;
	bool in_pass, last_pass, died, over;
	enum work work;
	struct model_frame frame; /* read, and not yet in the window */
};

struct agent {
	uint32_t number; /* its epoch */
	uint8_t epoch[RECORD_RING_EPOCH];
	bool alive, stalled, leaving, connected;
	struct send_window *window;
	uint64_t next_seq;
	struct entry entries[MODEL_GUESTS];
};

struct guest {
	struct record_ring *ring;
	int fd; /* kept for the next agent */
	bool alive, finished, unreachable;
	uint32_t produced[MODEL_LANES];
	uint64_t lost[MODEL_LANES];
	uint64_t asked, beat;
};

struct world {
	uint64_t random, step;
	enum ring_model_rule rule;
	struct guest guests[MODEL_GUESTS];
	uint32_t nr_guests;
	struct agent agent; /* one at a time can listen */
	uint32_t nr_agents;
	uint32_t offers[OFFERS_MAX], nr_offers; /* in the socket's queue */
	struct model_store store;
	struct ring_model_counts *counts;
};

static uint32_t dice(struct world *world, uint32_t sides)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return (uint32_t)((world->random * 0x2545f4914f6cdd1dull) >> 33) % sides;
}

/* ---- guests */

static void guest_start(struct guest *guest)
{
	assert_int_equal(record_ring_create(&sizes, &guest->ring, &guest->fd), 0);
	guest->alive = true;
	for (uint32_t lane = 0; lane + 1 < MODEL_LANES; lane++)
		assert_int_equal(record_ring_claim_lane(guest->ring), lane);
}

static void produce(struct guest *guest, uint32_t lane)
{
	uint32_t number = guest->produced[lane];
	struct launch_record launch = {.time_ns = 1, .correlation_id = number};
	struct gpu_record record = {.start_ns = 1, .end_ns = 1, .correlation_id = number};
	bool fits;

	if (number == MODEL_RECORDS)
		return;
	if (lane + 1 < MODEL_LANES)
		fits = record_ring_push_launch(guest->ring, lane, &launch);
	else
		fits = record_ring_push_activity(guest->ring, &record, 1) == 1;
	if (!fits && lane + 1 == MODEL_LANES)
		record_ring_count(guest->ring, 0, LEDGER_RECORD_RING_FULL, 1, 0);
	/* What the guest could not write has no number: it is never read, and must be in the ledger. */
	if (fits)
		guest->produced[lane]++;
	else
		guest->lost[lane]++;
}

static void offer(struct world *world, uint32_t index)
{
	struct guest *guest = &world->guests[index];

	if (!world->agent.alive || world->agent.leaving || world->nr_offers == OFFERS_MAX)
		return;
	guest->asked = world->step;
	world->offers[world->nr_offers++] = index;
}

static void guest_step(struct world *world, uint32_t index)
{
	struct guest *guest = &world->guests[index];
	uint64_t heard = guest->beat > guest->asked ? guest->beat : guest->asked;

	if (!guest->alive)
		return;
	for (uint32_t i = dice(world, 4); i > 0 && !guest->finished; i--)
		produce(guest, dice(world, MODEL_LANES));
	if (heard + PATIENCE <= world->step)
		offer(world, index);
}

static void guest_end(struct world *world, uint32_t index, bool with_goodbye)
{
	struct guest *guest = &world->guests[index];

	if (!guest->alive)
		return;
	if (with_goodbye)
		record_ring_finish(guest->ring);
	guest->finished = true;
	guest->alive = false;
}

/* ---- agents */

static bool is_held(const struct world *world, uint32_t index)
{
	return world->agent.alive && world->agent.entries[index].ring;
}

static void agent_start(struct world *world)
{
	struct agent *agent = &world->agent;

	if (agent->alive || world->nr_agents == MODEL_EPOCHS)
		return;
	*agent = (struct agent){.number = world->nr_agents++, .alive = true, .next_seq = 1};
	memset(agent->epoch, (int)agent->number + 1, sizeof(agent->epoch));
	agent->window = send_window_create();
}

static void drop(struct entry *entry)
{
	ring_ownership_fini(&entry->ownership);
	record_ring_unmap(entry->ring);
	entry->ring = NULL;
}

static void agent_die(struct world *world)
{
	struct agent *agent = &world->agent;

	if (!agent->alive)
		return;
	agent->alive = false;
	world->nr_offers = 0;
	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			drop(&agent->entries[i]);
	send_window_destroy(agent->window);
}

static void connect_to_store(struct world *world)
{
	struct agent *agent = &world->agent;

	if (!world->store.alive || agent->connected)
		return;
	uint64_t seq = model_store_hello(&world->store, agent->number);
	assert_int_equal(send_window_ack(agent->window, seq), 0);
	agent->next_seq = seq + 1;
	agent->connected = true;
}

static void send_one(struct world *world)
{
	struct agent *agent = &world->agent;
	size_t size;
	const uint8_t *frame = send_window_frame(agent->window, agent->next_seq, &size);
	struct model_frame copy;

	if (!agent->connected || !world->store.alive || !frame)
		return;
	memcpy(&copy, frame, sizeof(copy));
	model_store_receive(&world->store, agent->number, agent->next_seq++, &copy);
}

static void acknowledge(struct world *world)
{
	struct agent *agent = &world->agent;

	if (!agent->connected || !world->store.alive)
		return;
	send_window_ack(agent->window, world->store.stored.seq[agent->number]);
	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			ring_ownership_acknowledged(&agent->entries[i].ownership,
						    send_window_acked_seq(agent->window));
}

static void take_in(struct world *world)
{
	struct agent *agent = &world->agent;
	uint32_t index = world->offers[0];
	struct entry *entry = &agent->entries[index];
	uint8_t before[RECORD_RING_EPOCH];
	struct record_ring *ring;

	memmove(world->offers, world->offers + 1, --world->nr_offers * sizeof(*world->offers));
	assert_int_equal(record_ring_map(world->guests[index].fd, &ring), 0);
	if (entry->ring ||
	    (world->rule == RING_MODEL_REAL &&
	     ring_ownership_claim(ring, agent->epoch, before) == RING_CLAIM_DROP)) {
		world->counts->dropped_offers++;
		record_ring_unmap(ring);
		return;
	}
	*entry = (struct entry){.ring = ring};
	ring_ownership_init(&entry->ownership, ring, agent->epoch);
	world->guests[index].beat = world->step;
}

/* May die in the middle of it. */
static void take(struct world *world, struct entry *entry)
{
	uint8_t before[RECORD_RING_EPOCH];

	if (ring_ownership_claim(entry->ring, world->agent.epoch, before) != RING_CLAIM_ASK) {
		ring_ownership_take(&entry->ownership);
		return;
	}
	if (!world->store.alive)
		return;
	uint64_t seq = model_store_hello(&world->store, before[0] - 1u);
	world->counts->takeovers++;
	if (dice(world, 16) == 0) {
		record_ring_resume(entry->ring, seq);
		agent_die(world);
		return;
	}
	ring_ownership_take_after(&entry->ownership, seq);
}

static void add_records(struct entry *entry, uint32_t lane)
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

static void push(struct world *world, const struct model_frame *frame)
{
	assert_int_equal(send_window_push(world->agent.window, (const uint8_t *)frame,
					  sizeof(*frame)),
			 0);
}

static void push_ledger(struct world *world, const struct entry *entry, uint32_t index)
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
	push(world, &frame);
}

static void end_pass(struct world *world, struct entry *entry, uint32_t index)
{
	const struct model_frame end = {.kind = MODEL_END, .guest = index};

	entry->in_pass = false;
	if (!entry->last_pass)
		return;
	push_ledger(world, entry, index);
	if (entry->died)
		push(world, &end);
	drop(entry);
}

static void read_some(struct world *world, struct entry *entry, uint32_t index)
{
	entry->frame = (struct model_frame){.kind = MODEL_EVENTS, .guest = index};
	for (uint32_t lane = 0; lane < MODEL_LANES; lane++)
		add_records(entry, lane);
	if (entry->frame.nr)
		entry->work = WORK_ANNOUNCE;
	else
		end_pass(world, entry, index);
}

/* One step of a pass (guest_process.c): between two of them anything may happen. */
static void pass_step(struct world *world, struct entry *entry, uint32_t index)
{
	struct send_window *window = world->agent.window;
	uint64_t last = send_window_last_seq(window);

	switch (entry->work) {
	case WORK_READ:
		if (!entry->in_pass) {
			entry->last_pass = entry->died || world->agent.leaving;
			record_ring_snapshot(entry->ring, &entry->snapshot);
			entry->in_pass = true;
		}
		if (last - send_window_acked_seq(window) < WINDOW_FRAMES &&
		    ring_ownership_can_announce(&entry->ownership))
			read_some(world, entry, index);
		break;
	case WORK_ANNOUNCE:
		assert_int_equal(ring_ownership_announce(&entry->ownership, last + 1), 0);
		entry->work = WORK_PUSH;
		break;
	case WORK_PUSH:
		push(world, &entry->frame);
		entry->work = WORK_SENT;
		break;
	case WORK_SENT:
		assert_int_equal(ring_ownership_sent(&entry->ownership, last), 0);
		entry->work = WORK_READ;
		break;
	}
}

/* A message is made in one go: no other process's comes between its announcement and it. */
static struct entry *at_work(struct agent *agent, uint32_t *index)
{
	for (*index = 0; *index < MODEL_GUESTS; ++*index)
		if (agent->entries[*index].ring && agent->entries[*index].work != WORK_READ)
			return &agent->entries[*index];
	return NULL;
}

/* An agent that leaves has looked at all of them before, and looks no more (process_table_end_all()). */
static void look_at_death(struct world *world, uint32_t index)
{
	struct entry *entry = &world->agent.entries[index];

	if (entry->ring && !world->agent.leaving && !world->guests[index].alive)
		entry->died = true;
}

static void look_at_guest(struct world *world, uint32_t index)
{
	struct entry *entry = &world->agent.entries[index];

	if (!entry->ring)
		return;
	look_at_death(world, index);
	world->guests[index].beat = world->step;
	if (!entry->ownership.taken)
		take(world, entry);
	else
		pass_step(world, entry, index);
}

static void agent_step(struct world *world)
{
	struct agent *agent = &world->agent;
	uint32_t index;

	if (!agent->alive || agent->stalled)
		return;
	struct entry *entry = at_work(agent, &index);
	if (entry && dice(world, 4)) {
		pass_step(world, entry, index);
		return;
	}
	switch (dice(world, 6)) {
	case 0:
		connect_to_store(world);
		break;
	case 1:
		acknowledge(world);
		break;
	case 2:
		if (world->nr_offers)
			take_in(world);
		break;
	case 3:
		send_one(world);
		break;
	default:
		if (!entry)
			look_at_guest(world, dice(world, world->nr_guests));
		break;
	}
}

/* It was asked to end: no process is left, and all of its messages are stored. */
static void agent_leave(struct world *world)
{
	struct agent *agent = &world->agent;

	for (uint32_t i = 0; i < MODEL_GUESTS; i++)
		if (agent->entries[i].ring)
			return;
	if (send_window_acked_seq(agent->window) != send_window_last_seq(agent->window))
		return;
	agent_die(world);
}

/* ---- the world */

static void store_die(struct world *world)
{
	if (!world->store.alive)
		return;
	world->counts->store_deaths++;
	model_store_die(&world->store);
	world->agent.connected = false;
}

static void agent_fault(struct world *world)
{
	struct agent *agent = &world->agent;

	switch (dice(world, 5)) {
	case 0:
		world->counts->deaths += agent->alive;
		agent_die(world);
		break;
	case 1:
		if (!agent->alive || agent->leaving || agent->stalled)
			break;
		world->counts->departures++;
		for (uint32_t i = 0; i < world->nr_guests; i++)
			look_at_death(world, i);
		agent->leaving = true; /* its socket is gone, and what waits there */
		world->nr_offers = 0;
		break;
	default:
		world->counts->stalls += agent->alive && !agent->stalled;
		agent->stalled = true;
		break;
	}
}

static void fault(struct world *world)
{
	switch (dice(world, 6)) {
	case 0:
		store_die(world);
		break;
	case 1:
		guest_end(world, dice(world, world->nr_guests), dice(world, 2));
		break;
	default:
		agent_fault(world);
		break;
	}
}

static void heal(struct world *world)
{
	world->store.alive = true;
	world->agent.stalled = false;
	agent_start(world);
}

/* A ring that nobody has any more is lost, and the account of its process stays open. */
static void look_for_lost_rings(struct world *world)
{
	for (uint32_t i = 0; i < world->nr_guests; i++) {
		bool offered = false;

		for (uint32_t k = 0; k < world->nr_offers; k++)
			offered |= world->offers[k] == i;
		if (!world->guests[i].alive && !offered && !is_held(world, i))
			world->guests[i].unreachable = true;
	}
}

static void step(struct world *world, uint32_t fault_of, uint32_t heal_of)
{
	world->step++;
	if (dice(world, fault_of) == 0)
		fault(world);
	if (dice(world, heal_of) == 0)
		heal(world);
	guest_step(world, dice(world, world->nr_guests));
	for (uint32_t i = dice(world, 8); i > 0; i--)
		agent_step(world);
	if (world->agent.alive && world->agent.leaving && !world->agent.stalled)
		agent_leave(world);
	if (world->store.alive && dice(world, 4) == 0)
		model_store_commit(&world->store);
	look_for_lost_rings(world);
}

static bool is_settled(const struct world *world)
{
	for (uint32_t i = 0; i < world->nr_guests; i++)
		if (world->guests[i].alive || is_held(world, i))
			return false;
	return world->nr_offers == 0 && world->agent.alive &&
	       send_window_acked_seq(world->agent.window) ==
		       send_window_last_seq(world->agent.window);
}

/* No fault any more: guests record a while, and end one after the other. */
static bool settle(struct world *world)
{
	for (uint32_t i = 0; i < SETTLED; i++) {
		heal(world);
		for (uint32_t k = 0; k < world->nr_guests; k++)
			if (i > 8 && is_held(world, k) && dice(world, 8) == 0)
				guest_end(world, k, true);
		step(world, UINT32_MAX, 1);
		if (is_settled(world))
			return true;
	}
	return false;
}

/* ---- what must be so */

static const char *check_guest(const struct world *world, uint32_t index)
{
	const struct guest *guest = &world->guests[index];
	uint64_t launches = 0, lost_launches = 0;

	for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
		uint64_t delivered = 0;

		for (uint32_t i = 0; i < guest->produced[lane]; i++) {
			uint8_t count = world->store.stored.guests[index].count[lane][i];

			if (count > 1)
				return "a record was delivered twice";
			delivered += count;
		}
		world->counts->records += delivered;
		world->counts->lost += guest->lost[lane] + guest->produced[lane] - delivered;
		if (lane + 1 < MODEL_LANES) {
			launches += delivered;
			lost_launches += guest->lost[lane] + guest->produced[lane];
		} else if (world->store.stored.guests[index].ended &&
			   delivered + world->store.stored.guests[index].lost[lane] !=
				   guest->produced[lane] + guest->lost[lane]) {
			return "GPU records are neither delivered nor counted, or both";
		}
	}
	if (!world->store.stored.guests[index].ended) {
		world->counts->unfinished++;
		return guest->unreachable ? NULL : "a process's account was not closed";
	}
	return launches + world->store.stored.guests[index].lost[0] == lost_launches
		       ? NULL
		       : "launches are neither delivered nor counted, or both";
}

static const char *check(const struct world *world)
{
	const char *wrong = NULL;

	for (uint32_t i = 0; i < world->nr_guests && !wrong; i++)
		wrong = check_guest(world, i);
	return wrong;
}

const char *ring_model_run(uint64_t seed, enum ring_model_rule rule,
			   struct ring_model_counts *counts)
{
	static struct world world;
	const char *wrong = "the world did not come to rest";

	memset(&world, 0, sizeof(world));
	world.random = (seed + 1) * 0x9e3779b97f4a7c15ull;
	world.rule = rule;
	world.counts = counts;
	world.store.alive = true;
	world.nr_guests = 1 + (dice(&world, 8) == 0);
	agent_start(&world);
	for (uint32_t i = 0; i < world.nr_guests; i++) {
		guest_start(&world.guests[i]);
		offer(&world, i);
	}
	for (uint32_t i = 0; i < STEPS; i++)
		step(&world, 16, 8);
	if (settle(&world))
		wrong = check(&world);
	agent_die(&world);
	for (uint32_t i = 0; i < world.nr_guests; i++) {
		record_ring_destroy(world.guests[i].ring);
		close(world.guests[i].fd);
	}
	return wrong;
}

#include "tests/support/cmocka_test.h"

#include "ring_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_agent.h"
#include "proto/definition.h"

#define STEPS    64u
#define SETTLED  4000u /* steps within which a world without faults comes to rest */
#define PATIENCE 10u   /* steps without a beat: the guest offers its ring again */

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

/* ---- guests */

static void guest_start(struct model_guest *guest)
{
	assert_int_equal(record_ring_create(&sizes, &guest->ring, &guest->fd), 0);
	guest->alive = true;
	for (uint32_t lane = 0; lane + 1 < MODEL_LANES; lane++)
		assert_int_equal(record_ring_claim_lane(guest->ring), lane);
}

static void produce(struct model_guest *guest, uint32_t lane)
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

static void offer(struct model_world *world, uint32_t index)
{
	struct model_guest *guest = &world->guests[index];

	if (!world->listening || world->nr_offers == MODEL_OFFERS)
		return;
	guest->asked = world->step;
	world->offers[world->nr_offers++] = index;
}

static void guest_step(struct model_world *world, uint32_t index)
{
	struct model_guest *guest = &world->guests[index];
	uint64_t heard = guest->beat > guest->asked ? guest->beat : guest->asked;

	if (!guest->alive)
		return;
	for (uint32_t i = model_world_dice(world, 4); i > 0 && !guest->finished; i--)
		produce(guest, model_world_dice(world, MODEL_LANES));
	if (heard + PATIENCE <= world->step)
		offer(world, index);
}

static void guest_end(struct model_world *world, uint32_t index, bool with_goodbye)
{
	struct model_guest *guest = &world->guests[index];

	if (!guest->alive)
		return;
	if (with_goodbye)
		record_ring_finish(guest->ring);
	guest->finished = true;
	guest->alive = false;
}

/* ---- the world */

static void store_die(struct model_world *world)
{
	if (!world->store.alive)
		return;
	world->counts->store_deaths++;
	model_store_die(&world->store);
	for (uint32_t i = 0; i < MODEL_AGENTS; i++)
		world->agents[i].connected = false;
}

static void store_step(struct model_world *world)
{
	if (!world->store.alive || world->store_stalled)
		return;
	for (uint32_t i = model_world_dice(world, 8); i > 0; i--)
		model_store_receive(&world->store, model_world_dice(world, world->nr_agents));
	if (model_world_dice(world, 4) == 0)
		model_store_commit(&world->store);
}

static void agent_is_told_to_leave(struct model_world *world, struct model_agent *agent)
{
	for (uint32_t i = 0; i < world->nr_guests; i++)
		model_agent_look_at_death(world, agent, i);
	agent->leaving = true;
	model_agent_hide(world, agent);
}

static void agent_fault(struct model_world *world, struct model_agent *agent)
{
	if (!agent->alive)
		return;
	switch (model_world_dice(world, 6)) {
	case 0:
		world->counts->deaths++;
		model_agent_die(world, agent);
		break;
	case 1:
		if (agent->leaving || agent->stalled)
			break;
		world->counts->departures++;
		agent_is_told_to_leave(world, agent);
		break;
	case 2:
		/* Somebody removes its socket, and it lives on. */
		world->counts->displaced += world->listening == agent;
		model_agent_hide(world, agent);
		break;
	default:
		world->counts->stalls += !agent->stalled;
		agent->stalled = true;
		break;
	}
}

static void fault(struct model_world *world)
{
	struct model_agent *agent;

	switch (model_world_dice(world, 7)) {
	case 0:
		store_die(world);
		break;
	case 1:
		world->counts->store_stalls += !world->store_stalled;
		world->store_stalled = true;
		break;
	case 2:
		guest_end(world, model_world_dice(world, world->nr_guests),
			  model_world_dice(world, 2));
		break;
	default:
		agent = &world->agents[model_world_dice(world, MODEL_AGENTS)];
		agent_fault(world, agent->alive || !world->listening ? agent : world->listening);
		break;
	}
}

static void heal(struct model_world *world)
{
	world->store.alive = true;
	world->store_stalled = false;
	for (uint32_t i = 0; i < MODEL_AGENTS; i++)
		world->agents[i].stalled = false;
	model_agent_start(world);
}

/* A ring that nobody has any more is lost, and the account of its process stays open. */
static void look_for_lost_rings(struct model_world *world)
{
	for (uint32_t i = 0; i < world->nr_guests; i++) {
		bool offered = false;

		for (uint32_t k = 0; k < world->nr_offers; k++)
			offered |= world->offers[k] == i;
		if (!world->guests[i].alive && !offered && !model_agent_holds(world, i))
			world->guests[i].unreachable = true;
	}
}

static void step(struct model_world *world, uint32_t fault_of, uint32_t heal_of)
{
	world->step++;
	if (model_world_dice(world, fault_of) == 0)
		fault(world);
	if (model_world_dice(world, heal_of) == 0)
		heal(world);
	guest_step(world, model_world_dice(world, world->nr_guests));
	for (uint32_t i = 0; i < MODEL_AGENTS; i++) {
		struct model_agent *agent = &world->agents[i];

		for (uint32_t k = model_world_dice(world, 8); k > 0; k--)
			model_agent_step(world, agent);
		if (agent->alive && agent->leaving && !agent->stalled)
			model_agent_leave(world, agent);
	}
	store_step(world);
	look_for_lost_rings(world);
}

static bool is_settled(const struct model_world *world)
{
	for (uint32_t i = 0; i < world->nr_guests; i++)
		if (world->guests[i].alive || model_agent_holds(world, i))
			return false;
	for (uint32_t i = 0; i < MODEL_AGENTS; i++) {
		const struct model_agent *agent = &world->agents[i];

		if (agent->alive &&
		    send_window_acked_seq(agent->window) != send_window_last_seq(agent->window))
			return false;
	}
	return world->nr_offers == 0 && world->listening;
}

/* No fault any more: agents without a socket leave, and guests record a while, and end one after the other. */
static bool settle(struct model_world *world)
{
	for (uint32_t i = 0; i < SETTLED; i++) {
		heal(world);
		for (uint32_t k = 0; k < MODEL_AGENTS; k++)
			if (world->agents[k].alive && !world->agents[k].leaving &&
			    &world->agents[k] != world->listening)
				agent_is_told_to_leave(world, &world->agents[k]);
		for (uint32_t k = 0; k < world->nr_guests; k++)
			if (i > 8 && model_agent_holds(world, k) && model_world_dice(world, 8) == 0)
				guest_end(world, k, true);
		step(world, UINT32_MAX, 1);
		if (is_settled(world))
			return true;
	}
	return false;
}

/* ---- what must be so */

static const char *check_guest(const struct model_world *world, uint32_t index)
{
	const struct model_guest *guest = &world->guests[index];
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

static const char *check(const struct model_world *world)
{
	const char *wrong = NULL;

	for (uint32_t i = 0; i < world->nr_guests && !wrong; i++)
		wrong = check_guest(world, i);
	return wrong;
}

const char *ring_model_run(uint64_t seed, enum ring_model_rule rule,
			   struct ring_model_counts *counts)
{
	static struct model_world world;
	const char *wrong = "the world did not come to rest";

	memset(&world, 0, sizeof(world));
	world.random = (seed + 1) * 0x9e3779b97f4a7c15ull;
	world.rule = rule;
	world.counts = counts;
	world.store.alive = true;
	world.store.forgets = rule == RING_MODEL_FORGET;
	world.nr_guests = 1 + (model_world_dice(&world, 8) == 0);
	model_agent_start(&world);
	for (uint32_t i = 0; i < world.nr_guests; i++) {
		guest_start(&world.guests[i]);
		offer(&world, i);
	}
	for (uint32_t i = 0; i < STEPS; i++)
		step(&world, 16, 8);
	if (settle(&world))
		wrong = check(&world);
	for (uint32_t i = 0; i < MODEL_AGENTS; i++)
		model_agent_die(&world, &world.agents[i]);
	for (uint32_t i = 0; i < world.nr_guests; i++) {
		record_ring_destroy(world.guests[i].ring);
		close(world.guests[i].fd);
	}
	return wrong;
}

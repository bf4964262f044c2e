#include "profile_cost.h"

#include "profile.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

static_assert(LEDGER_METER_NATIVE - LEDGER_METER_ENTRY == PROFILE_COST_NATIVE &&
		      LEDGER_METER_PYTHON - LEDGER_METER_ENTRY == PROFILE_COST_PYTHON &&
		      LEDGER_METER_INTERN - LEDGER_METER_ENTRY == PROFILE_COST_INTERN &&
		      LEDGER_METER_EXIT - LEDGER_METER_ENTRY == PROFILE_COST_EXIT &&
		      PROFILE_COST_EXIT + 1 == PROFILE_COST_PARTS,
	      "add_process() counts on it");

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

static struct profile_cost_count *count_of(struct profile_cost *cost, uint32_t reason)
{
	switch (reason) {
	case LEDGER_METER:
		return &cost->calls;
	case LEDGER_METER_OUTLIER:
		return &cost->outliers;
	case LEDGER_METER_STACKS:
		return &cost->stacks;
	case LEDGER_METER_THREADS:
		return &cost->threads;
	case LEDGER_METER_WALL:
		return &cost->processes;
	case LEDGER_METER_FLUSHES:
		return &cost->flushes;
	case LEDGER_METER_BUFFERS:
		return &cost->buffers;
	case LEDGER_METER_WINDOWS:
		return &cost->windows;
	default:
		return NULL;
	}
}

static void add_process(struct profile_cost *cost, const struct ledger_entry *entry)
{
	struct profile_cost_count *count = count_of(cost, entry->reason);

	if (count) {
		add(&count->count, entry->count);
		add(&count->ns, entry->ns);
	} else if (entry->reason >= LEDGER_METER_ENTRY && entry->reason <= LEDGER_METER_EXIT) {
		add(&cost->part_ns[entry->reason - LEDGER_METER_ENTRY], entry->ns);
		if (entry->reason == LEDGER_METER_ENTRY)
			add(&cost->metered, entry->count);
	} else if (entry->reason == LEDGER_METER_TABLES) {
		add(&cost->table_bytes, entry->count);
		add(&cost->table_ns, entry->ns);
	}
}

/* Takes the process's busiest thread, if no other process has one in which the guest took as much. */
static void take_busiest(struct profile_cost *cost, const struct roster_process *process)
{
	struct profile_cost_count busiest = {0};
	uint64_t thread_ns = 0;

	for (uint32_t i = 0; i < process->nr_ledger; i++) {
		const struct ledger_entry *entry = &process->ledger[i];

		if (entry->reason == LEDGER_METER_BUSIEST)
			busiest = (struct profile_cost_count){entry->count, entry->ns};
		else if (entry->reason == LEDGER_METER_BUSIEST_THREAD)
			thread_ns = entry->ns;
	}
	if (busiest.ns <= cost->busiest.ns)
		return;
	cost->busiest = busiest;
	cost->busiest_thread_ns = thread_ns;
}

static void add_agent(struct profile_cost *cost, const struct ledger_entry *entry)
{
	if (entry->reason == LEDGER_METER_AGENT) {
		add(&cost->agent_cpu_ns, entry->ns);
		if (entry->count > cost->agent_peak_bytes)
			cost->agent_peak_bytes = entry->count;
	} else if (entry->reason == LEDGER_METER_AGENT_RUN) {
		add(&cost->nr_agents, entry->count);
		add(&cost->agent_run_ns, entry->ns);
	}
}

void profile_cost_sum(const struct profile *profile, struct profile_cost *cost)
{
	const struct collection *collection = profile->collection;

	*cost = (struct profile_cost){0};
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		for (uint32_t k = 0; k < collection->sessions[i]->nr_ledger; k++)
			add_agent(cost, &collection->sessions[i]->ledger[k]);
	for (uint32_t id = 1; id <= roster_size(collection->roster).processes; id++) {
		const struct roster_process *process = roster_process(collection->roster, id);

		for (uint32_t k = 0; k < process->nr_ledger; k++)
			add_process(cost, &process->ledger[k]);
		take_busiest(cost, process);
	}
}

uint64_t profile_cost_guest_ns(const struct profile_cost *cost)
{
	return ledger_add_saturating(cost->calls.ns, cost->stacks.ns);
}

uint64_t profile_cost_share(uint64_t ns, uint64_t of_ns)
{
	unsigned __int128 share = of_ns ? (unsigned __int128)ns * 100000 / of_ns : 0;

	return share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
}

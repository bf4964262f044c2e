#include "agent_pass.h"

#include <malloc.h>

#include "agent_state.h"
#include "run_table.h"

#include "node-agent/guests/process_table.h"
#include "node-agent/probe/probe_guests.h"
#include "node-agent/probe/probe_source.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/publish/publisher.h"
#include "node-agent/watch/bpf_source.h"

#define NS_PER_MS      1000000ull
#define IDLE_INTERVALS 5u /* passes over idle rings come this much later, at most */
#define STACK_RETRY_NS 100000ull
#define CODE_PASS_NS   1000000ull /* imports free what they have run within milliseconds */

#define DICTIONARY_BYTES_MAX (32ull << 20)

void agent_pass_init(struct agent_pass *pass, uint32_t busy_interval_ms)
{
	uint64_t busy_interval_ns =
		(busy_interval_ms ? busy_interval_ms : AGENT_PASS_INTERVAL_MS) * NS_PER_MS;

	*pass = (struct agent_pass){
		.busy_interval_ns = busy_interval_ns,
		.interval_ns = busy_interval_ns,
	};
}

static uint64_t count_read(const struct agent *agent)
{
	uint64_t launches, records;

	process_table_counts(agent->processes, &launches, &records);
	return launches + records + bpf_source_samples(agent->bpf);
}

static void remove_process(struct agent *agent, uint32_t index)
{
	const struct guest_process *process = process_table_at(agent->processes, index);
	struct probe_stacks *probe = guest_process_probe(process);

	if (agent->predecessors && guest_process_is_left(process))
		agent->end.leaves_guests = true;
	struct run_table_sums sums = {
		.lost = guest_process_add_lost(process, agent->pass.lost),
		.unclean = guest_process_is_unclean(process),
		.taken_over = guest_process_is_taken_over(process),
		.seq = publisher_last_seq(agent->publisher),
	};

	guest_process_passed_on(process, &sums.launches, &sums.records);
	sums.launches += guest_process_launches(process);
	sums.records += guest_process_records(process);
	run_table_end(agent->runs, guest_process_run(process), guest_process_uid(process), &sums);
	bpf_source_detach(agent->bpf, process);
	process_table_remove(agent->processes, index);
	agent->pass.has_ended = true;
	probe_source_detach(agent->probe, probe);
}

/* Makes the pass over one process, and removes the process if it is over. */
static int pass_guest(struct agent *agent, uint32_t index, uint64_t now_ns, bool *removed)
{
	struct guest_process *process = process_table_at(agent->processes, index);

	*removed = false;
	if (agent->pass.waits_for_stack && guest_process_probe(process))
		return 0;
	if (guest_process_is_ending(process)) {
		if (!bpf_source_is_read(agent->bpf, process))
			return 0;
		bpf_source_account(agent->bpf, process);
	}
	int r = guest_process_pass(process, now_ns);
	if (r < 0)
		return r;
	if (r == 1)
		agent->pass.waits_for_room = true;
	if (r == 2)
		agent->pass.has_more = true;
	if (r == 3)
		agent->pass.waits_for_names = true;
	if (r == 4)
		agent->pass.delays = true;
	bpf_source_set_blocked(agent->bpf, process, guest_process_is_blocked(process));
	*removed = guest_process_is_over(process);
	if (*removed)
		remove_process(agent, index);
	return 0;
}

/* Makes the pass over the processes from index first up to the one before end. */
static int pass_range(struct agent *agent, uint32_t first, uint32_t end, uint64_t now_ns)
{
	int r = 0;

	while (r == 0 && first < end && first < process_table_count(agent->processes)) {
		bool removed;

		r = pass_guest(agent, first, now_ns, &removed);
		first += !removed;
	}
	return r;
}

static int pass_guests(struct agent *agent, uint64_t now_ns)
{
	uint32_t count = process_table_count(agent->processes);
	uint32_t start = count ? agent->pass.turn++ % count : 0;
	int stacks = probe_guests_pass(agent->probe, agent->processes, now_ns);

	agent->pass.has_more = agent->pass.waits_for_names = agent->pass.delays = false;
	if (stacks < 0)
		return stacks;
	agent->pass.waits_for_stack = stacks == 1;
	int r = pass_range(agent, start, count, now_ns);
	return r ? r : pass_range(agent, 0, start, now_ns);
}

/* Frees the texts and stacks that were sent: the dictionaries know these by their keys alone from now on. */
static void give_dictionaries_back(struct agent *agent)
{
	if (!batch_builder_is_flushed(agent->builder) ||
	    agent->names.asked != stack_dictionary_nr_frames(agent->stacks))
		return;
	string_dictionary_sent(agent->strings);
	stack_dictionary_sent(agent->stacks);
	/* Equal names get one id while they are remembered; that is worth this much memory. */
	if (string_dictionary_bytes(agent->strings) + stack_dictionary_bytes(agent->stacks) >
	    DICTIONARY_BYTES_MAX) {
		string_dictionary_forget(agent->strings);
		stack_dictionary_forget(agent->stacks);
	}
}

/* Gives memory back to the system after a process has ended: the room that the process filled, and holes in the heap.
 * The heap by itself would keep both. */
static void give_memory_back(struct agent *agent)
{
	if (!agent->pass.has_ended)
		return;
	agent->pass.has_ended = false;
	batch_builder_give_back(agent->builder);
	publisher_give_back(agent->publisher);
	malloc_trim(0);
}

/* Returns whether the last pass has read all that was there when it began. */
static bool is_complete(const struct agent_pass *pass)
{
	return pass->has_all_samples && !pass->has_more && !pass->waits_for_room &&
	       !pass->waits_for_stack && !pass->waits_for_names && !pass->delays;
}

/* Plans the next pass. is_idle: the last pass has found nothing. */
static void plan_next(struct agent *agent, bool is_idle, uint64_t now_ns)
{
	struct agent_pass *pass = &agent->pass;
	uint64_t most_ns = IDLE_INTERVALS * pass->busy_interval_ns;

	pass->interval_ns += pass->busy_interval_ns;
	if (!is_idle || pass->waits_for_names || pass->delays)
		pass->interval_ns = pass->busy_interval_ns;
	else if (pass->interval_ns > most_ns)
		pass->interval_ns = most_ns;
	if (pass->waits_for_stack)
		pass->next_ns = now_ns + STACK_RETRY_NS;
	else if (bpf_source_misses_code(agent->bpf, now_ns))
		pass->next_ns = now_ns + CODE_PASS_NS;
	else
		pass->next_ns = now_ns + pass->interval_ns;
}

/* BPF programs' data goes first, for 25 ms at most (BPF_SOURCE_PASS_NS): guests' rings fill meanwhile. */
int agent_pass_run(struct agent *agent, uint64_t now_ns)
{
	struct agent_pass *pass = &agent->pass;
	uint64_t before = count_read(agent);
	int progress = bpf_source_pass(agent->bpf, now_ns), r = progress < 0 ? progress : 0;

	pass->waits_for_room = progress == BPF_SOURCE_NO_ROOM;
	pass->has_all_samples = progress == BPF_SOURCE_ALL;
	if (r == 0 && !pass->waits_for_room)
		r = pass_guests(agent, now_ns);
	if (r == 0)
		r = frame_names_request(&agent->names);
	if (r == 0 && publisher_has_room(agent->publisher))
		r = batch_builder_flush_dictionaries(agent->builder);
	give_dictionaries_back(agent);
	give_memory_back(agent);
	pass->count += r == 0 && is_complete(pass);
	plan_next(agent, count_read(agent) == before, now_ns);
	if (progress == BPF_SOURCE_MORE || pass->has_more)
		pass->next_ns = now_ns;
	return r;
}

bool agent_pass_is_due(const struct agent *agent, uint64_t now_ns)
{
	if (agent->end.phase > PHASE_DRAINING)
		return false;
	if (agent->pass.waits_for_room)
		return publisher_has_room(agent->publisher);
	return now_ns >= agent->pass.next_ns || agent->end.phase == PHASE_DRAINING ||
	       bpf_source_is_urgent(agent->bpf);
}

uint64_t agent_pass_deadline_ns(const struct agent *agent)
{
	if (agent->end.phase > PHASE_DRAINING || agent->pass.waits_for_room)
		return UINT64_MAX;
	return agent->pass.next_ns;
}

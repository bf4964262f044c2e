#include "profile_ledger.h"

#include <string.h>

#include "aggregator/core/memory_account.h"
#include "aggregator/profile/agent_session.h"

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

static void add_entries(struct profile_ledger *sums, const struct ledger_entry *entries,
			uint32_t nr_entries)
{
	for (uint32_t i = 0; i < nr_entries; i++) {
		if (entries[i].reason >= LEDGER_REASONS)
			continue;
		add(&sums->count[entries[i].reason], entries[i].count);
		add(&sums->ns[entries[i].reason], entries[i].ns);
	}
}

static void add_memory(struct profile_ledger *sums, const struct memory_account *account)
{
	uint32_t count;
	const struct memory_sums *memory = memory_account_sums(account, &count);

	for (uint32_t i = 0; i < count; i++) {
		add(&sums->count[LEDGER_FREE_UNKNOWN], memory[i].unknown_frees);
		add(&sums->count[LEDGER_MEMORY_INEXACT],
		    memory[i].replaced + memory[i].untracked + memory[i].late);
	}
}

static void raise_to(uint64_t *count, uint64_t least)
{
	if (*count < least)
		*count = least;
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Most launches without a record never had one, such as a captured graph or a copy of no bytes. If the recording was
 * cut off, they are its last launches. */
static enum ledger_reason expired_as(const struct roster_process *process)
{
	return profile_ledger_of(process, LEDGER_CUT_OFF) ? LEDGER_LAUNCH_UNDELIVERED
							  : LEDGER_LAUNCH_EXPIRED;
}

/* A launch that was given up has expired, and its record is unmatched. Both stand under that reason alone. */
static void add_expired(struct profile_ledger *sums, const struct roster_process *process)
{
	const uint64_t expired = process->counts.expired;

	add(&sums->count[expired_as(process)],
	    expired - min(expired, profile_ledger_of(process, LEDGER_LAUNCH_GIVEN_UP)));
}

void profile_ledger_sum(const struct collection *collection, uint64_t unmatched,
			struct profile_ledger *sums)
{
	const struct roster *roster = collection->roster;
	uint64_t received = 0, failed = 0, unclean = 0;

	memset(sums, 0, sizeof(*sums));
	for (uint32_t i = 0; i < collection->nr_sessions; i++)
		add_entries(sums, collection->sessions[i]->ledger,
			    collection->sessions[i]->nr_ledger);
	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		add_entries(sums, process->ledger, process->nr_ledger);
		received += process->counts.launches;
		failed += process->counts.failed;
		unclean += process->state == PROCESS_UNCLEAN;
		add_expired(sums, process);
		add(&sums->count[LEDGER_INVALID_TIME], process->counts.invalid);
		if (process->memory)
			add_memory(sums, process->memory);
	}
	unclean -= min(unclean, ledger_add_saturating(sums->count[LEDGER_INTERRUPTED_END],
						      sums->count[LEDGER_TERMINATED_END]));
	raise_to(&sums->count[LEDGER_UNCLEAN_END], unclean);
	add(&sums->count[LEDGER_UNMATCHED_RECORD],
	    unmatched - min(unmatched, sums->count[LEDGER_LAUNCH_GIVEN_UP]));
	raise_to(&sums->count[LEDGER_LAUNCHES], received);
	raise_to(&sums->count[LEDGER_LAUNCH_FAILED], failed);
}

uint64_t profile_ledger_of(const struct roster_process *process, uint32_t reason)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (process->ledger[i].reason == reason)
			add(&count, process->ledger[i].count);
	return count;
}

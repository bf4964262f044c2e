#include "watched_account.h"

#include "node-agent/guests/process_ledger.h"
#include "node-agent/kernel/address_stack.h"

#define SETTLE_PASSES 20u

void watched_account_receive(struct watched_account *account, uint64_t duration_ns)
{
	account->received++;
	account->received_ns += duration_ns;
}

void watched_account_receive_open(struct watched_account *account, uint64_t duration_ns)
{
	account->opened++;
	account->opened_ns += duration_ns;
}

void watched_account_set_collectives(struct watched_account *account, uint64_t received)
{
	account->collectives = received;
}

void watched_account_count_short(struct watched_account *account, uint64_t duration_ns)
{
	account->inherited.short_waits++;
	account->inherited.short_waits_ns += duration_ns;
}

void watched_account_count_no_stack(struct watched_account *account)
{
	account->no_stack++;
}

void watched_account_count_lacks(struct watched_account *account, uint32_t lacks)
{
	account->no_python += (lacks & ADDRESS_STACK_NO_PYTHON) != 0;
	account->mismatched += (lacks & ADDRESS_STACK_MISMATCH) != 0;
	account->truncated += (lacks & ADDRESS_STACK_TRUNCATED) != 0;
	account->hurried += (lacks & ADDRESS_STACK_HURRIED) != 0;
}

void watched_account_set_base(struct watched_account *account, const struct sample_counts *base)
{
	account->base = *base;
}

void watched_account_set(struct watched_account *account, const struct sample_counts *counts)
{
	account->total = *counts;
	sample_counts_subtract(&account->total, &account->base);
	sample_counts_add(&account->total, &account->inherited);
}

void watched_account_inherit(struct watched_account *account, const struct watched_account *child)
{
	sample_counts_add(&account->inherited, &child->total);
}

void watched_account_enter(const struct watched_account *account, struct process_ledger *ledger)
{
	const struct sample_counts *total = &account->total;

	process_ledger_set(ledger, LEDGER_SAMPLES, total->samples + account->opened,
			   total->samples_ns + account->opened_ns);
	process_ledger_set(ledger, LEDGER_SAMPLE_RING_FULL, total->lost, total->lost_ns);
	process_ledger_set(ledger, LEDGER_SAMPLE_NO_STACK, account->no_stack, 0);
	process_ledger_set(ledger, LEDGER_PYTHON_OFF, account->no_python, 0);
	process_ledger_set(ledger, LEDGER_STACK_MISMATCH, account->mismatched, 0);
	process_ledger_set(ledger, LEDGER_STACK_TRUNCATED, account->truncated, 0);
	process_ledger_set(ledger, LEDGER_STACK_HURRIED, account->hurried, 0);
	process_ledger_set(ledger, LEDGER_WAIT_SHORT, total->short_waits, total->short_waits_ns);
	process_ledger_set(ledger, LEDGER_PROBE_LOST, total->probes_lost, 0);
	process_ledger_set(ledger, LEDGER_COLLECTIVES, total->collectives, 0);
	process_ledger_set(ledger, LEDGER_COLLECTIVE_LOST, total->collectives_lost, 0);
}

static bool has_come(const struct watched_account *account, const struct sample_counts *counts,
		     struct sample_counts *come)
{
	const struct sample_counts received = {
		.samples = account->received,
		.samples_ns = account->received_ns,
		.collectives = account->collectives,
	};

	return sample_counts_come(counts, &account->base, &received, come);
}

bool watched_account_settles(struct watched_account *account, struct sample_counts *counts,
			     bool last)
{
	struct sample_counts come;

	if (has_come(account, counts, &come))
		return true;
	if (!last && account->nr_asked++ < SETTLE_PASSES)
		return false;
	sample_counts_give_up(counts, &come);
	return true;
}

void watched_account_taken(const struct watched_account *account, struct sample_counts *counts)
{
	struct sample_counts total = account->total;

	sample_counts_subtract(&total, &account->inherited);
	sample_counts_add(&total, &account->base);
	/* Some events that the kernel has counted as sent may belong to the next program. */
	has_come(account, &total, counts);
}

bool watched_account_has_counts(const struct watched_account *account)
{
	const struct sample_counts *total = &account->total;

	return total->samples || total->lost || total->short_waits || total->probes_lost ||
	       total->collectives || account->opened;
}

uint64_t watched_account_samples(const struct watched_account *account)
{
	return account->received + account->opened + account->collectives;
}

#include "stall_account.h"

#include <stdlib.h>

#include "aggregator/core/fold_table.h"
#include "proto/host_sample.h"
#include "report/profile/profile_ledger.h"

static void add(uint64_t *sum, uint64_t more)
{
	*sum = ledger_add_saturating(*sum, more);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t *stall_account_make(const struct profile *profile)
{
	const struct roster *roster = profile->collection->roster;
	const uint32_t nr_processes = roster_size(roster).processes;
	uint64_t *known = calloc(nr_processes + 1ul, sizeof(*known));
	uint64_t *exact = calloc(nr_processes + 1ul, sizeof(*exact));
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(profile->collection->samples, &nr_rows);

	if (!known || !exact) {
		free(known);
		free(exact);
		return NULL;
	}
	for (uint32_t i = 0; i < nr_rows; i++)
		if (rows[i].key.kind >= HOST_SAMPLE_KERNEL &&
		    rows[i].key.process_id <= nr_processes)
			add(rows[i].key.kind == HOST_SAMPLE_EXACT ? &exact[rows[i].key.process_id]
								  : &known[rows[i].key.process_id],
			    rows[i].count);
	for (uint32_t id = 1; id <= nr_processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		add(&known[id], profile_ledger_of(process, LEDGER_KERNEL_SAMPLE_OTHER));
		add(&known[id], profile_ledger_of(process, LEDGER_KERNEL_SAMPLE_LOST));
		add(&exact[id], profile_ledger_of(process, LEDGER_EXACT_SAMPLE_OTHER));
		add(&exact[id], profile_ledger_of(process, LEDGER_EXACT_SAMPLE_LOST));
		known[id] = apart(profile_ledger_of(process, LEDGER_KERNEL_SAMPLES), known[id]);
		add(&known[id], apart(profile_ledger_of(process, LEDGER_EXACT_SAMPLES), exact[id]));
	}
	free(exact);
	return known;
}

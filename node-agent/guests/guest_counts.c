#include "guest_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/ring/record_ring.h"

#define ENTRIES_MAX ((RECORD_DEVICES_MAX + 1u) * LEDGER_REASONS)

void guest_counts_fini(struct guest_counts *counts)
{
	free(counts->entries);
	memset(counts, 0, sizeof(*counts));
}

/* Launches are told from other records by two counters that do not change together, so this count may shrink. The lane
 * in which the guest took most may be another one at the next reading. */
static bool may_shrink(const struct ledger_entry *entry)
{
	return entry->reason == LEDGER_LAUNCHES || entry->reason == LEDGER_METER_BUSIEST ||
	       entry->reason == LEDGER_METER_BUSIEST_THREAD;
}

static bool same_counter(const struct ledger_entry *a, const struct ledger_entry *b)
{
	return a->device_id == b->device_id && a->reason == b->reason;
}

/* Both lists are in one order; a counter that is zero again is missing. */
static bool have_grown(const struct guest_counts *counts, const struct ledger_entry *now,
		       uint32_t nr)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < counts->nr; i++) {
		const struct ledger_entry *before = &counts->entries[i];
		uint32_t at = next;

		if (may_shrink(before))
			continue;
		while (at < nr && !same_counter(&now[at], before))
			at++;
		if (at == nr || now[at].count < before->count || now[at].ns < before->ns)
			return false;
		next = at + 1;
	}
	return true;
}

int guest_counts_read(struct guest_counts *counts, const struct record_ring *ring)
{
	struct ledger_entry now[ENTRIES_MAX];

	if (counts->given_up)
		return 0;
	int nr = record_ring_ledger(ring, now, ENTRIES_MAX);
	if (nr < 0 || !have_grown(counts, now, (uint32_t)nr)) {
		counts->given_up = true;
		return -EPROTO;
	}
	if (array_reserve(&counts->entries, &counts->room, (uint32_t)nr, sizeof(*counts->entries)))
		return -ENOMEM;
	if (nr > 0)
		memcpy(counts->entries, now, (uint32_t)nr * sizeof(*now));
	counts->nr = (uint32_t)nr;
	return 0;
}

#include "process_ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ROWS        (RECORD_DEVICES_MAX + 1u)
#define PROCESS_ROW RECORD_DEVICES_MAX

/* Most processes count a few reasons on a few devices, so the arrays grow as needed. */
struct process_ledger {
	uint64_t own[ROWS][LEDGER_REASONS];
	struct ledger_entry said[LEDGER_REASONS]; /* entries of the process itself */
	struct ledger_entry *base, *entries;      /* own */
	uint32_t nr_base, nr_entries, max_entries;
};

struct process_ledger *process_ledger_create(void)
{
	return calloc(1, sizeof(struct process_ledger));
}

void process_ledger_destroy(struct process_ledger *ledger)
{
	if (!ledger)
		return;
	free(ledger->base);
	free(ledger->entries);
	free(ledger);
}

static uint32_t row_of(uint32_t device_id)
{
	if (device_id == LEDGER_DEVICE_NONE)
		return PROCESS_ROW;
	return device_id < RECORD_DEVICES_MAX ? device_id : RECORD_DEVICES_MAX - 1;
}

void process_ledger_count(struct process_ledger *ledger, uint32_t device_id,
			  enum ledger_reason reason, uint64_t count)
{
	uint64_t *own = &ledger->own[row_of(device_id)][reason];

	*own = ledger_add_saturating(*own, count);
}

void process_ledger_set(struct process_ledger *ledger, enum ledger_reason reason, uint64_t count,
			uint64_t ns)
{
	ledger->said[reason] = (struct ledger_entry){
		.device_id = LEDGER_DEVICE_NONE, .reason = reason, .count = count, .ns = ns};
}

int process_ledger_set_base(struct process_ledger *ledger, const struct ledger_entry *guest,
			    uint32_t count)
{
	struct ledger_entry *base = malloc((count + 1) * sizeof(*base));

	if (!base)
		return -ENOMEM;
	if (count > 0)
		memcpy(base, guest, count * sizeof(*base));
	free(ledger->base);
	ledger->base = base;
	ledger->nr_base = count;
	return 0;
}

/* Launches are told from other records by two counters that do not change together, so `now` may be smaller. */
static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static struct ledger_entry since(const struct process_ledger *ledger,
				 const struct ledger_entry *entry)
{
	struct ledger_entry rest = *entry;

	for (uint32_t i = 0; i < ledger->nr_base; i++) {
		const struct ledger_entry *base = &ledger->base[i];

		if (base->reason != entry->reason || base->device_id != entry->device_id)
			continue;
		rest.count = less(entry->count, base->count);
		rest.ns = less(entry->ns, base->ns);
	}
	return rest;
}

static int put(struct process_ledger *ledger, uint32_t *nr, const struct ledger_entry *entry,
	       bool *changed)
{
	if (entry->count == 0 && entry->ns == 0)
		return 0;
	if (array_reserve(&ledger->entries, &ledger->max_entries, *nr + 1, sizeof(*entry)))
		return -ENOMEM;
	*changed |= *nr >= ledger->nr_entries ||
		    memcmp(&ledger->entries[*nr], entry, sizeof(*entry)) != 0;
	ledger->entries[(*nr)++] = *entry;
	return 0;
}

int process_ledger_update(struct process_ledger *ledger, const struct ledger_entry *guest,
			  uint32_t count)
{
	uint64_t own[ROWS][LEDGER_REASONS];
	uint64_t own_ns[LEDGER_REASONS];
	uint32_t nr = 0;
	bool changed = false;
	int r = 0;

	memcpy(own, ledger->own, sizeof(own));
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
		own[PROCESS_ROW][reason] =
			ledger_add_saturating(own[PROCESS_ROW][reason], ledger->said[reason].count);
		own_ns[reason] = ledger->said[reason].ns;
	}
	for (uint32_t i = 0; i < count && r == 0; i++) {
		struct ledger_entry entry = since(ledger, &guest[i]);

		if (entry.reason < LEDGER_REASONS) {
			uint64_t *mine = &own[row_of(entry.device_id)][entry.reason];

			entry.count = ledger_add_saturating(entry.count, *mine);
			*mine = 0;
			if (row_of(entry.device_id) == PROCESS_ROW) {
				entry.ns = ledger_add_saturating(entry.ns, own_ns[entry.reason]);
				own_ns[entry.reason] = 0;
			}
		}
		r = put(ledger, &nr, &entry, &changed);
	}
	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t reason = 0; reason < LEDGER_REASONS && r == 0; reason++) {
			const struct ledger_entry entry = {
				.device_id = row == PROCESS_ROW ? LEDGER_DEVICE_NONE : row,
				.reason = reason,
				.count = own[row][reason],
				.ns = row == PROCESS_ROW ? own_ns[reason] : 0,
			};

			r = put(ledger, &nr, &entry, &changed);
		}
	changed |= nr != ledger->nr_entries;
	ledger->nr_entries = nr;
	return r ? r : changed;
}

const struct ledger_entry *process_ledger_entries(const struct process_ledger *ledger,
						  uint32_t *count)
{
	*count = ledger->nr_entries;
	return ledger->entries;
}

#include "process_ledger.h"

#include <stdlib.h>
#include <string.h>

#define ROWS        (RECORD_DEVICES_MAX + 1u)
#define PROCESS_ROW RECORD_DEVICES_MAX

struct process_ledger {
	uint64_t own[ROWS][LEDGER_REASONS];
	struct ledger_entry said[LEDGER_REASONS]; /* of the process */
	struct ledger_entry base[ROWS][LEDGER_REASONS];
	struct ledger_entry entries[PROCESS_LEDGER_ENTRIES_MAX];
	struct ledger_entry before[PROCESS_LEDGER_ENTRIES_MAX];
	uint32_t nr_entries;
};

struct process_ledger *process_ledger_create(void)
{
	return calloc(1, sizeof(struct process_ledger));
}

void process_ledger_destroy(struct process_ledger *ledger)
{
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

void process_ledger_set_base(struct process_ledger *ledger, const struct ledger_entry *guest,
			     uint32_t count)
{
	memset(ledger->base, 0, sizeof(ledger->base));
	for (uint32_t i = 0; i < count; i++)
		if (guest[i].reason < LEDGER_REASONS)
			ledger->base[row_of(guest[i].device_id)][guest[i].reason] = guest[i];
}

/* A total that was set anew may be lower than it was. */
static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Since the base. */
static struct ledger_entry since(const struct process_ledger *ledger,
				 const struct ledger_entry *entry)
{
	struct ledger_entry rest = *entry;

	if (entry->reason < LEDGER_REASONS) {
		const struct ledger_entry *base =
			&ledger->base[row_of(entry->device_id)][entry->reason];

		rest.count = less(entry->count, base->count);
		rest.ns = less(entry->ns, base->ns);
	}
	return rest;
}

bool process_ledger_update(struct process_ledger *ledger, const struct ledger_entry *guest,
			   uint32_t count)
{
	uint64_t own[ROWS][LEDGER_REASONS];
	uint64_t own_ns[LEDGER_REASONS];
	uint32_t nr_before = ledger->nr_entries, nr = 0;

	memcpy(own, ledger->own, sizeof(own));
	for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++) {
		own[PROCESS_ROW][reason] =
			ledger_add_saturating(own[PROCESS_ROW][reason], ledger->said[reason].count);
		own_ns[reason] = ledger->said[reason].ns;
	}
	memcpy(ledger->before, ledger->entries, nr_before * sizeof(*ledger->before));
	for (uint32_t i = 0; i < count && nr < PROCESS_LEDGER_ENTRIES_MAX / 2; i++) {
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
		if (entry.count || entry.ns)
			ledger->entries[nr++] = entry;
	}
	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t reason = 0; reason < LEDGER_REASONS; reason++)
			if (own[row][reason] || (row == PROCESS_ROW && own_ns[reason]))
				ledger->entries[nr++] = (struct ledger_entry){
					.device_id = row == PROCESS_ROW ? LEDGER_DEVICE_NONE : row,
					.reason = reason,
					.count = own[row][reason],
					.ns = row == PROCESS_ROW ? own_ns[reason] : 0,
				};
	ledger->nr_entries = nr;
	return nr != nr_before ||
	       memcmp(ledger->entries, ledger->before, nr * sizeof(*ledger->entries)) != 0;
}

const struct ledger_entry *process_ledger_entries(const struct process_ledger *ledger,
						  uint32_t *count)
{
	*count = ledger->nr_entries;
	return ledger->entries;
}

/* Keeps the ledger of one process: its guest's counts and the agent's own additions. Only the agent loop calls it. */
#ifndef PROCESS_LEDGER_H
#define PROCESS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ledger.h"
#include "proto/record.h"

struct process_ledger;

/* Creates an empty ledger; NULL: out of memory. process_ledger_destroy() accepts NULL. */
struct process_ledger *process_ledger_create(void);
void process_ledger_destroy(struct process_ledger *ledger);

/* Adds to the agent's own counts. device_id LEDGER_DEVICE_NONE: it counts for the whole process. Ids from
 * RECORD_DEVICES_MAX on count under the last device. */
void process_ledger_count(struct process_ledger *ledger, uint32_t device_id,
			  enum ledger_reason reason, uint64_t count);

/* Sets the total of a reason that no guest counts, for the whole process. It replaces the last total. */
void process_ledger_set(struct process_ledger *ledger, enum ledger_reason reason, uint64_t count,
			uint64_t ns);

/* Sets the counts that the guest had before it was ours: later entries count from there. 0 or -ENOMEM. */
int process_ledger_set_base(struct process_ledger *ledger, const struct ledger_entry *guest,
			    uint32_t count);

/* Takes the guest's entries (its whole ledger) and adds the agent's own. 1: the sum differs from the last call's, or
 * this is the first call with entries; 0: it does not; -ENOMEM. Counters saturate. */
int process_ledger_update(struct process_ledger *ledger, const struct ledger_entry *guest,
			  uint32_t count);

/* Returns the entries of the last update. Borrowed until the next. */
const struct ledger_entry *process_ledger_entries(const struct process_ledger *ledger,
						  uint32_t *count);

#endif

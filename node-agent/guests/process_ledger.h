/* The ledger of one process: what its guest counted, and what the agent had to add.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_LEDGER_H
#define PROCESS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ledger.h"
#include "proto/record.h"

struct process_ledger;

/* NULL: out of memory. process_ledger_destroy() accepts NULL. */
struct process_ledger *process_ledger_create(void);
void process_ledger_destroy(struct process_ledger *ledger);

/* Adds to the agent's own part. device_id LEDGER_DEVICE_NONE: of the process; one from
 * RECORD_DEVICES_MAX on counts under the last. */
void process_ledger_count(struct process_ledger *ledger, uint32_t device_id,
			  enum ledger_reason reason, uint64_t count);

/* Says what a reason of the process has come to, of one that no guest counts; replaces what was said before. */
void process_ledger_set(struct process_ledger *ledger, enum ledger_reason reason, uint64_t count,
			uint64_t ns);

/* What the guest has counted so far, before it was ours: later entries count from there. 0 or -ENOMEM. */
int process_ledger_set_base(struct process_ledger *ledger, const struct ledger_entry *guest,
			     uint32_t count);

/* Takes the guest's entries (its whole ledger) and adds the agent's own. 1: the sum differs from that
 * of the last call, the first call with entries included; 0: it does not; -ENOMEM. Counters saturate. */
int process_ledger_update(struct process_ledger *ledger, const struct ledger_entry *guest,
			   uint32_t count);

/* The entries of the last update. Borrowed until the next. */
const struct ledger_entry *process_ledger_entries(const struct process_ledger *ledger,
						  uint32_t *count);

#endif

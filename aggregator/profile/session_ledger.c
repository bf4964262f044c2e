#include "session_modules.h"

#include <errno.h>
#include <stdlib.h>

#include "collection.h"
#include "roster.h"

#include "proto/ledger.h"

/* Copies the ledger without impossible entries, and counts those in an entry. The job wrote the ring, and impossible
 * values in a sum would hide the others. NULL: out of memory. */
static struct ledger_entry *believe(const struct message_ledger *message, uint32_t *nr_entries)
{
	struct ledger_entry *ledger = calloc(message->nr_entries + 1, sizeof(*ledger));
	struct ledger_entry untrusted = {.device_id = LEDGER_DEVICE_NONE,
					 .reason = LEDGER_UNTRUSTED_RING};

	*nr_entries = 0;
	for (uint32_t i = 0; i < message->nr_entries && ledger; i++) {
		const struct ledger_entry *entry = &message->entries[i];

		if (entry->count > LEDGER_COUNT_MAX || entry->ns > LEDGER_NS_MAX)
			untrusted.count = ledger_add_saturating(untrusted.count, 1);
		else if (entry->reason == untrusted.reason &&
			 entry->device_id == untrusted.device_id)
			untrusted.count = ledger_add_saturating(untrusted.count, entry->count);
		else
			ledger[(*nr_entries)++] = *entry;
	}
	if (ledger && untrusted.count)
		ledger[(*nr_entries)++] = untrusted;
	return ledger;
}

int session_ledger_apply(struct agent_session *session, struct collection *collection,
			 const struct message *any, const char **reason)
{
	const struct message_ledger *message = &any->ledger;
	uint32_t nr_entries;

	if (!agent_session_defined(session, SESSION_PROCESSES, message->process_id)) {
		*reason = "a ledger of a process that is not defined";
		return REFUSE_UNDEFINED;
	}
	struct ledger_entry *ledger = believe(message, &nr_entries);
	if (!ledger)
		return -ENOMEM;
	if (message->process_id) {
		uint32_t id =
			agent_session_translate(session, SESSION_PROCESSES, message->process_id);
		int error = roster_process_set_ledger(roster_process(collection->roster, id),
						      ledger, nr_entries);

		free(ledger);
		return error;
	}
	free(session->ledger);
	session->ledger = ledger;
	session->nr_ledger = nr_entries;
	session->ledger_changed = true;
	return 0;
}

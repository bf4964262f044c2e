#include "report_behind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report_summary.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

#define NUMBER_SIZE 32u

struct behind {
	bool *is_late; /* owns; by host id */
	uint32_t nr_agents, host;
	uint64_t longest_ns, nr_lost;
};

static const struct ledger_entry *find(const struct agent_session *session)
{
	for (uint32_t i = 0; i < session->nr_ledger; i++)
		if (session->ledger[i].reason == LEDGER_BEHIND && session->ledger[i].count)
			return &session->ledger[i];
	return NULL;
}

static void add_agents(struct behind *behind, const struct collection *collection)
{
	for (uint32_t i = 0; i < collection->nr_sessions; i++) {
		const struct agent_session *session = collection->sessions[i];
		const struct ledger_entry *entry = find(session);

		if (!entry)
			continue;
		behind->nr_agents++;
		behind->is_late[session->host] = true;
		if (entry->ns < behind->longest_ns)
			continue;
		behind->longest_ns = entry->ns;
		behind->host = session->host;
	}
}

static bool is_of_ring(uint32_t reason)
{
	return reason == LEDGER_LAUNCH_RING_FULL || reason == LEDGER_RECORD_RING_FULL ||
	       reason == LEDGER_COLLECTIVE_LOST;
}

static void add_losses(struct behind *behind, const struct roster *roster)
{
	for (uint32_t id = 1; id <= roster_size(roster).processes; id++) {
		const struct roster_process *process = roster_process(roster, id);

		if (!behind->is_late[process->identity.host])
			continue;
		for (uint32_t i = 0; i < process->nr_ledger; i++)
			if (is_of_ring(process->ledger[i].reason))
				behind->nr_lost = ledger_add_saturating(behind->nr_lost,
									process->ledger[i].count);
	}
}

static void write_text(const struct behind *behind, const char *node, char *text)
{
	char agents[NUMBER_SIZE + 16] = "", longest[NUMBER_SIZE], number[NUMBER_SIZE];
	char lost[NUMBER_SIZE + 64] = "nothing was lost by it";

	if (behind->nr_agents > 1)
		snprintf(agents, sizeof(agents), "%s agents, ",
			 report_summary_count(behind->nr_agents, number));
	if (behind->nr_lost)
		snprintf(lost, sizeof(lost), "%s launches and records found no room in rings",
			 report_summary_count(behind->nr_lost, number));
	snprintf(text, REPORT_BEHIND_SIZE,
		 "times that the aggregator was behind: %snode %.255s by up to %s, and %s", agents,
		 node, report_summary_time(behind->longest_ns, longest), lost);
}

int report_behind_text(const struct collection *collection, struct report_names *names,
		       char text[REPORT_BEHIND_SIZE], uint64_t *longest_ns)
{
	const struct roster *roster = collection->roster;
	struct behind behind = {.is_late = calloc(roster_size(roster).hosts + 1, sizeof(bool))};
	uint32_t node = 0;
	int error = 0;

	text[0] = '\0';
	*longest_ns = 0;
	if (!behind.is_late)
		return -ENOMEM;
	add_agents(&behind, collection);
	add_losses(&behind, roster);
	*longest_ns = behind.longest_ns;
	if (behind.host)
		error = report_names_string(names, roster_host(roster, behind.host)->node, &node);
	if (!behind.nr_agents)
		snprintf(text, REPORT_BEHIND_SIZE, "%s", ledger_reason_text(LEDGER_BEHIND));
	else if (!error)
		write_text(&behind, node ? report_names_get(names, node) : "without a name", text);
	free(behind.is_late);
	return error;
}

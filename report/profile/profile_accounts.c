#include "profile_accounts.h"

#include <stdbool.h>
#include <string.h>

#include "proto/batch/statistics_table.h"

/* Accounts of a process stand side by side in a merged profile, which is ordered by identity. */
static bool is_same_process(const struct roster_process *a, const struct roster_process *b)
{
	struct roster_identity identity = a->identity;

	identity.writer = b->identity.writer;
	return memcmp(&identity, &b->identity, sizeof(identity)) == 0;
}

static int join(struct statistics_table *whole, const struct statistics_table *part)
{
	uint32_t nr_calls, nr_configs, nr_metrics;
	const struct message_api_call *calls = statistics_table_calls(part, &nr_calls);
	const struct message_kernel_config *configs = statistics_table_configs(part, &nr_configs);
	const struct message_kernel_metric *metrics = statistics_table_metrics(part, &nr_metrics);
	int error = 0;

	for (uint32_t i = 0; i < nr_calls && !error; i++) {
		const struct message_api_call *known = statistics_table_find_call(whole, &calls[i]);

		if (!known || known->count < calls[i].count)
			error = statistics_table_put_call(whole, &calls[i]);
	}
	for (uint32_t i = 0; i < nr_configs && !error; i++) {
		const struct message_kernel_config *known =
			statistics_table_find_config(whole, &configs[i]);

		if (!known || known->count < configs[i].count)
			error = statistics_table_put_config(whole, &configs[i]);
	}
	for (uint32_t i = 0; i < nr_metrics && !error; i++) {
		const struct message_kernel_metric *known =
			statistics_table_find_metric(whole, &metrics[i]);

		if (!known || known->count < metrics[i].count)
			error = statistics_table_put_metric(whole, &metrics[i]);
	}
	return error;
}

int profile_join_accounts(struct roster *roster)
{
	struct roster_process *whole = roster_process(roster, 1);
	int error = 0;

	for (uint32_t id = 2; id <= roster_size(roster).processes && !error; id++) {
		struct roster_process *process = roster_process(roster, id);

		if (!is_same_process(whole, process)) {
			whole = process;
		} else if (!whole->statistics) {
			whole->statistics = process->statistics;
			process->statistics = NULL;
		} else if (process->statistics) {
			error = join(whole->statistics, process->statistics);
			statistics_table_destroy(process->statistics);
			process->statistics = NULL;
		}
	}
	return error;
}

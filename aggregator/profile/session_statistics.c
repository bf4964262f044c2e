#include "session_modules.h"

#include <errno.h>
#include <stddef.h>

#include "collection.h"
#include "roster.h"

#include "proto/batch/statistics_table.h"

static bool has_config(const struct agent_session *session, const struct statistics_table *table,
		       const struct message_kernel_config *config)
{
	struct message_kernel_config key = *config;

	key.config.name_id =
		agent_session_translate(session, SESSION_STRINGS, config->config.name_id);
	return statistics_table_find_config(table, &key) != NULL;
}

static struct message_kernel_metric translate_metric(const struct agent_session *session,
						     const struct message_kernel_metric *metric)
{
	struct message_kernel_metric own = *metric;

	own.stack_id = agent_session_translate(session, SESSION_NODES, metric->stack_id);
	own.name_id = agent_session_translate(session, SESSION_STRINGS, metric->name_id);
	own.metric = agent_session_translate(session, SESSION_STRINGS, metric->metric);
	return own;
}

static uint32_t count_new_metrics(const struct agent_session *session,
				  const struct statistics_table *table,
				  const struct message_statistics *message)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < message->nr_metrics; i++) {
		const struct message_kernel_metric own =
			translate_metric(session, &message->metrics[i]);

		count += !statistics_table_find_metric(table, &own);
	}
	return count;
}

/* A row that comes twice in a message counts twice, which no agent does. */
static int check_room(const struct agent_session *session, const struct statistics_table *table,
		      const struct message_statistics *message, const char **reason)
{
	uint32_t nr_calls, nr_configs, nr_metrics, new_calls = 0, new_configs = 0;

	statistics_table_calls(table, &nr_calls);
	statistics_table_configs(table, &nr_configs);
	statistics_table_metrics(table, &nr_metrics);
	for (uint32_t i = 0; i < message->nr_calls; i++)
		new_calls += !statistics_table_find_call(table, &message->calls[i]);
	for (uint32_t i = 0; i < message->nr_configs; i++)
		new_configs += !has_config(session, table, &message->configs[i]);
	if (nr_calls + new_calls <= STATISTICS_TABLE_CALLS &&
	    nr_configs + new_configs <= STATISTICS_TABLE_CONFIGS &&
	    nr_metrics + count_new_metrics(session, table, message) <= STATISTICS_TABLE_METRICS)
		return 0;
	*reason = "too many rows of statistics";
	return REFUSE_LIMIT;
}

static bool is_defined(const struct agent_session *session,
		       const struct message_kernel_metric *metric)
{
	return metric->metric && metric->device_id < RECORD_DEVICES_MAX &&
	       agent_session_defined(session, SESSION_NODES, metric->stack_id) &&
	       agent_session_defined(session, SESSION_STRINGS, metric->name_id) &&
	       agent_session_defined(session, SESSION_STRINGS, metric->metric);
}

static int check(const struct agent_session *session, const struct message_statistics *message,
		 const char **reason)
{
	*reason = "statistics name what is not defined";
	if (message->process_id == 0 ||
	    !agent_session_defined(session, SESSION_PROCESSES, message->process_id))
		return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_calls; i++)
		if (!agent_session_defined(session, SESSION_STRINGS, message->calls[i].name))
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_configs; i++)
		if (!agent_session_defined(session, SESSION_STRINGS,
					   message->configs[i].config.name_id))
			return REFUSE_UNDEFINED;
	for (uint32_t i = 0; i < message->nr_metrics; i++)
		if (!is_defined(session, &message->metrics[i]))
			return REFUSE_UNDEFINED;
	return 0;
}

int session_statistics_apply(struct agent_session *session, struct collection *collection,
			     const struct message *any, const char **reason)
{
	const struct message_statistics *message = &any->statistics;
	int error = check(session, message, reason);
	if (error)
		return error;

	struct roster_process *process = roster_process(
		collection->roster,
		agent_session_translate(session, SESSION_PROCESSES, message->process_id));
	if (!process->statistics)
		process->statistics = statistics_table_create();
	if (!process->statistics)
		return -ENOMEM;
	error = check_room(session, process->statistics, message, reason);
	for (uint32_t i = 0; i < message->nr_calls && !error; i++) {
		struct message_api_call call = message->calls[i];

		call.name = agent_session_translate(session, SESSION_STRINGS, call.name);
		error = statistics_table_put_call(process->statistics, &call);
	}
	for (uint32_t i = 0; i < message->nr_configs && !error; i++) {
		struct message_kernel_config config = message->configs[i];

		config.config.name_id =
			agent_session_translate(session, SESSION_STRINGS, config.config.name_id);
		error = statistics_table_put_config(process->statistics, &config);
	}
	for (uint32_t i = 0; i < message->nr_metrics && !error; i++) {
		const struct message_kernel_metric metric =
			translate_metric(session, &message->metrics[i]);

		error = statistics_table_put_metric(process->statistics, &metric);
	}
	return error;
}

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

/* A row that comes twice in a message counts twice, which no agent does. */
static int check_room(const struct agent_session *session, const struct statistics_table *table,
		      const struct message_statistics *message, const char **reason)
{
	uint32_t nr_calls, nr_configs, new_calls = 0, new_configs = 0;

	statistics_table_calls(table, &nr_calls);
	statistics_table_configs(table, &nr_configs);
	for (uint32_t i = 0; i < message->nr_calls; i++)
		new_calls += !statistics_table_find_call(table, &message->calls[i]);
	for (uint32_t i = 0; i < message->nr_configs; i++)
		new_configs += !has_config(session, table, &message->configs[i]);
	if (nr_calls + new_calls <= STATISTICS_TABLE_CALLS &&
	    nr_configs + new_configs <= STATISTICS_TABLE_CONFIGS)
		return 0;
	*reason = "too many rows of statistics";
	return REFUSE_LIMIT;
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
	return error;
}

#include "process_statistics.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/batch/statistics_table.h"

struct process_statistics {
	struct statistics_table *table; /* owns */
};

struct batch {
	struct message_api_call calls[PROCESS_STATISTICS_BATCH];
	struct message_kernel_config configs[PROCESS_STATISTICS_BATCH];
	struct message_kernel_metric metrics[PROCESS_STATISTICS_BATCH];
};

/* The next row of each kind that may have to be sent. */
struct place {
	uint32_t call, config, metric;
};

struct process_statistics *process_statistics_create(void)
{
	struct process_statistics *statistics = calloc(1, sizeof(*statistics));

	if (!statistics)
		return NULL;
	statistics->table = statistics_table_create();
	if (!statistics->table) {
		free(statistics);
		return NULL;
	}
	return statistics;
}

void process_statistics_destroy(struct process_statistics *statistics)
{
	if (!statistics)
		return;
	statistics_table_destroy(statistics->table);
	free(statistics);
}

static const struct message_api_call *find(const struct process_statistics *statistics,
					   const struct definition_api_statistic *call)
{
	return statistics_table_find_call(statistics->table,
					  &(struct message_api_call){.domain = call->domain,
								     .cbid = call->cbid,
								     .error = call->error});
}

bool process_statistics_has_call(const struct process_statistics *statistics,
				 const struct definition_api_statistic *call)
{
	return find(statistics, call) != NULL;
}

int process_statistics_take_call(struct process_statistics *statistics,
				 const struct definition_api_statistic *call, uint32_t name)
{
	const struct message_api_call *known = find(statistics, call);
	const struct message_api_call row = {
		.domain = call->domain,
		.cbid = call->cbid,
		.error = call->error,
		.name = known ? known->name : name,
		.count = call->count,
		.total_ns = call->total_ns,
		.min_ns = call->min_ns,
		.max_ns = call->max_ns,
		.errors = call->errors,
	};

	return statistics_table_put_call(statistics->table, &row);
}

int process_statistics_take_config(struct process_statistics *statistics,
				   const struct definition_kernel_config *config, uint32_t name)
{
	struct message_kernel_config row = {
		.config = config->config,
		.count = config->count,
		.total_ns = config->total_ns,
		.min_ns = config->min_ns,
		.max_ns = config->max_ns,
	};

	row.config.name_id = name;
	return statistics_table_put_config(statistics->table, &row);
}

int process_statistics_take_metric(struct process_statistics *statistics,
				   const struct message_kernel_metric *row)
{
	return statistics_table_put_metric(statistics->table, row);
}

static void fill(struct process_statistics *statistics, struct place *at, struct batch *batch,
		 struct message_statistics *message)
{
	uint32_t nr_calls, nr_configs, nr_metrics;
	const struct message_api_call *calls = statistics_table_calls(statistics->table, &nr_calls);
	const struct message_kernel_config *configs =
		statistics_table_configs(statistics->table, &nr_configs);

	const struct message_kernel_metric *metrics =
		statistics_table_metrics(statistics->table, &nr_metrics);

	for (; at->call < nr_calls && message->nr_calls < PROCESS_STATISTICS_BATCH; at->call++)
		if (statistics_table_call_changed(statistics->table, at->call))
			batch->calls[message->nr_calls++] = calls[at->call];
	for (; at->config < nr_configs && message->nr_configs < PROCESS_STATISTICS_BATCH;
	     at->config++)
		if (statistics_table_config_changed(statistics->table, at->config))
			batch->configs[message->nr_configs++] = configs[at->config];
	for (; at->metric < nr_metrics && message->nr_metrics < PROCESS_STATISTICS_BATCH;
	     at->metric++)
		if (statistics_table_metric_changed(statistics->table, at->metric))
			batch->metrics[message->nr_metrics++] = metrics[at->metric];
}

int process_statistics_send(struct process_statistics *statistics, uint32_t process_id,
			    batch_sink sink, void *context)
{
	struct place at = {0};
	int r = 0;

	if (!statistics_table_changed(statistics->table))
		return 0;
	struct batch *batch = malloc(sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	while (r == 0) {
		struct message message = {.type = MESSAGE_STATISTICS,
					  .statistics = {.process_id = process_id,
							 .calls = batch->calls,
							 .configs = batch->configs,
							 .metrics = batch->metrics}};

		fill(statistics, &at, batch, &message.statistics);
		if (message.statistics.nr_calls == 0 && message.statistics.nr_configs == 0 &&
		    message.statistics.nr_metrics == 0)
			break;
		r = sink(context, &message);
	}
	free(batch);
	if (r == 0)
		statistics_table_saved(statistics->table);
	return r;
}

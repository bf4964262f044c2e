/* Collects a guest's statistics of API calls, launch configurations and measured kernels for STATISTICS messages.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_STATISTICS_H
#define PROCESS_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/publish/batch_builder.h"
#include "proto/definition.h"

#define PROCESS_STATISTICS_BATCH 4096u /* rows of each kind in one message */

struct process_statistics;

/* Creates the empty statistics; NULL: out of memory. process_statistics_destroy() accepts NULL. */
struct process_statistics *process_statistics_create(void);
void process_statistics_destroy(struct process_statistics *statistics);

/* Returns whether a row has this call's key; its name is then known. */
bool process_statistics_has_call(const struct process_statistics *statistics,
				 const struct definition_api_statistic *call);

/* Take a definition. name: its string id; for a call that has a row already, any value. 0; -ENOSPC: no room for the
 * row; -ENOMEM. */
int process_statistics_take_call(struct process_statistics *statistics,
				 const struct definition_api_statistic *call, uint32_t name);
int process_statistics_take_config(struct process_statistics *statistics,
				   const struct definition_kernel_config *config, uint32_t name);

/* Takes one metric. The row's ids are the agent's. 0; -ENOSPC: no room for the row; -ENOMEM. */
int process_statistics_take_metric(struct process_statistics *statistics,
				   const struct message_kernel_metric *row);

/* Gives the sink all rows that changed since the last time, in as many messages as they need. The strings that they
 * name must have been sent before. 0, -ENOMEM or the sink's error. */
int process_statistics_send(struct process_statistics *statistics, uint32_t process_id,
			    batch_sink sink, void *context);

#endif

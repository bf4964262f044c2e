/* What a guest counts of one process's API calls and launch configurations, on its way into STATISTICS messages.
 * Single-threaded: only the agent loop calls it. */
#ifndef PROCESS_STATISTICS_H
#define PROCESS_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/publish/batch_builder.h"
#include "proto/batch/message.h"
#include "proto/definition.h"

#define PROCESS_STATISTICS_BATCH 4096u /* rows of each sort in one message */

struct process_statistics;

/* NULL: out of memory. process_statistics_destroy() accepts NULL. */
struct process_statistics *process_statistics_create(void);
void process_statistics_destroy(struct process_statistics *statistics);

/* Whether a row with this key is there: then its name is known. */
bool process_statistics_has_call(const struct process_statistics *statistics,
				 const struct definition_api_statistic *call);

/* Takes a definition; name: string id, of a call that is there already any. 0; -ENOSPC: no room for the row;
 * -ENOMEM. */
int process_statistics_take_call(struct process_statistics *statistics,
				 const struct definition_api_statistic *call, uint32_t name);
int process_statistics_take_config(struct process_statistics *statistics,
				   const struct definition_kernel_config *config, uint32_t name);

/* Hands what changed since the last time to the sink, in as many messages as it needs; the strings that they name
 * were sent before. 0, -ENOMEM or the sink's error. */
int process_statistics_send(struct process_statistics *statistics, uint32_t process_id,
			    batch_sink sink, void *context);

#endif

/* The statistics of one process as rows by key. Each row has a mark that it changed: the agent must still send it, or
 * the aggregator must still store it. Names are string ids of the table's owner. Single-threaded. */
#ifndef STATISTICS_TABLE_H
#define STATISTICS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#define STATISTICS_TABLE_CALLS   8192u  /* rows of one process */
#define STATISTICS_TABLE_CONFIGS 32768u /* rows of one process */
#define STATISTICS_TABLE_METRICS 65536u /* rows of one process */

struct statistics_table;

/* NULL: out of memory. statistics_table_destroy() accepts NULL. */
struct statistics_table *statistics_table_create(void);
void statistics_table_destroy(struct statistics_table *table);

/* Adds the row, or replaces the one with its key. A row that is equal is not marked as changed. 0; -ENOSPC: the table
 * is full; -ENOMEM. On error the table is unchanged. */
int statistics_table_put_call(struct statistics_table *table, const struct message_api_call *call);
int statistics_table_put_config(struct statistics_table *table,
				const struct message_kernel_config *config);
int statistics_table_put_metric(struct statistics_table *table,
				const struct message_kernel_metric *metric);

/* The row with the domain, cbid and error of *key, with its config, or with its device, stack, name and metric. NULL:
 * none. Borrowed until the next put. */
const struct message_api_call *statistics_table_find_call(const struct statistics_table *table,
							  const struct message_api_call *key);
const struct message_kernel_config *
statistics_table_find_config(const struct statistics_table *table,
			     const struct message_kernel_config *key);
const struct message_kernel_metric *
statistics_table_find_metric(const struct statistics_table *table,
			     const struct message_kernel_metric *key);

/* All rows, in the order in which their keys came. Borrowed until the next put. table NULL: none. */
const struct message_api_call *statistics_table_calls(const struct statistics_table *table,
						      uint32_t *count);
const struct message_kernel_config *statistics_table_configs(const struct statistics_table *table,
							     uint32_t *count);
const struct message_kernel_metric *statistics_table_metrics(const struct statistics_table *table,
							     uint32_t *count);

/* Returns whether a row changed since the last statistics_table_saved(); index is below the count. */
bool statistics_table_call_changed(const struct statistics_table *table, uint32_t index);
bool statistics_table_config_changed(const struct statistics_table *table, uint32_t index);
bool statistics_table_metric_changed(const struct statistics_table *table, uint32_t index);
bool statistics_table_changed(const struct statistics_table *table); /* any row of it */
void statistics_table_saved(struct statistics_table *table);

#endif

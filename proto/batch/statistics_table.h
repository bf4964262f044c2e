/* The statistics of one process as rows by key, each with the mark that it changed: what the agent has still to send,
 * the aggregator still to store. Names are string ids of whoever holds the table. Single-threaded. */
#ifndef STATISTICS_TABLE_H
#define STATISTICS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "message.h"

#define STATISTICS_TABLE_CALLS   8192u  /* rows of one process */
#define STATISTICS_TABLE_CONFIGS 32768u /* likewise */

struct statistics_table;

/* NULL: out of memory. statistics_table_destroy() accepts NULL. */
struct statistics_table *statistics_table_create(void);
void statistics_table_destroy(struct statistics_table *table);

/* Copies the row in place of the one of its key; one that is equal changes nothing. 0; -ENOSPC: there are as many other
 * rows as there may be; -ENOMEM. On error the table is unchanged. */
int statistics_table_put_call(struct statistics_table *table, const struct message_api_call *call);
int statistics_table_put_config(struct statistics_table *table,
				const struct message_kernel_config *config);

/* By domain, cbid and error of *key, or by its config. NULL: none. Borrowed until the next put. */
const struct message_api_call *statistics_table_find_call(const struct statistics_table *table,
							  const struct message_api_call *key);
const struct message_kernel_config *
statistics_table_find_config(const struct statistics_table *table,
			     const struct message_kernel_config *key);

/* In the order in which their keys came. Borrowed until the next put. A table that is NULL has none. */
const struct message_api_call *statistics_table_calls(const struct statistics_table *table,
						      uint32_t *count);
const struct message_kernel_config *statistics_table_configs(const struct statistics_table *table,
							     uint32_t *count);

/* Since the last statistics_table_saved(); index below the count. */
bool statistics_table_call_changed(const struct statistics_table *table, uint32_t index);
bool statistics_table_config_changed(const struct statistics_table *table, uint32_t index);
bool statistics_table_changed(const struct statistics_table *table); /* any row of it */
void statistics_table_saved(struct statistics_table *table);

#endif

#include "store_statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "statement_set.h"
#include "store_table.h"

#include "aggregator/core/launch_delay.h"
#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/statistics_fields.h"
#include "proto/batch/statistics_table.h"

#define ROW_MAX 17u /* the most columns of a table */

enum command { PUT_LIMITS, PUT_CALL, PUT_CONFIG, PUT_METRIC, PUT_DELAY, COMMANDS };

const char *const store_statistics_commands[] = {
	[PUT_LIMITS] = "REPLACE INTO device_limits VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_CALL] = "REPLACE INTO api_calls VALUES (?,?,?,?,?,?,?,?,?,?)",
	[PUT_CONFIG] = "REPLACE INTO kernel_configs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_METRIC] = "REPLACE INTO kernel_metrics VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_DELAY] = "REPLACE INTO launch_delays VALUES (?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

static uint64_t field_of(const void *row, const struct event_field *field)
{
	const uint8_t *at = (const uint8_t *)row + field->offset_bytes;
	uint64_t wide;
	uint32_t narrow;

	if (field->width_bytes == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

/* The columns are the process, then the fields in the table's order. */
static int write_row(struct statement *statement, uint32_t process,
		     const struct event_field *fields, uint32_t nr_fields, const void *row)
{
	struct database_value values[ROW_MAX] = {database_number(process)};

	for (uint32_t i = 0; i < nr_fields; i++)
		values[i + 1] = AMOUNT(field_of(row, &fields[i]));
	return statement_run(statement, values, nr_fields + 1);
}

static int write_process(struct statement_set *set, uint32_t id,
			 const struct statistics_table *table)
{
	uint32_t nr_calls, nr_configs, nr_metrics;
	const struct message_api_call *calls = statistics_table_calls(table, &nr_calls);
	const struct message_kernel_config *configs = statistics_table_configs(table, &nr_configs);
	const struct message_kernel_metric *metrics = statistics_table_metrics(table, &nr_metrics);
	int error = 0;

	for (uint32_t i = 0; i < nr_calls && !error; i++)
		if (statistics_table_call_changed(table, i))
			error = write_row(set->statements[PUT_CALL], id, statistics_fields_call,
					  STATISTICS_FIELDS_CALL, &calls[i]);
	for (uint32_t i = 0; i < nr_configs && !error; i++)
		if (statistics_table_config_changed(table, i))
			error = write_row(set->statements[PUT_CONFIG], id, statistics_fields_config,
					  STATISTICS_FIELDS_CONFIG, &configs[i]);
	for (uint32_t i = 0; i < nr_metrics && !error; i++)
		if (statistics_table_metric_changed(table, i))
			error = write_row(set->statements[PUT_METRIC], id, statistics_fields_metric,
					  STATISTICS_FIELDS_METRIC, &metrics[i]);
	return error;
}

static int write_limits(struct statement_set *set, uint32_t id, const struct device_limits *limits)
{
	struct database_value values[DEVICE_LIMITS + 1] = {database_number(id)};
	uint32_t numbers[DEVICE_LIMITS];

	memcpy(numbers, limits, sizeof(numbers));
	for (uint32_t i = 0; i < DEVICE_LIMITS; i++)
		values[i + 1] = database_number(numbers[i]);
	return statement_run(set->statements[PUT_LIMITS], values, DEVICE_LIMITS + 1);
}

static int write_delays(struct statement_set *set, uint32_t process,
			const struct launch_delays *delays)
{
	int error = 0;

	for (uint32_t id = 0; id < delays->nr && !error; id++) {
		const struct launch_delay *delay = &delays->at[id];

		if (delay->changed)
			error = RUN(set, PUT_DELAY, NUMBER(process), NUMBER(id),
				    AMOUNT(delay->count), AMOUNT(delay->sum_ns),
				    AMOUNT(delay->max_ns), AMOUNT(delay->unclear));
	}
	return error;
}

int store_statistics_write(struct statement_set *set, const struct roster *roster)
{
	struct roster_size size = roster_size(roster);
	int error = 0;

	for (uint32_t id = 1; id <= size.devices && !error; id++) {
		const struct roster_device *device = roster_device(roster, id);

		if (device->changed)
			error = write_limits(set, id, &device->limits);
	}
	for (uint32_t id = 1; id <= size.processes && !error; id++) {
		const struct roster_process *process = roster_process(roster, id);

		if (statistics_table_changed(process->statistics))
			error = write_process(set, id, process->statistics);
		if (!error && process->delays)
			error = write_delays(set, id, process->delays);
	}
	return error;
}

static int take_limits(struct collection *collection, struct statement *row)
{
	uint32_t wanted = statement_number32(row, 0), id, numbers[DEVICE_LIMITS];
	const struct roster_device *known = roster_device(collection->roster, wanted);

	if (!known)
		return -EPROTO;
	for (uint32_t i = 0; i < DEVICE_LIMITS; i++)
		numbers[i] = statement_number32(row, i + 1);

	struct roster_device device = *known;
	memcpy(&device.limits, numbers, sizeof(numbers));
	int error = roster_add_device(collection->roster, &device, &id);
	return error || id == wanted ? error : -EPROTO;
}

/* *table is the process's, which is made if it is missing. */
static int read_row(struct collection *collection, struct statement *row,
		    const struct event_field *fields, uint32_t nr_fields, uint8_t *out,
		    struct statistics_table **table)
{
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));
	const struct catalog_size size = catalog_size(collection->catalog);

	if (!process)
		return -EPROTO;
	for (uint32_t i = 0; i < nr_fields; i++) {
		uint64_t wide = statement_number(row, i + 1);
		uint32_t narrow = (uint32_t)wide;

		const uint32_t nr_ids = fields[i].name == statistics_fields_metric[1].name
						? size.nodes
						: size.strings;

		if (wide > fields[i].max || wide > INT64_MAX ||
		    (fields[i].max == WIRE_ID_MAX && wide > nr_ids))
			return -EPROTO;
		if (fields[i].width_bytes == sizeof(wide))
			memcpy(out + fields[i].offset_bytes, &wide, sizeof(wide));
		else
			memcpy(out + fields[i].offset_bytes, &narrow, sizeof(narrow));
	}
	if (!process->statistics)
		process->statistics = statistics_table_create();
	*table = process->statistics;
	return *table ? 0 : -ENOMEM;
}

static int take_call(struct collection *collection, struct statement *row)
{
	struct message_api_call call = {0};
	struct statistics_table *table;
	int error = read_row(collection, row, statistics_fields_call, STATISTICS_FIELDS_CALL,
			     (uint8_t *)&call, &table);

	if (!error && call.domain == 0)
		error = -EPROTO;
	return error ? error : statistics_table_put_call(table, &call);
}

static int take_config(struct collection *collection, struct statement *row)
{
	struct message_kernel_config config = {0};
	struct statistics_table *table;
	int error = read_row(collection, row, statistics_fields_config, STATISTICS_FIELDS_CONFIG,
			     (uint8_t *)&config, &table);

	return error ? error : statistics_table_put_config(table, &config);
}

static int take_metric(struct collection *collection, struct statement *row)
{
	struct message_kernel_metric metric = {0};
	struct statistics_table *table;
	int error = read_row(collection, row, statistics_fields_metric, STATISTICS_FIELDS_METRIC,
			     (uint8_t *)&metric, &table);

	if (!error &&
	    (metric.device_id >= RECORD_DEVICES_MAX || metric.metric == 0 || metric.nr_passes == 0))
		error = -EPROTO;
	return error ? error : statistics_table_put_metric(table, &metric);
}

static int take_launch_delay(struct collection *collection, struct statement *row)
{
	uint64_t device_id = statement_number(row, 1);
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));

	if (!process || device_id >= RECORD_DEVICES_MAX)
		return -EPROTO;
	if (!process->delays)
		process->delays = calloc(1, sizeof(*process->delays));
	struct launch_delay *delay;
	if (!process->delays || launch_delays_get(process->delays, (uint32_t)device_id, &delay) < 0)
		return -ENOMEM;
	*delay = (struct launch_delay){
		.count = statement_number(row, 2),
		.sum_ns = statement_number(row, 3),
		.max_ns = statement_number(row, 4),
		.unclear = statement_number(row, 5),
	};
	return 0;
}

int store_statistics_load(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT * FROM device_limits", take_limits},
		{"SELECT * FROM api_calls", take_call},
		{"SELECT * FROM kernel_configs", take_config},
		{"SELECT * FROM kernel_metrics", take_metric},
		{"SELECT * FROM launch_delays", take_launch_delay},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

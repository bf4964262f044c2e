#include "store_placement.h"

#include <errno.h>
#include <string.h>

#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/counter_fields.h"
#include "proto/batch/message.h"
#include "proto/batch/telemetry_fields.h"

enum command {
	PUT_DEVICE,
	PUT_THREAD,
	PUT_LINK,
	PUT_TELEMETRY,
	PUT_STATE,
	PUT_COUNTERS,
	COMMANDS,
};

const char *const store_placement_commands[] = {
	[PUT_DEVICE] = "REPLACE INTO device_topology VALUES (?,?,?)",
	[PUT_THREAD] = "REPLACE INTO launch_cpus VALUES (?,?,?,?)",
	[PUT_LINK] = "REPLACE INTO device_links VALUES (?,?,?)",
	[PUT_TELEMETRY] = "REPLACE INTO device_telemetry VALUES"
			  " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
			  "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_STATE] = "REPLACE INTO counter_states VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_COUNTERS] = "REPLACE INTO counter_samples VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

#define FIELDS_MAX TELEMETRY_FIELDS /* of a row below */

/* Writes the fields of a record as a row. */
static int write_fields(struct statement *statement, const struct event_field *fields,
			uint32_t nr_fields, const void *record)
{
	struct database_value values[FIELDS_MAX];

	for (uint32_t i = 0; i < nr_fields; i++) {
		const uint8_t *at = (const uint8_t *)record + fields[i].offset_bytes;
		uint64_t wide;
		uint32_t narrow;

		memcpy(&narrow, at, sizeof(narrow));
		memcpy(&wide, at, fields[i].width_bytes == sizeof(wide) ? sizeof(wide) : 0);
		values[i] = AMOUNT(fields[i].width_bytes == sizeof(wide) ? wide : narrow);
	}
	return statement_run(statement, values, nr_fields);
}

/* Reads them. 0 or -EPROTO. */
static int read_fields(struct statement *row, const struct event_field *fields, uint32_t nr_fields,
		       void *record)
{
	for (uint32_t i = 0; i < nr_fields; i++) {
		uint8_t *at = (uint8_t *)record + fields[i].offset_bytes;
		uint64_t wide = statement_number(row, i);
		uint32_t narrow = (uint32_t)wide;

		if (wide > fields[i].max)
			return -EPROTO;
		if (fields[i].width_bytes == sizeof(wide))
			memcpy(at, &wide, sizeof(wide));
		else
			memcpy(at, &narrow, sizeof(narrow));
	}
	return 0;
}

static int write_counters(struct statement_set *set, const struct placement_log *log)
{
	uint32_t nr_states, nr_counters;
	const struct counter_state *states = placement_log_counter_states(log, &nr_states);
	const struct counter_sample *counters = placement_log_counters(log, &nr_counters);
	int error = 0;

	for (uint32_t i = 0; i < nr_states && !error; i++)
		error = write_fields(set->statements[PUT_STATE], counter_fields_state,
				     COUNTER_FIELDS_STATE, &states[i]);
	for (uint32_t i = 0; i < nr_counters && !error; i++)
		error = write_fields(set->statements[PUT_COUNTERS], counter_fields_sample,
				     COUNTER_FIELDS_SAMPLE, &counters[i]);
	return error;
}

int store_placement_write(struct statement_set *set, const struct placement_log *log)
{
	uint32_t nr_devices, nr_threads, nr_links, nr_telemetry;
	const struct placement_device *devices = placement_log_devices(log, &nr_devices);
	const struct placement_thread *threads = placement_log_threads(log, &nr_threads);
	const struct placement_link *links = placement_log_links(log, &nr_links);
	const struct device_telemetry *telemetry = placement_log_telemetry(log, &nr_telemetry);
	int error = 0;

	for (uint32_t i = 0; i < nr_devices && !error; i++)
		error = RUN(set, PUT_DEVICE, NUMBER(devices[i].device),
			    database_unless(devices[i].numa_node, PLACEMENT_NODE_NONE),
			    NUMBER(devices[i].cpus));
	for (uint32_t i = 0; i < nr_threads && !error; i++)
		error = RUN(set, PUT_THREAD, NUMBER(threads[i].process), NUMBER(threads[i].tid),
			    NUMBER(threads[i].numa_node), NUMBER(threads[i].count));
	for (uint32_t i = 0; i < nr_links && !error; i++)
		error = RUN(set, PUT_LINK, NUMBER(links[i].device), NUMBER(links[i].link),
			    NUMBER(links[i].bytes_per_second));
	for (uint32_t i = 0; i < nr_telemetry && !error; i++)
		error = write_fields(set->statements[PUT_TELEMETRY], telemetry_fields,
				     TELEMETRY_FIELDS, &telemetry[i]);
	return error ? error : write_counters(set, log);
}

/* ---- reading */

static int take_device(struct collection *collection, struct statement *row)
{
	const struct placement_device device = {
		.device = statement_number32(row, 0),
		.numa_node =
			statement_null(row, 1) ? PLACEMENT_NODE_NONE : statement_number32(row, 1),
		.cpus = statement_number32(row, 2),
	};

	if (statement_number(row, 0) > UINT32_MAX || statement_number(row, 1) > UINT32_MAX ||
	    !roster_device(collection->roster, device.device) ||
	    statement_number(row, 2) > catalog_size(collection->catalog).strings)
		return -EPROTO;
	return placement_log_add_device(collection->placements, &device);
}

static int take_thread(struct collection *collection, struct statement *row)
{
	const struct placement_thread thread = {
		.process = statement_number32(row, 0),
		.tid = statement_number32(row, 1),
		.numa_node = statement_number32(row, 2),
		.count = statement_number(row, 3),
	};

	if (statement_number(row, 0) > UINT32_MAX || statement_number(row, 1) > UINT32_MAX ||
	    statement_number(row, 2) > UINT32_MAX ||
	    !roster_process(collection->roster, thread.process))
		return -EPROTO;
	return placement_log_add_thread(collection->placements, &thread);
}

static int take_link(struct collection *collection, struct statement *row)
{
	const struct placement_link link = {
		.device = statement_number32(row, 0),
		.link = statement_number32(row, 1),
		.bytes_per_second = statement_number(row, 2),
	};

	if (statement_number(row, 0) > UINT32_MAX || statement_number(row, 1) > UINT32_MAX ||
	    !roster_device(collection->roster, link.device) || link.bytes_per_second == 0)
		return -EPROTO;
	return placement_log_add_link(collection->placements, &link);
}

static int take_telemetry(struct collection *collection, struct statement *row)
{
	struct device_telemetry telemetry = {0};

	if (read_fields(row, telemetry_fields, TELEMETRY_FIELDS, &telemetry) ||
	    !roster_device(collection->roster, telemetry.device_id))
		return -EPROTO;
	return placement_log_add_telemetry(collection->placements, &telemetry);
}

static int take_state(struct collection *collection, struct statement *row)
{
	struct counter_state state = {0};

	if (read_fields(row, counter_fields_state, COUNTER_FIELDS_STATE, &state) ||
	    !roster_device(collection->roster, state.device_id))
		return -EPROTO;
	return placement_log_add_counter_state(collection->placements, &state);
}

int store_placement_counters(struct database *database, uint32_t device, store_placement_take *take,
			     void *context)
{
	const struct database_value key = NUMBER(device);
	struct statement *statement;
	int error = statement_create(database,
				     "SELECT * FROM counter_samples WHERE device = ?"
				     " ORDER BY begin_ns",
				     &statement);
	int step = error ? error : statement_start(statement, &key, 1);

	while (step == 1 && !error) {
		struct counter_sample sample = {0};

		error = read_fields(statement, counter_fields_sample, COUNTER_FIELDS_SAMPLE,
				    &sample);
		/* An older aggregator stored samples whose time cannot be. */
		if (!error && sample.end_ns > sample.begin_ns)
			error = take(context, &sample);
		if (!error)
			step = statement_step(statement);
	}
	statement_destroy(statement);
	return error ? error : step;
}

int store_placement_read(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT * FROM device_topology ORDER BY device", take_device},
		{"SELECT * FROM launch_cpus ORDER BY process, tid, numa_node", take_thread},
		{"SELECT * FROM device_links ORDER BY device", take_link},
		{"SELECT * FROM device_telemetry ORDER BY device, begin_ns", take_telemetry},
		{"SELECT * FROM counter_states ORDER BY device, begin_ns", take_state},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

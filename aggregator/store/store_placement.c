#include "store_placement.h"

#include <errno.h>

#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "proto/batch/message.h"

enum command { PUT_DEVICE, PUT_THREAD, PUT_LINK, COMMANDS };

const char *const store_placement_commands[] = {
	[PUT_DEVICE] = "REPLACE INTO device_topology VALUES (?,?,?)",
	[PUT_THREAD] = "REPLACE INTO launch_cpus VALUES (?,?,?,?)",
	[PUT_LINK] = "REPLACE INTO device_links VALUES (?,?,?)",
	[COMMANDS] = NULL,
};

int store_placement_write(struct statement_set *set, const struct placement_log *log)
{
	uint32_t nr_devices, nr_threads, nr_links;
	const struct placement_device *devices = placement_log_devices(log, &nr_devices);
	const struct placement_thread *threads = placement_log_threads(log, &nr_threads);
	const struct placement_link *links = placement_log_links(log, &nr_links);
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
	return error;
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

int store_placement_read(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT * FROM device_topology ORDER BY device", take_device},
		{"SELECT * FROM launch_cpus ORDER BY process, tid, numa_node", take_thread},
		{"SELECT * FROM device_links ORDER BY device", take_link},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}

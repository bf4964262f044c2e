#include "profile_sums.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile_collectives.h"

#include "aggregator/core/timeline_table.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_streams.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error_text.h"

static const char devices_sql[] =
	"SELECT process, device_id, device FROM process_devices ORDER BY process, device_id";
/* What agents of a host said to a writer is there until then. */
static const char heard_sql[] =
	"SELECT p.id, max(p.spoke_ns, coalesce(e.spoke_ns, 0)) FROM processes p LEFT JOIN"
	" (SELECT host, writer, max(spoke_ns) AS spoke_ns FROM epochs GROUP BY host, writer) e"
	" ON e.host = p.host AND e.writer = p.writer AND p.state = 0";
static const char writer_sql[] = "SELECT writer FROM writers ORDER BY id LIMIT 1";

static int take_device(struct statement *row, void *context)
{
	struct roster *roster = context;
	struct roster_process *process = roster_process(roster, statement_number32(row, 0));
	const struct roster_ordinal ordinal = {statement_number32(row, 1),
					       statement_number32(row, 2)};

	if (!process || !roster_device(roster, ordinal.device))
		return -EPROTO;
	return array_append(&process->devices, &process->nr_devices, &ordinal, sizeof(ordinal));
}

static int take_time(struct statement *row, void *context)
{
	struct profile_sums *sums = context;

	if (array_reserve(&sums->times, &sums->room_times, sums->nr_times + 1ull,
			  sizeof(*sums->times)))
		return -ENOMEM;
	sums->times[sums->nr_times++] = (struct profile_sums_time){
		.level = statement_number32(row, 0),
		.process = statement_number32(row, 1),
		.device_id = statement_number32(row, 2),
		.context_id = statement_number32(row, 3),
		.stream_id = statement_number32(row, 4),
		.records = statement_number(row, 5),
		.busy_ns = statement_number(row, 6),
		.first_ns = statement_number(row, 7),
		.last_ns = statement_number(row, 8),
		.uncaptured_ns = statement_number(row, 9),
	};
	return roster_process(sums->profile->collection->roster, statement_number32(row, 1))
		       ? 0
		       : -EPROTO;
}

static int take_heard(struct statement *row, void *context)
{
	struct profile_sums *sums = context;
	const uint32_t id = statement_number32(row, 0);

	if (!roster_process(sums->profile->collection->roster, id))
		return -EPROTO;
	sums->heard_ns[id - 1] = statement_number(row, 1);
	return 0;
}

static int take_writer(struct statement *row, void *context)
{
	struct profile_sums *sums = context;
	uint32_t size;
	const uint8_t *writer = statement_bytes(row, 0, &size);

	if (size != sizeof(sums->writer))
		return -EPROTO;
	memcpy(sums->writer, writer, size);
	return 0;
}

static int read_times(struct database *database, struct profile_sums *sums)
{
	struct roster *roster = sums->profile->collection->roster;
	char sql[256];
	int error = database_rows(database, devices_sql, take_device, roster);

	snprintf(sql, sizeof(sql),
		 "SELECT level, process, device_id, context_id, stream_id, records, busy_ns,"
		 " first_ns, last_ns, uncaptured_ns FROM timelines WHERE level IN (%d, %d) ORDER "
		 "BY level,"
		 " process, device_id, context_id, stream_id",
		 TIMELINE_STREAM, TIMELINE_WORK);
	sums->heard_ns = calloc(roster_size(roster).processes + 1ul, sizeof(*sums->heard_ns));
	if (!error && !sums->heard_ns)
		error = -ENOMEM;
	if (!error)
		error = database_rows(database, sql, take_time, sums);
	if (!error)
		error = database_rows(database, heard_sql, take_heard, sums);
	return error ? error : database_rows(database, writer_sql, take_writer, sums);
}

/* One transaction makes totals and times belong to the same moment. */
static int read_all(struct database *database, struct profile_sums *sums)
{
	struct profile *profile = sums->profile;
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_loader_load_names(database, profile->collection, STORE_LOADER_PROCESSES);
	if (!error)
		error = store_streams_load(database, profile->collection);
	if (!error)
		error = read_times(database, sums);
	if (!error)
		error = profile_totals_load(database, &profile->totals,
					    profile->collection->totals);
	if (!error)
		error = profile_collectives_splits(database, &profile->splits);
	database_execute(database, "COMMIT");
	return error;
}

static int make_room(struct profile_sums *sums)
{
	sums->profile = calloc(1, sizeof(*sums->profile));
	if (sums->profile)
		sums->profile->collection = collection_create();
	return sums->profile && sums->profile->collection ? 0 : -ENOMEM;
}

int profile_sums_load(const char *path, struct profile_sums *sums, char **error)
{
	struct database *database;

	*sums = (struct profile_sums){.profile = NULL};
	int status = database_open(path, true, &database, error);
	if (status)
		return error_text_set(error, status, "%s: %s", path, strerror(-status));
	status = store_schema_read(database, path, error);
	if (status == -ENOENT)
		error_text_set(error, status, "%s: empty: no aggregator has written to it yet",
			       path);
	if (!status)
		status = make_room(sums);
	if (!status) {
		sums->profile->read_ns = clock_realtime_ns();
		status = read_all(database, sums);
	}
	database_close(database);
	return status ? error_text_set(error, status, "%s: %s", path,
				       status == -EPROTO ? "damaged: what stands in it cannot be"
							 : strerror(-status))
		      : 0;
}

void profile_sums_fini(struct profile_sums *sums)
{
	profile_destroy(sums->profile);
	free(sums->times);
	free(sums->heard_ns);
	*sums = (struct profile_sums){.profile = NULL};
}

int profile_sums_each(const struct profile_sums *sums,
		      int (*take)(void *context, const struct fold_row *row), void *context)
{
	return profile_each_total(sums->profile, take, context);
}

#include "profile_recent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_folds.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_schema.h"
#include "base/error_text.h"

/* Counters that say how a process ended, and whether all of it is recorded. */
static int take_counter(struct statement *row, void *context)
{
	struct roster *roster = context;
	struct roster_process *process = roster_process(roster, statement_number32(row, 0));

	return process ? roster_process_count(process,
					      (enum ledger_reason)statement_number32(row, 1),
					      statement_number(row, 2))
		       : -EPROTO;
}

static int read_ledger(struct database *database, struct roster *roster)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT process, reason, count FROM ledger WHERE process > 0"
		 " AND reason IN (%d, %d, %d)",
		 LEDGER_CAPTURE_WINDOW, LEDGER_INTERRUPTED_END, LEDGER_TERMINATED_END);
	return database_rows(database, sql, take_counter, roster);
}

static int read_all(struct database *database, uint64_t window_ns, uint32_t least,
		    struct profile_recent *recent)
{
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_loader_load_names(database, recent->profile->collection,
					STORE_LOADER_PROCESSES);
	if (!error)
		error = read_ledger(database, recent->profile->collection->roster);
	if (!error)
		error = store_folds_read_newest(database, recent->calls, window_ns, least);
	database_execute(database, "COMMIT");
	return error;
}

static int make_room(struct profile_recent *recent)
{
	recent->calls = collective_folds_create();
	recent->profile = calloc(1, sizeof(*recent->profile));
	if (recent->profile)
		recent->profile->collection = collection_create();
	return recent->calls && recent->profile && recent->profile->collection ? 0 : -ENOMEM;
}

int profile_recent_load(const char *path, uint64_t window_ns, uint32_t least,
			struct profile_recent *recent, char **error)
{
	struct database *database;

	*recent = (struct profile_recent){.profile = NULL};
	int status = database_open(path, true, &database, error);
	if (status)
		return error_text_set(error, status, "%s: %s", path, strerror(-status));
	status = store_schema_read(database, path, error);
	if (!status)
		status = make_room(recent);
	if (!status)
		status = read_all(database, window_ns, least, recent);
	database_close(database);
	return status ? error_text_set(error, status, "%s: %s", path,
				       status == -EPROTO ? "damaged: what stands in it cannot be"
							 : strerror(-status))
		      : 0;
}

void profile_recent_fini(struct profile_recent *recent)
{
	collective_folds_destroy(recent->calls);
	profile_destroy(recent->profile);
	*recent = (struct profile_recent){.profile = NULL};
}

#include "profile_recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_folds.h"
#include "aggregator/store/store_loader.h"
#include "aggregator/store/store_schema.h"
#include "base/error_text.h"

static int read_all(struct database *database, uint64_t window_ns, uint32_t least,
		    struct profile_recent *recent)
{
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_loader_load_names(database, recent->profile->collection, false);
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

#include "profile_collectives.h"

#include <errno.h>
#include <string.h>

#include "aggregator/store/database.h"
#include "aggregator/store/store_collectives.h"
#include "base/error_text.h"

static int read_all(struct database *database, struct collective_log *log)
{
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_collectives_read(database, log);
	database_execute(database, "COMMIT");
	return error;
}

int profile_collectives_load(const char *path, struct collective_log **log, char **error)
{
	struct database *database;

	*log = NULL;
	int status = database_open(path, true, &database, error);
	if (status)
		return status;
	*log = collective_log_create();
	status = *log ? read_all(database, *log) : -ENOMEM;
	if (status) {
		error_text_set(error, status, "%s: %s", path,
			       status == -EPROTO ? "damaged: what stands in it cannot be"
						 : strerror(-status));
		collective_log_destroy(*log);
		*log = NULL;
	}
	database_close(database);
	return status;
}

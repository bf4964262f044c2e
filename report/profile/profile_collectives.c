#include "profile_collectives.h"

#include <errno.h>
#include <string.h>

#include "aggregator/profile/collective_folding.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_folds.h"
#include "aggregator/store/store_schema.h"
#include "base/error_text.h"

/* Calls that wait for others, of which a report splits the kernels: 100 MB. A merged profile of many nodes has more. */
#define CALLS_MOST (1u << 19)

static int read_all(struct database *database, struct collective_folds *folds)
{
	int error = database_execute(database, "BEGIN");

	if (error)
		return error;
	error = store_folds_read(database, folds, 0);
	database_execute(database, "COMMIT");
	return error ? error : collective_folds_take(folds, true);
}

int profile_collectives_splits(struct database *database, struct collective_splits *splits)
{
	struct collective_folds *folds = collective_folds_create();
	int error = folds ? store_folds_read(database, folds, CALLS_MOST) : -ENOMEM;

	if (!error)
		error = collective_folds_take(folds, true);
	if (!error) {
		*splits = folds->splits;
		folds->splits = (struct collective_splits){0};
	}
	collective_folds_destroy(folds);
	return error;
}

int profile_collectives_load(const char *path, struct collective_folds **folds, char **error)
{
	struct database *database;

	*folds = NULL;
	int status = database_open(path, true, &database, error);
	if (status)
		return status;
	status = store_schema_show(database);
	if (!status) {
		*folds = collective_folds_create();
		status = *folds ? read_all(database, *folds) : -ENOMEM;
	}
	if (status) {
		error_text_set(error, status, "%s: %s", path,
			       status == -EPROTO ? "damaged: what stands in it cannot be"
						 : strerror(-status));
		collective_folds_destroy(*folds);
		*folds = NULL;
	}
	database_close(database);
	return status;
}

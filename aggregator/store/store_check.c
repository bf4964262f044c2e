#include "store_check.h"

#include <errno.h>

#include "store_loader.h"

#include "aggregator/profile/collection.h"

int store_check(struct database *database)
{
	struct collection *collection = collection_create();
	int error = collection ? store_loader_load(database, collection) : -ENOMEM;

	collection_destroy(collection);
	return error;
}

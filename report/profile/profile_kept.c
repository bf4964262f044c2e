#include "profile_kept.h"

#include <stdio.h>

#include "aggregator/profile/kept_log.h"
#include "aggregator/store/database.h"

int profile_kept_has_gpu(struct database *database, bool *has)
{
	char sql[128];
	int64_t any = 0;

	snprintf(sql, sizeof(sql),
		 "SELECT EXISTS (SELECT 1 FROM sample_blocks WHERE sort = %d"
		 " UNION ALL SELECT 1 FROM sample_levels WHERE sort = %d)",
		 KEPT_GPU, KEPT_GPU);
	int error = database_query_number(database, sql, &any);

	*has = !error && any;
	return error;
}

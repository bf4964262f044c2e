#include "descriptor_limit.h"

#include <sys/resource.h>

#define LIMIT_UNKNOWN     256u
#define OTHERS            64u /* for ZeroMQ, listeners, and a report's process */
#define STORE_DESCRIPTORS 4u  /* the lock, the database, its log and the log's index */
#define STORES_MAX        256u
#define STORES_SHARE      64u /* one store in this many descriptors */

void descriptor_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

uint32_t descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return LIMIT_UNKNOWN;
	return limit.rlim_cur < UINT32_MAX ? (uint32_t)limit.rlim_cur : UINT32_MAX;
}

uint32_t descriptor_limit_stores(uint32_t limit)
{
	uint32_t stores = limit / STORES_SHARE;

	if (stores > STORES_MAX)
		return STORES_MAX;
	return stores ? stores : 1;
}

uint32_t descriptor_limit_connections(uint32_t limit)
{
	uint32_t taken = OTHERS + STORE_DESCRIPTORS * descriptor_limit_stores(limit);

	return limit > 2 * taken ? limit - taken : limit / 2 + 1;
}

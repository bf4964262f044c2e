#include "line_shares.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/log.h"
#include "node-agent/base/fair_shares.h"

#define PLACE_BYTES 4096u
#define PLACES_MAX  (LINE_SHARES_BYTES_MAX / PLACE_BYTES)

struct line_shares {
	pthread_mutex_t lock;
	struct fair_shares places; /* of PLACE_BYTES */
	bool is_said;
};

struct line_shares *line_shares_create(void)
{
	struct line_shares *shares = calloc(1, sizeof(*shares));

	if (shares)
		pthread_mutex_init(&shares->lock, NULL);
	return shares;
}

void line_shares_destroy(struct line_shares *shares)
{
	if (!shares)
		return;
	fair_shares_forget(&shares->places);
	pthread_mutex_destroy(&shares->lock);
	free(shares);
}

/* Needs the lock. After all but the last place were taken, so many are left for the last one. */
static bool take(struct fair_shares *places, uid_t user, size_t count)
{
	const uint32_t left = PLACES_MAX - places->total;

	if (count == 0 || count > left ||
	    !fair_shares_may_take(places, user, left - (uint32_t)(count - 1)))
		return false;
	for (size_t i = 0; i < count; i++)
		fair_shares_take(places, user);
	return true;
}

bool line_shares_take(struct line_shares *shares, uid_t user, size_t bytes)
{
	pthread_mutex_lock(&shares->lock);
	bool may = take(&shares->places, user, bytes / PLACE_BYTES + 1);
	bool says = !may && !shares->is_said;

	shares->is_said = shares->is_said || says;
	pthread_mutex_unlock(&shares->lock);
	if (says)
		log_warning("user %u: lines of compiled models fill their memory; further files of "
			    "Inductor have no lines until the agent starts again",
			    (unsigned)user);
	return may;
}

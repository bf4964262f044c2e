#include "step_pending.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_key(const void *a, const void *b)
{
	const struct timeline_launch *left = &((const struct step_pending_launch *)a)->launch;
	const struct timeline_launch *right = &((const struct step_pending_launch *)b)->launch;
	int order = COMPARE(left->process_id, right->process_id);

	order = order ? order : COMPARE(left->window, right->window);
	order = order ? order : COMPARE(left->correlation_id, right->correlation_id);
	return order ? order : COMPARE(left->time_ns, right->time_ns);
}

const struct step_pending_launch *step_pending_find(struct step_pending *pending,
						    const struct timeline_work *work)
{
	const struct step_pending_launch key = {.launch = {.process_id = work->process_id,
							   .window = work->window,
							   .correlation_id = work->correlation_id,
							   .time_ns = work->end_ns}};
	uint32_t low = 0, high = pending->nr_launches;

	while (low < high) { /* the first one behind the key */
		const uint32_t middle = low + (high - low) / 2;

		if (by_key(&pending->launches[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	struct step_pending_launch *found = &pending->launches[low - 1];
	if (found->launch.process_id != work->process_id || found->launch.window != work->window ||
	    found->launch.correlation_id != work->correlation_id)
		return NULL;
	if (work->end_ns > found->end_ns)
		found->end_ns = work->end_ns;
	return found;
}

int step_pending_add(struct step_pending *pending, const struct step_pending_launch *launch)
{
	if (array_reserve(&pending->launches, &pending->room_launches, pending->nr_launches + 1ull,
			  sizeof(*launch)))
		return -ENOMEM;
	pending->launches[pending->nr_launches++] = *launch;
	return 0;
}

bool step_pending_is_old(const struct step_pending_launch *launch, uint64_t to_ns)
{
	const uint64_t until_ns = launch->end_ns ? launch->end_ns + STEP_PENDING_GRAPH_NS
						 : launch->launch.time_ns + STEP_PENDING_NS;

	return until_ns < to_ns;
}

void step_pending_next(struct step_pending *pending, uint64_t to_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < pending->nr_launches; i++)
		if (!step_pending_is_old(&pending->launches[i], to_ns))
			pending->launches[kept++] = pending->launches[i];
	pending->nr_launches = kept;
}

void step_pending_sort(struct step_pending *pending)
{
	if (pending->nr_launches)
		qsort(pending->launches, pending->nr_launches, sizeof(*pending->launches), by_key);
}

void step_pending_fini(struct step_pending *pending)
{
	free(pending->launches);
	*pending = (struct step_pending){0};
}

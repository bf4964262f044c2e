#include "idle_work.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_start(const void *a, const void *b)
{
	const struct idle_work *x = a, *y = b;
	int order = compare(x->start_ns, y->start_ns);

	/* The order of work with one start must not depend on its source. */
	if (order == 0)
		order = compare(x->process_id, y->process_id);
	if (order == 0)
		order = compare(x->tid, y->tid);
	return order ? order : compare(x->clock_offset_ns, y->clock_offset_ns);
}

static bool is_ordered(const struct idle_work *work, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (by_start(&work[i - 1], &work[i]) > 0)
			return false;
	return true;
}

uint32_t idle_work_merge(struct idle_work *work, uint32_t count)
{
	uint32_t out = 0;

	if (count == 0)
		return 0;
	if (!is_ordered(work, count))
		qsort(work, count, sizeof(*work), by_start);
	for (uint32_t i = 1; i < count; i++) {
		struct idle_work *last = &work[out];

		if (work[i].start_ns > last->end_ns &&
		    work[i].start_ns - last->end_ns >= IDLE_GAP_MIN_NS)
			work[++out] = work[i];
		else if (work[i].end_ns > last->end_ns)
			last->end_ns = work[i].end_ns;
	}
	return out + 1;
}

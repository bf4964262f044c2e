#include "idle_gaps.h"

#include <errno.h>
#include <stdlib.h>

/* A pause takes this time at least, and a tenth of the time from the device's first work to its last. So a device has
 * nine at most. */
#define PAUSE_MIN_NS UINT64_C(1000000000)

static int by_process(const void *a, const void *b)
{
	const struct process_gap *x = a, *y = b;
	int order = (x->process_id > y->process_id) - (x->process_id < y->process_id);

	return order ? order
		     : (x->gap.start_ns > y->gap.start_ns) - (x->gap.start_ns < y->gap.start_ns);
}

/* If the clocks make no sense, the thread is not known. */
static struct process_gap gap_before(const struct idle_work *last, const struct idle_work *next,
				     uint64_t window_ns)
{
	struct process_gap gap = {
		.gap = {.start_ns = last->end_ns + next->clock_offset_ns,
			.end_ns = next->start_ns + next->clock_offset_ns,
			.tid = next->tid},
		.process_id = next->process_id,
	};

	if (gap.gap.start_ns > gap.gap.end_ns)
		gap.gap = (struct idle_gap){last->end_ns, next->start_ns, 0, false};
	const uint64_t ns = gap.gap.end_ns - gap.gap.start_ns;
	gap.gap.is_pause = ns >= PAUSE_MIN_NS && ns >= window_ns / 10;
	return gap;
}

int idle_gaps_find(const struct idle_work *work, uint32_t nr_work,
		   const struct idle_gaps_span *span, struct process_gap **gaps, uint32_t *nr_gaps,
		   uint64_t *ns)
{
	*nr_gaps = 0;
	*ns = 0;
	*gaps = malloc((nr_work + 1ul) * sizeof(**gaps));
	if (!*gaps)
		return -ENOMEM;
	for (uint32_t i = 1; i < nr_work; i++) {
		if (work[i - 1].end_ns < span->from_ns || work[i].start_ns > span->to_ns)
			continue;
		(*gaps)[(*nr_gaps)++] = gap_before(&work[i - 1], &work[i], span->window_ns);
		*ns += work[i].start_ns - work[i - 1].end_ns;
	}
	if (*nr_gaps)
		qsort(*gaps, *nr_gaps, sizeof(**gaps), by_process);
	return 0;
}

uint32_t idle_gaps_of_process(const struct process_gap *gaps, uint32_t nr_gaps,
			      struct idle_gap *plain)
{
	uint32_t count = 0;

	for (; count < nr_gaps && gaps[count].process_id == gaps[0].process_id; count++)
		plain[count] = gaps[count].gap;
	return count;
}

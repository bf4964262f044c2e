#include "report_straggler_most.h"

/* Returns whether the others waited longer for a than for b, or a looks late and b does not. */
static bool is_worse(const struct report_straggler_communicator *a_on,
		     const struct straggler_subject *a,
		     const struct report_straggler_communicator *b_on,
		     const struct straggler_subject *b)
{
	if (!a->doubt != !b->doubt)
		return a->doubt != STRAGGLER_NO_DOUBT;
	return (double)a->others_ns / (a_on->fold->nr_members - 1) >
	       (double)b->others_ns / (b_on->fold->nr_members - 1);
}

struct report_straggler_most report_straggler_most_find(const struct report_straggler *report)
{
	struct report_straggler_most most = {0};

	for (uint32_t i = 0; i < report->nr_ranks; i++) {
		most.all_ns += report->ranks[i].others_mean_ns;
		if (!most.rank || report->ranks[i].others_mean_ns > most.rank->others_mean_ns)
			most.rank = &report->ranks[i];
	}
	for (uint32_t i = 0; i < report->nr_communicators && most.rank; i++) {
		const struct report_straggler_communicator *on = &report->communicators[i];

		for (uint32_t j = 0; j < on->fold->nr_members; j++) {
			const struct straggler_subject *found = &on->members[j].found;

			if (&report->ranks[on->members[j].of_rank] != most.rank ||
			    !on->fold->used ||
			    (most.on && !is_worse(on, found, most.on, most.found)))
				continue;
			most.on = on;
			most.found = found;
		}
	}
	return most;
}

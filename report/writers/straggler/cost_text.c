#include "cost_text.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/report_summary.h"
#include "report/names/text_line.h"

#define NUMBER_SIZE 32u
#define WHOLE_RUN   0.9 /* a communicator that was there for this part of the run is of all of it */

uint64_t cost_text_waited(const struct report_straggler_communicator *on,
			  const struct straggler_subject *found, double *share)
{
	const double waiters = straggler_subject_waiters(found, on->fold->nr_members);
	const bool part = !on->is_pipeline &&
			  (found->ground == STRAGGLER_STALL || found->ground == STRAGGLER_PHASE);

	*share = !found->others_ns ? 0
		 : part ? found->share * (double)found->lump_ns / (double)found->others_ns
			: found->share;
	*share = *share < 1 ? *share : 1;
	return (uint64_t)((double)(part ? found->lump_ns : found->others_ns) / waiters);
}

void cost_text_all_waiting(char *line, size_t size, const struct report_straggler_communicator *on,
			   const struct straggler_subject *found)
{
	uint64_t all_ns = 0;

	if (found->ground != STRAGGLER_STALL)
		return;
	for (uint32_t i = 0; i < on->fold->nr_members; i++)
		all_ns += on->members[i].found.others_ns;
	text_line_append(line, size, " and %.0f %% of all waiting",
			 report_summary_percent((double)found->lump_ns, (double)all_ns));
}

/* What is beyond chance, if anything is. */
static const char *chance_of(const struct straggler_subject *found)
{
	switch (found->ground) {
	case STRAGGLER_FREQUENCY:
		return ", beyond chance by frequency";
	case STRAGGLER_COST:
	case STRAGGLER_LUMPS:
	case STRAGGLER_PHASE:
		return ", beyond chance by cost";
	default:
		return "";
	}
}

/* Appends how late a subject is behind others. Returns false if it is not late so. */
static bool append_hidden(char *line, size_t size, const struct straggler_subject *found)
{
	char time[NUMBER_SIZE];

	if (found->ground != STRAGGLER_HIDDEN || found->late_ns <= 0)
		return false;
	text_line_append(line, size, "late by %s each time, though others are later",
			 report_summary_time((uint64_t)found->late_ns, time));
	return true;
}

/* A part of a communicator's span. Of one that was there for a part of the run, says what it is of the run. */
static void append_part(char *line, size_t size, const struct report_straggler_communicator *on,
			double share)
{
	const double part = on->run_ns ? (double)on->span_ns / (double)on->run_ns : 1;

	if (on->is_pipeline || part > WHOLE_RUN)
		text_line_append(line, size, "%.2f %% of the time", 100 * share);
	else
		text_line_append(line, size, "%.2f %% of the run", 100 * share * part);
}

/* Subjects that are late again and again in the same collectives. Where one is not late, the others still are. */
struct together {
	uint32_t count;
	uint64_t waited_ns;
	double share;
};

static void add_together(const struct report_straggler_communicator *on,
			 const struct straggler_subject *found, struct together *together)
{
	double share;

	if (found->ground == STRAGGLER_STALL || found->ground == STRAGGLER_PHASE)
		return;
	together->count++;
	together->waited_ns += cost_text_waited(on, found, &share);
	together->share = fmin(1, together->share + share);
}

static struct together find_together(const struct report_straggler *straggler,
				     const struct report_straggler_communicator *on)
{
	struct together together = {0};

	for (uint32_t i = 0; i < straggler->nr_groups; i++)
		if (&straggler->communicators[straggler->groups[i].communicator] == on)
			add_together(on, &straggler->groups[i].group->found, &together);
	for (uint32_t i = 0; i < straggler->nr_named; i++) {
		const struct report_straggler_rank *rank = &straggler->ranks[i];

		if (!rank->kept_by && &straggler->communicators[rank->communicator] == on)
			add_together(on, &on->members[rank->member].found, &together);
	}
	return together;
}

void cost_text_append(char *line, size_t size, const struct report_straggler *straggler,
		      const struct report_straggler_communicator *on,
		      const struct straggler_subject *found)
{
	const struct together together = find_together(straggler, on);
	const bool is_once = found->ground == STRAGGLER_STALL || found->ground == STRAGGLER_PHASE;
	char time[NUMBER_SIZE], count[NUMBER_SIZE];
	double share;
	uint64_t waited_ns = cost_text_waited(on, found, &share);

	if (append_hidden(line, size, found)) {
		if (together.count < 2)
			return;
		text_line_append(line, size, "; ");
	}
	if (found->ground == STRAGGLER_STALL)
		text_line_append(line, size, "once; ");
	if (found->ground == STRAGGLER_PHASE)
		text_line_append(line, size, "in %s %" PRIu64 " to %" PRIu64 " of %s; ",
				 on->is_pipeline ? "stretches" : "collectives",
				 found->lump_from + 1, found->lump_to,
				 report_summary_count(on->fold->used, count));
	text_line_append(line, size, "without it ");
	if (!is_once && together.count > 1) {
		text_line_append(line, size, "and the other%s that %s late ",
				 together.count > 2 ? "s" : "", together.count > 2 ? "are" : "is");
		waited_ns = together.waited_ns;
		share = together.share;
	}
	text_line_append(line, size, "up to %s less, ", report_summary_time(waited_ns, time));
	append_part(line, size, on, share);
	cost_text_all_waiting(line, size, on, found);
	text_line_append(line, size, "%s", chance_of(found));
}

void cost_text_share(char *line, size_t size, const struct report_straggler_communicator *on,
		     const struct straggler_subject *found)
{
	double share;

	if (append_hidden(line, size, found))
		return;
	cost_text_waited(on, found, &share);
	text_line_append(line, size, "%.2f %%", 100 * share);
}

#include "cost_text.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/report_summary.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler_joins.h"

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

/* ---- savings */

/* The communicators on which what a subject costs adds up. */
struct span {
	uint32_t places, once; /* of these, places where it was late once, or for a part */
	double span_ns;
};

struct saving {
	uint64_t waited_ns;
	double share; /* of the span */
};

static bool is_once(const struct straggler_subject *found)
{
	return found->ground == STRAGGLER_STALL || found->ground == STRAGGLER_PHASE;
}

static uint32_t count_places(const struct report_straggler *straggler)
{
	return straggler->nr_communicators + (straggler->pipeline != NULL);
}

/* Returns what is found of a subject on a communicator; NULL: it does not count there. */
static const struct straggler_subject *found_on(const struct report_straggler *straggler,
						const struct cost_subject *subject, uint32_t place)
{
	return subject->group ? report_straggler_joins_group(straggler, subject->group, place)
			      : report_straggler_joins_rank(straggler, subject->rank, place);
}

static struct span span_of(const struct report_straggler *straggler,
			   const struct cost_subject *subject)
{
	struct span span = {0};

	for (uint32_t i = 0; i < count_places(straggler); i++) {
		const struct straggler_subject *found = found_on(straggler, subject, i);

		if (!found)
			continue;
		span.places++;
		span.once += is_once(found);
		span.span_ns += (double)straggler->communicators[i].span_ns;
	}
	return span;
}

/* Adds what `late` costs on the communicators of a subject, if asked without what happened once. Returns whether there
 * is something. */
static bool add_saving(const struct report_straggler *straggler, const struct cost_subject *subject,
		       const struct cost_subject *late, bool with_once, struct saving *saving)
{
	const struct span span = span_of(straggler, subject);
	bool any = false;

	for (uint32_t i = 0; i < count_places(straggler); i++) {
		const struct report_straggler_communicator *on = &straggler->communicators[i];
		const struct straggler_subject *found =
			found_on(straggler, subject, i) ? found_on(straggler, late, i) : NULL;
		double share;

		if (!found || (is_once(found) && !with_once))
			continue;
		any = true;
		saving->waited_ns += cost_text_waited(on, found, &share);
		saving->share += span.places == 1   ? share
				 : span.span_ns > 0 ? share * (double)on->span_ns / span.span_ns
						    : 0;
	}
	saving->share = fmin(1, saving->share);
	return any;
}

/* Adds what all others cost that are late again and again in the same collectives: where one is not late, they still
 * are. Returns how many there are. */
static uint32_t add_others(const struct report_straggler *straggler,
			   const struct cost_subject *subject, struct saving *saving)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < straggler->nr_groups; i++) {
		const struct cost_subject late = {.group = &straggler->groups[i]};

		if (!late.group->joined && late.group != subject->group)
			count += add_saving(straggler, subject, &late, false, saving);
	}
	for (uint32_t i = 0; i < straggler->nr_named; i++) {
		const struct cost_subject late = {.rank = &straggler->ranks[i]};

		if (!late.rank->kept_by && late.rank != subject->rank)
			count += add_saving(straggler, subject, &late, false, saving);
	}
	return count;
}

/* Returns which part of the run a share of the span is, if that was there for a part of the run. *of_run: it was. */
static double part_of(const struct report_straggler_communicator *on, const struct span *span,
		      double share, bool *of_run)
{
	const double part = on->run_ns ? span->span_ns / (double)on->run_ns : 1;

	*of_run = !on->is_pipeline && part <= WHOLE_RUN;
	return *of_run ? share * part : share;
}

/* ---- words */

static const struct report_straggler_communicator *
place_of(const struct report_straggler *straggler, const struct cost_subject *subject,
	 const struct straggler_subject **found)
{
	const uint32_t place =
		subject->group ? subject->group->communicator : subject->rank->communicator;

	*found = subject->group
			 ? &subject->group->group->found
			 : &straggler->communicators[place].members[subject->rank->member].found;
	return &straggler->communicators[place];
}

/* Says when a subject was late that was not so again and again. */
static void append_once(char *line, size_t size, const struct report_straggler_communicator *on,
			const struct straggler_subject *found, const struct span *span)
{
	char count[NUMBER_SIZE];

	if (span->once < span->places)
		return;
	if (span->places > 1)
		text_line_append(line, size, "in %" PRIu32 " parts of the run; ", span->places);
	else if (found->ground == STRAGGLER_STALL)
		text_line_append(line, size, "once; ");
	else
		text_line_append(line, size, "in %s %" PRIu64 " to %" PRIu64 " of %s; ",
				 on->is_pipeline ? "stretches" : "collectives",
				 found->lump_from + 1, found->lump_to,
				 report_summary_count(on->fold->used, count));
}

void cost_text_append(char *line, size_t size, const struct report_straggler *straggler,
		      const struct cost_subject *subject)
{
	const struct straggler_subject *found;
	const struct report_straggler_communicator *on = place_of(straggler, subject, &found);
	const struct span span = span_of(straggler, subject);
	struct saving saving = {0}, all;
	char time[NUMBER_SIZE];
	bool of_run;

	add_saving(straggler, subject, subject, true, &saving);
	all = saving;
	const uint32_t others = span.once < span.places ? add_others(straggler, subject, &all) : 0;
	if (append_hidden(line, size, found)) {
		if (!others)
			return;
		text_line_append(line, size, "; ");
	}
	append_once(line, size, on, found, &span);
	text_line_append(line, size, "without it ");
	if (others)
		text_line_append(line, size, "and the other%s that %s late ", others > 1 ? "s" : "",
				 others > 1 ? "are" : "is");
	saving = others ? all : saving;
	const double part = part_of(on, &span, saving.share, &of_run);
	text_line_append(line, size, "up to %s less, %.2f %% of the %s",
			 report_summary_time(saving.waited_ns, time), 100 * part,
			 of_run ? "run" : "time");
	if (span.places == 1)
		cost_text_all_waiting(line, size, on, found);
	text_line_append(line, size, "%s", chance_of(found));
}

void cost_text_share(char *line, size_t size, const struct report_straggler *straggler,
		     const struct cost_subject *subject)
{
	const struct straggler_subject *found;
	const struct report_straggler_communicator *on = place_of(straggler, subject, &found);
	const struct span span = span_of(straggler, subject);
	struct saving saving = {0};
	bool of_run;

	if (append_hidden(line, size, found))
		return;
	add_saving(straggler, subject, subject, true, &saving);
	text_line_append(line, size, "%.2f %%", 100 * part_of(on, &span, saving.share, &of_run));
}

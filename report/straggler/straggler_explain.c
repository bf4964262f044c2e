#include "straggler_explain.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/causes/straggler_kept.h"
#include "report/causes/straggler_others.h"
#include "report/causes/straggler_window.h"
#include "report/profile/straggler_rank.h"

#define FEWEST  4u  /* collectives of a part of the run: fewer are chance */
#define LASTING 0.5 /* of the lateness */

/* The calls of a communicator that have raw rows. */
struct raw_calls {
	const struct collective_fold *fold;
	const struct collective_log *log;
	struct straggler_calls calls;
};

static int take_calls(void *context, struct collective_match *match)
{
	struct raw_calls *raw = context;

	if (match->key != raw->fold->key) {
		collective_match_fini(match);
		return 0;
	}
	raw->calls.match = *match;
	return collective_match_compare(&raw->calls.match, raw->log, &raw->calls.times_ns);
}

/* Returns the match's member that is the fold's; COLLECTIVE_FOLD_NONE: it has no raw row. */
static uint32_t find_calls(const struct raw_calls *raw, uint32_t member)
{
	const struct collective_fold_member *of = &raw->fold->members[member];

	for (uint32_t i = 0; i < raw->calls.match.nr_members; i++)
		if (raw->calls.match.members[i].process == of->process &&
		    raw->calls.match.members[i].communicator_id == of->communicator_id)
			return i;
	return COLLECTIVE_FOLD_NONE;
}

/* Marks the late member's group. 0 or -ENOMEM. */
static int mark_group(struct raw_calls *raw, const struct straggler_group *group)
{
	if (!group)
		return 0;
	raw->calls.is_with = calloc(raw->calls.match.nr_members + 1ul, sizeof(bool));
	if (!raw->calls.is_with)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->nr_members; i++) {
		uint32_t at = find_calls(raw, group->members[i]);

		if (at != COLLECTIVE_FOLD_NONE)
			raw->calls.is_with[at] = true;
	}
	return 0;
}

/* ---- lumps and phases */

/* Returns whether a collective lies in the part. Its place among those compared is about that of its number among all
 * numbers: at the edge of a stretch, it counts to both. */
static bool is_in_part(const struct collective_fold *fold, const struct straggler_subject *subject,
		       uint64_t sequence, uint64_t newest)
{
	const uint32_t nr_stretches = collective_fold_buckets(fold);
	const double at = (double)(sequence - 1) / (double)newest * (double)fold->used;
	const double length = (double)(1ull << fold->shift), edge = 2;
	const uint32_t from = at > edge ? (uint32_t)((at - edge) / length) : 0;

	for (uint32_t i = from; i < nr_stretches && i <= (uint32_t)((at + edge) / length); i++)
		if (subject->in_part[i])
			return true;
	return false;
}

static void leave_part(const struct collective_fold *fold, const struct straggler_subject *subject,
		       struct straggler_calls *calls)
{
	struct collective_match_row *rows = calls->match.rows;
	const uint32_t width = calls->match.nr_members, nr_rows = calls->match.nr_rows;
	uint64_t newest = 1;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		newest = rows[i].sequence > newest ? rows[i].sequence : newest;
	for (uint32_t i = 0; i < nr_rows; i++) {
		if (!is_in_part(fold, subject, rows[i].sequence, newest))
			continue;
		memmove(calls->times_ns + (size_t)kept * width, calls->times_ns + (size_t)i * width,
			width * sizeof(*calls->times_ns));
		rows[kept++] = rows[i];
	}
	calls->match.nr_rows = kept;
}

/* Returns the first row from which on all calls of a member have raw rows. */
static uint32_t find_newest(const struct collective_match *match, uint32_t member)
{
	const struct collective_match_entry *entries = match->entries;
	uint32_t row = match->nr_rows, entry = 0;

	for (; row > 0; row--) {
		uint32_t before = match->places[match->rows[row - 1].entries + member];

		if (row == match->nr_rows)
			entry = before;
		for (; entry > before; entry--)
			if (entries[entry].sequence > entries[entry - 1].sequence + 1)
				return row;
	}
	return row;
}

/* Leaves in calls only the newest collectives, if the late rank was last in enough of them. Others have raw rows for
 * their long waits, and these show the noise of a rank that is often late. 0 or -ENOMEM. */
static int keep_newest(const struct collective_log *log, uint32_t late,
		       struct straggler_calls *calls)
{
	const uint32_t width = calls->match.nr_members, first = find_newest(&calls->match, late);
	struct straggler_calls newest = *calls;
	uint64_t late_ns;
	uint32_t count;

	newest.match.rows += first;
	newest.match.nr_rows -= first;
	newest.times_ns += (size_t)first * width;
	int error = straggler_window_lateness(&newest, log, late, &late_ns, &count);
	if (error || count < FEWEST)
		return error;
	memmove(calls->match.rows, newest.match.rows,
		newest.match.nr_rows * sizeof(*newest.match.rows));
	memmove(calls->times_ns, newest.times_ns,
		(size_t)newest.match.nr_rows * width * sizeof(*newest.times_ns));
	calls->match.nr_rows = newest.match.nr_rows;
	return 0;
}

static uint64_t collectives_of(const struct collective_fold *fold,
			       const struct straggler_subject *subject)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < collective_fold_buckets(fold); i++)
		count += subject->in_part[i] ? collective_fold_in_bucket(fold, i) : 0;
	return count;
}

static int by_lateness(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* Returns the lateness that the latest collectives reach which hold half of all. One of many collectives of a stretch
 * makes a lump. */
static uint64_t usual_of(uint64_t *late_ns, uint32_t count)
{
	uint64_t all = 0, sum = 0;
	uint32_t i = 0;

	for (uint32_t j = 0; j < count; j++)
		all += late_ns[j];
	qsort(late_ns, count, sizeof(*late_ns), by_lateness);
	for (; i + 1 < count && 2 * (sum + late_ns[i]) < all; i++)
		sum += late_ns[i];
	return late_ns[i];
}

/* Leaves in calls only collectives of the part of the run for which the subject is named: outside of it, those in which
 * it was last are those of chance. Sets calls->least_ns to half of the lateness that is usual there. late: the late
 * member. 0 or -ENOMEM. */
static int keep_part(const struct collective_fold *fold, const struct straggler_subject *subject,
		     uint32_t late, struct straggler_calls *calls)
{
	const uint64_t collectives = collectives_of(fold, subject);
	uint64_t *late_ns = calloc(calls->match.nr_rows + 1ul, sizeof(*late_ns));
	uint32_t count;

	if (!late_ns)
		return -ENOMEM;
	leave_part(fold, subject, calls);
	if (collectives)
		calls->least_ns =
			(uint64_t)((double)subject->part_ns /
				   straggler_subject_waiters(subject, fold->nr_members) /
				   (double)collectives / 2);
	int error = straggler_window_late(calls, late, late_ns, &count);
	if (!error && count && subject->ground == STRAGGLER_LUMPS) {
		const uint64_t half_ns = usual_of(late_ns, count) / 2;

		calls->least_ns = half_ns > calls->least_ns ? half_ns : calls->least_ns;
	}
	free(late_ns);
	return error;
}

/* ---- the times that are compared */

/* What is asked, with the parties' places in the fold. */
struct inquiry {
	const struct profile *profile;
	const char *store_path;
	const struct collective_folds *folds;
	const struct straggler_late *late;
	struct raw_calls raw;
	uint32_t members[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_party parties[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_question question;
	bool is_short; /* of the part of the run too few collectives have raw rows */
};

/* What is found in some times. */
struct finding {
	struct straggler_cause *causes; /* owns */
	uint32_t nr_causes;
	struct straggler_scope scope;
};

static void fini_windows(struct inquiry *inquiry)
{
	for (uint32_t i = 0; i < inquiry->question.nr_parties; i++)
		straggler_windows_fini(&inquiry->parties[i].windows);
}

/* Returns whether a subject is named for what happened in a part of the run. */
static bool is_for_part(const struct straggler_subject *found)
{
	return found->ground == STRAGGLER_LUMPS || found->ground == STRAGGLER_PHASE;
}

/* Returns whether a subject is named for being late in many collectives, not for a few long waits. */
static bool is_often_late(const struct straggler_subject *found)
{
	return found->ground == STRAGGLER_FREQUENCY || found->ground == STRAGGLER_PHASE;
}

/* Sets the windows before the collectives in which the rank was last. */
static int find_late(struct inquiry *inquiry)
{
	struct straggler_question *question = &inquiry->question;
	uint32_t at = find_calls(&inquiry->raw, inquiry->late->member);

	question->extent = STRAGGLER_LATE;
	question->window_late_ns = 0;
	if (at == COLLECTIVE_FOLD_NONE)
		return 0;
	const bool for_part = is_for_part(inquiry->late->found);
	uint32_t count = 0;
	int error = 0;
	if (for_part)
		error = keep_part(inquiry->late->fold, inquiry->late->found, at,
				  &inquiry->raw.calls);
	if (!error && is_often_late(inquiry->late->found))
		error = keep_newest(inquiry->raw.log, at, &inquiry->raw.calls);
	if (!error)
		error = straggler_window_lateness(&inquiry->raw.calls, inquiry->raw.log, at,
						  &question->window_late_ns, &count);
	inquiry->is_short = for_part && count < FEWEST;
	if (inquiry->is_short)
		return error;
	for (uint32_t i = 0; i < question->nr_parties && !error; i++) {
		uint32_t member = find_calls(&inquiry->raw, inquiry->members[i]);

		if (member != COLLECTIVE_FOLD_NONE)
			error = straggler_window_find(&inquiry->raw.calls, inquiry->raw.log, at,
						      member, &inquiry->parties[i].windows);
	}
	return error;
}

/* Sets one window for each rank, from its first collective to its last one. */
static int find_span(struct inquiry *inquiry)
{
	struct straggler_question *question = &inquiry->question;
	int error = 0;

	question->extent = STRAGGLER_COLLECTIVES;
	question->window_late_ns = question->late_ns;
	for (uint32_t i = 0; i < question->nr_parties && !error; i++)
		error = straggler_window_span(&inquiry->late->fold->members[inquiry->members[i]],
					      question->collectives, &inquiry->parties[i].windows);
	return error;
}

/* Takes away what was compared over the whole run. */
static void drop_run(struct finding *finding)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < finding->nr_causes; i++)
		if (finding->causes[i].extent != STRAGGLER_RUN)
			finding->causes[kept++] = finding->causes[i];
		else
			straggler_cause_fini(&finding->causes[i]);
	finding->nr_causes = kept;
}

static int look_in(struct inquiry *inquiry, int (*find)(struct inquiry *inquiry),
		   struct finding *finding)
{
	int error = find(inquiry);

	if (!error)
		error = straggler_kept_cut(inquiry->profile, inquiry->parties,
					   inquiry->question.nr_parties);
	if (!error)
		error = straggler_causes_find(inquiry->profile, inquiry->store_path, inquiry->folds,
					      &inquiry->question, &finding->causes,
					      &finding->nr_causes, &finding->scope);
	fini_windows(inquiry);
	return error;
}

/* Returns whether the times in which the rank was last show a cause, and one on the host if its GPU idled for more than
 * that: few samples do not show what the host did. */
static bool is_explained(const struct finding *finding)
{
	const double most = straggler_causes_most(finding->causes, finding->nr_causes);
	double idle = 0, host = 0;

	for (uint32_t i = 0; i < finding->nr_causes; i++) {
		const struct straggler_cause *cause = &finding->causes[i];

		if (cause->sort == STRAGGLER_IDLE)
			idle = cause->share > idle ? cause->share : idle;
		else if (cause->sort != STRAGGLER_GPU_WORK)
			host += cause->share;
	}
	return finding->scope.extent == STRAGGLER_LATE && most >= STRAGGLER_CAUSES_ENOUGH &&
	       (idle <= most || 2 * host >= idle);
}

static bool is_same(const struct straggler_cause *a, const struct straggler_cause *b)
{
	return a->sort == b->sort && a->more == b->more && strcmp(a->function, b->function) == 0 &&
	       strcmp(a->what, b->what) == 0;
}

/* Puts the cause first that explains half of the lateness in all of the run, too. Of a phase that is over only the
 * longest waits have raw rows, and what made these so long may be noise. */
static int put_lasting_first(struct inquiry *inquiry, struct finding *finding)
{
	struct finding wider = {0};
	int error = finding->nr_causes > 1 ? look_in(inquiry, find_span, &wider) : 0;

	for (uint32_t i = 1; i < finding->nr_causes && !error && wider.nr_causes; i++) {
		const struct straggler_cause cause = finding->causes[i];

		if (cause.effect || wider.causes[0].effect || wider.causes[0].share < LASTING ||
		    !is_same(&cause, &wider.causes[0]))
			continue;
		memmove(finding->causes + 1, finding->causes, i * sizeof(cause));
		finding->causes[0] = cause;
		break;
	}
	straggler_causes_free(wider.causes, wider.nr_causes);
	return error;
}

/* Looks before the collectives in which the rank was last. If these are too few to show a cause, it looks from the
 * first collective to the last one. There it looks at once for a rank that another one hides: it is last only where
 * that other one is not late, and where chance made it so. A stall is looked at by itself. Of a rank that was late in a
 * part of the run, a cause in all of it has to explain nearly all of the lateness: less may be what ranks differ by. */
static int look_at_all(struct inquiry *inquiry, struct finding *finding)
{
	const bool for_part = is_for_part(inquiry->late->found);
	struct finding wider = {0};

	if (inquiry->late->found->ground == STRAGGLER_HIDDEN)
		return look_in(inquiry, find_span, finding);
	int error = look_in(inquiry, find_late, finding);
	if (inquiry->raw.calls.is_stall || for_part)
		drop_run(finding);
	finding->scope.is_short |= inquiry->is_short;
	double most = error ? 0 : straggler_causes_most(finding->causes, finding->nr_causes);

	if (!error && is_often_late(inquiry->late->found) && is_explained(finding))
		return put_lasting_first(inquiry, finding);
	if (error || inquiry->raw.calls.is_stall || is_explained(finding))
		return error;
	error = look_in(inquiry, find_span, &wider);
	if (error)
		return error;
	const double widest = straggler_causes_most(wider.causes, wider.nr_causes);
	const bool better = for_part ? widest >= STRAGGLER_CAUSES_SHARE
				     : finding->scope.extent == STRAGGLER_RUN || widest > most;
	struct finding worse = better ? *finding : wider;
	if (better)
		*finding = wider;
	straggler_causes_free(worse.causes, worse.nr_causes);
	return 0;
}

/* Says of slower GPU work whether the GPU's clock explains it. */
static int explain_clocks(const struct inquiry *inquiry, struct finding *finding)
{
	uint32_t processes[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_clocks_question question = {
		.processes = processes,
		.nr = inquiry->question.nr_parties,
		.start_ns = inquiry->late->part_start_ns,
		.end_ns = inquiry->late->part_end_ns,
	};
	int error = 0;

	for (uint32_t i = 0; i < question.nr; i++)
		processes[i] = inquiry->parties[i].process;
	for (uint32_t i = 0; i < finding->nr_causes && !error; i++) {
		struct straggler_cause *cause = &finding->causes[i];

		question.longer = cause->factor - 1;
		if (cause->sort == STRAGGLER_GPU_WORK && !cause->more)
			error = straggler_clocks_find(inquiry->profile, &question, &cause->clocks);
	}
	return error;
}

int straggler_explain(const struct profile *profile, const char *store_path,
		      const struct collective_folds *folds, const struct straggler_late *late,
		      struct straggler_cause **causes, uint32_t *nr_causes,
		      struct straggler_scope *scope)
{
	const struct roster *roster = profile->collection->roster;
	const struct collective_fold *fold = late->fold;
	struct inquiry inquiry = {
		.profile = profile,
		.store_path = store_path,
		.folds = folds,
		.late = late,
		.raw = {.fold = fold, .log = folds->log},
		.question =
			{
				.collectives = fold->used,
				.late_ns = late->found->late_ns > 0 ? (uint64_t)late->found->late_ns
								    : 0,
			},
	};
	struct finding finding = {0};

	inquiry.raw.calls.is_stall = late->found->ground == STRAGGLER_STALL;
	inquiry.raw.calls.least_ns =
		inquiry.raw.calls.is_stall && fold->nr_members > 1
			? (uint64_t)((double)late->found->lump_ns /
				     straggler_subject_waiters(late->found, fold->nr_members) / 2)
			: inquiry.question.late_ns / 2;
	*causes = NULL;
	*nr_causes = 0;
	*scope = (struct straggler_scope){0};
	inquiry.question.parties = inquiry.parties;
	inquiry.question.nr_parties = straggler_others_choose(
		roster, fold, late->member, late->group ? late->group->members : NULL,
		late->group ? late->group->nr_members : 0, inquiry.members);
	if (inquiry.question.nr_parties < 2)
		return 0;
	for (uint32_t i = 0; i < inquiry.question.nr_parties; i++)
		inquiry.parties[i].process = fold->members[inquiry.members[i]].process;
	int error = collective_match_each(folds->log, roster_size(roster).processes, true,
					  take_calls, &inquiry.raw);
	if (!error)
		error = mark_group(&inquiry.raw, late->group);
	if (!error)
		error = look_at_all(&inquiry, &finding);
	if (!error)
		error = explain_clocks(&inquiry, &finding);
	if (error)
		straggler_causes_free(finding.causes, finding.nr_causes);
	*causes = error ? NULL : finding.causes;
	*nr_causes = error ? 0 : finding.nr_causes;
	*scope = finding.scope;
	collective_match_fini(&inquiry.raw.calls.match);
	free(inquiry.raw.calls.times_ns);
	free(inquiry.raw.calls.is_with);
	return error;
}

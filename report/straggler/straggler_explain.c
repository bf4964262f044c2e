#include "straggler_explain.h"

#include <errno.h>
#include <stdlib.h>

#include "straggler_window.h"

bool straggler_explain_same_rank(const struct roster_process *a, const struct roster_process *b)
{
	return a->rank >= 0 && a->rank == b->rank && a->job == b->job;
}

static bool is_in_group(const struct straggler_group *group, uint32_t member)
{
	for (uint32_t i = 0; group && i < group->nr_members; i++)
		if (group->members[i] == member)
			return true;
	return false;
}

/* Chooses the late rank, then other ranks of the job that are not of its group; of many, every n-th. */
static uint32_t choose_parties(const struct roster *roster, const struct straggler_late *late,
			       uint32_t members[static 1 + STRAGGLER_OTHERS_MAX])
{
	const struct collective_fold *of = late->fold;
	uint32_t count = 1, step = 1 + (of->nr_members - 2) / STRAGGLER_OTHERS_MAX;

	members[0] = late->member;
	for (uint32_t i = 0; i < of->nr_members && count <= STRAGGLER_OTHERS_MAX; i += step) {
		uint32_t process = of->members[i].process;
		bool there = is_in_group(late->group, i);

		for (uint32_t j = 0; j < count; j++) {
			uint32_t other = of->members[members[j]].process;

			there |= process == other ||
				 straggler_explain_same_rank(roster_process(roster, process),
							     roster_process(roster, other));
		}
		if (!there)
			members[count++] = i;
	}
	return count;
}

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

static int find_windows(const struct raw_calls *raw, uint32_t late, const uint32_t *members,
			struct straggler_question *question, struct straggler_party *parties)
{
	uint32_t at = find_calls(raw, late);
	int error = 0;

	if (at == COLLECTIVE_FOLD_NONE)
		return 0;
	question->window_late_ns =
		straggler_window_lateness(&raw->calls, at, &question->window_count);
	for (uint32_t i = 0; i < question->nr_parties && !error; i++) {
		struct straggler_window *windows = NULL;
		uint32_t member = find_calls(raw, members[i]);

		if (member != COLLECTIVE_FOLD_NONE)
			error = straggler_window_find(&raw->calls, raw->log, at, member, &windows,
						      &parties[i].nr_windows);
		parties[i].windows = windows;
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
	struct raw_calls raw = {.fold = fold, .log = folds->log};
	uint32_t members[1 + STRAGGLER_OTHERS_MAX];
	struct straggler_party parties[1 + STRAGGLER_OTHERS_MAX] = {0};
	struct straggler_question question = {
		.parties = parties,
		.nr_parties = choose_parties(roster, late, members),
		.collectives = fold->used,
		.late_ns = late->found->late_ns > 0 ? (uint64_t)late->found->late_ns : 0,
	};

	if (question.nr_parties < 2)
		return 0;
	for (uint32_t i = 0; i < question.nr_parties; i++)
		parties[i].process = fold->members[members[i]].process;
	int error = collective_match_each(raw.log, roster_size(roster).processes, true, take_calls,
					  &raw);
	if (!error)
		error = find_windows(&raw, late->member, members, &question, parties);
	if (!error)
		error = straggler_causes_find(profile, store_path, folds, &question, causes,
					      nr_causes, scope);
	for (uint32_t i = 0; i < question.nr_parties; i++)
		free((void *)parties[i].windows);
	collective_match_fini(&raw.calls.match);
	free(raw.calls.times_ns);
	return error;
}

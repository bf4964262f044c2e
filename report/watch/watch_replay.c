#include "watch_replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/statistics/robust.h"

#define NONE UINT32_MAX

/* A visit in its place among those of its rank. */
struct part {
	uint32_t meeting;
	uint32_t before; /* index of the rank's visit before; NONE */
	double work_ns;  /* from the end of that one; below 0: this one began before */
	double fair_ns;  /* the same without excess */
};

/* What a late rank has more of before one collective. */
struct excess {
	uint32_t rank, communicator, kind, visit;
	double ns;
};

/* The work of a rank that is not late. */
struct usual {
	uint32_t kind;
	double ns;
};

struct replay {
	const struct watch_replay_input *input;
	struct part *parts; /* owns; one for each visit */
	uint32_t *order;    /* owns; visits by rank, then by begin */
	uint32_t *begins; /* owns; of each rank, its first place in order; then the number of all */
	double *done;     /* owns; of each meeting */
	double *came;     /* owns; of each visit */
	struct excess *excesses; /* owns */
	uint32_t nr_excesses;
	struct usual *usual; /* owns; by kind, then time */
	uint32_t nr_usual;
	double *values; /* owns; room to work in */
};

/* ---- the ranks' own order */

static int by_begin(const void *a, const void *b, void *context)
{
	const struct watch_visit *visits = context;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct watch_visit *x = &visits[i], *y = &visits[j];

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return i < j ? -1 : 1;
}

static void put_in_order(struct replay *replay)
{
	const struct watch_replay_input *input = replay->input;
	uint32_t at = 0;

	for (uint32_t i = 0; i < input->nr_meetings; i++)
		for (uint32_t j = 0; j < input->meetings[i].nr_visits; j++)
			replay->parts[input->meetings[i].first_visit + j].meeting = i;
	for (uint32_t i = 0; i < input->nr_visits; i++)
		replay->order[i] = i;
	qsort_r(replay->order, input->nr_visits, sizeof(*replay->order), by_begin,
		(void *)input->visits);
	for (uint32_t rank = 0; rank <= input->nr_ranks; rank++) {
		replay->begins[rank] = at;
		while (at < input->nr_visits && input->visits[replay->order[at]].rank == rank)
			at++;
	}
	for (uint32_t i = 0; i < input->nr_visits; i++) {
		const struct watch_visit *visit = &input->visits[replay->order[i]];
		struct part *part = &replay->parts[replay->order[i]];
		const bool is_first = i == replay->begins[visit->rank];

		part->before = is_first ? NONE : replay->order[i - 1];
		if (!is_first)
			part->work_ns = part->fair_ns =
				(double)(int64_t)(visit->start_ns -
						  input->visits[part->before].end_ns);
	}
}

/* ---- excess */

static bool is_late(const struct replay *replay, uint32_t visit)
{
	return replay->input->late[replay->input->visits[visit].rank];
}

/* The median work of the ranks that are not late, before this meeting; NAN: there is none. */
static double usual_before(const struct replay *replay, const struct watch_meeting *meeting)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < meeting->nr_visits; i++) {
		uint32_t visit = meeting->first_visit + i;

		if (!is_late(replay, visit) && replay->parts[visit].before != NONE)
			replay->values[count++] = replay->parts[visit].work_ns;
	}
	return count ? robust_median(replay->values, count) : NAN;
}

static int by_usual(const void *a, const void *b)
{
	const struct usual *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Sorts the work of the ranks that are not late by kind. */
static void find_usual(struct replay *replay)
{
	const struct watch_replay_input *input = replay->input;

	for (uint32_t i = 0; i < input->nr_visits; i++)
		if (!is_late(replay, i) && replay->parts[i].before != NONE)
			replay->usual[replay->nr_usual++] =
				(struct usual){input->meetings[replay->parts[i].meeting].kind,
					       replay->parts[i].work_ns};
	qsort(replay->usual, replay->nr_usual, sizeof(*replay->usual), by_usual);
}

/* Returns the first place of a kind, or of those above it. */
static uint32_t first_usual(const struct replay *replay, uint64_t kind)
{
	uint32_t low = 0;

	for (uint32_t high = replay->nr_usual; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (replay->usual[middle].kind < kind)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The median before all meetings of the kind. */
static double usual_of_kind(const struct replay *replay, uint32_t kind)
{
	const uint32_t first = first_usual(replay, kind), end = first_usual(replay, kind + 1ull);

	if (first == end)
		return NAN;
	return (replay->usual[(first + end - 1) / 2].ns + replay->usual[(first + end) / 2].ns) / 2;
}

static int find_excesses(struct replay *replay)
{
	const struct watch_replay_input *input = replay->input;

	for (uint32_t i = 0; i < input->nr_meetings; i++) {
		const struct watch_meeting *meeting = &input->meetings[i];
		double usual_ns = usual_before(replay, meeting);

		if (isnan(usual_ns))
			usual_ns = usual_of_kind(replay, meeting->kind);
		for (uint32_t j = 0; j < meeting->nr_visits; j++) {
			uint32_t visit = meeting->first_visit + j;

			if (!is_late(replay, visit) || replay->parts[visit].before == NONE)
				continue;
			if (isnan(usual_ns))
				return -ENODATA;
			replay->excesses[replay->nr_excesses++] = (struct excess){
				input->visits[visit].rank, meeting->communicator, meeting->kind,
				visit, replay->parts[visit].work_ns - usual_ns};
		}
	}
	return replay->nr_excesses ? 0 : -ENODATA;
}

static bool is_alike(const struct excess *a, const struct excess *b)
{
	return a->rank == b->rank && a->communicator == b->communicator && a->kind == b->kind;
}

static int by_kind(const void *a, const void *b)
{
	const struct excess *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->communicator != y->communicator)
		return x->communicator < y->communicator ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->visit > y->visit) - (x->visit < y->visit);
}

/* Takes a rank's excess before one kind away. A rank that is usually early stays so. */
static void take_away(struct replay *replay, const struct excess *excesses, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		replay->values[i] = excesses[i].ns;
	const double usual_ns = robust_median(replay->values, count);
	const double most_ns = WATCH_REPLAY_SPREADS * robust_spread(replay->values, count);

	for (uint32_t i = 0; i < count; i++) {
		struct part *part = &replay->parts[excesses[i].visit];
		const double noise_ns = fmin(excesses[i].ns - usual_ns, most_ns);

		part->fair_ns -= excesses[i].ns - (fmin(usual_ns, 0) + noise_ns);
		if (part->work_ns >= 0)
			part->fair_ns = fmax(part->fair_ns, 0);
	}
}

static int take_excesses(struct replay *replay)
{
	find_usual(replay);
	int error = find_excesses(replay);
	if (error)
		return error;
	qsort(replay->excesses, replay->nr_excesses, sizeof(*replay->excesses), by_kind);
	for (uint32_t i = 0, end; i < replay->nr_excesses; i = end) {
		for (end = i + 1; end < replay->nr_excesses &&
				  is_alike(&replay->excesses[i], &replay->excesses[end]);
		     end++)
			;
		take_away(replay, &replay->excesses[i], end - i);
	}
	return 0;
}

/* ---- playing */

/* When a rank comes to a collective. */
static double arrival(const struct replay *replay, const struct part *part, bool fair)
{
	const double work_ns = fair ? part->fair_ns : part->work_ns;
	const struct watch_visit *before = &replay->input->visits[part->before];

	if (work_ns >= 0)
		return replay->done[replay->parts[part->before].meeting] + work_ns;
	/* The begin of the one before, and the time between the two begins. */
	return replay->came[part->before] +
	       fmax((double)(before->end_ns - before->start_ns) + work_ns, 0);
}

/* A rank whose first collective this is comes in time, because it is not known when it came. */
static void meet(struct replay *replay, uint32_t index, bool fair)
{
	const struct watch_meeting *meeting = &replay->input->meetings[index];
	double last_ns = -INFINITY, lasts_ns = INFINITY;

	for (uint32_t i = 0; i < meeting->nr_visits; i++) {
		const uint32_t visit = meeting->first_visit + i;
		const struct watch_visit *of = &replay->input->visits[visit];
		const struct part *part = &replay->parts[visit];

		if (part->before == NONE)
			continue;
		replay->came[visit] = arrival(replay, part, fair);
		last_ns = fmax(last_ns, replay->came[visit]);
		lasts_ns = fmin(lasts_ns, (double)(of->end_ns - of->start_ns));
	}
	replay->done[index] = isinf(last_ns) ? 0 : last_ns + lasts_ns;
	for (uint32_t i = 0; i < meeting->nr_visits; i++) {
		const uint32_t visit = meeting->first_visit + i;
		const struct watch_visit *of = &replay->input->visits[visit];

		if (replay->parts[visit].before == NONE)
			replay->came[visit] =
				replay->done[index] - (double)(of->end_ns - of->start_ns);
	}
}

struct turn {
	uint32_t *next;    /* owns; of each rank, its next place in order */
	uint32_t *present; /* owns; of each meeting, the ranks whose next one it is */
	uint32_t *ready;   /* owns; meetings that all ranks have come to, as a stack */
	uint32_t nr_ready;
};

static void step_to(const struct replay *replay, struct turn *turn, uint32_t rank)
{
	if (turn->next[rank] >= replay->begins[rank + 1])
		return;
	const uint32_t meeting = replay->parts[replay->order[turn->next[rank]]].meeting;

	if (++turn->present[meeting] == replay->input->meetings[meeting].nr_visits)
		turn->ready[turn->nr_ready++] = meeting;
}

static int play_all(struct replay *replay, struct turn *turn, bool fair)
{
	const struct watch_replay_input *input = replay->input;
	uint32_t played = 0;

	for (uint32_t rank = 0; rank < input->nr_ranks; rank++) {
		turn->next[rank] = replay->begins[rank];
		step_to(replay, turn, rank);
	}
	for (; turn->nr_ready; played++) {
		const uint32_t index = turn->ready[--turn->nr_ready];
		const struct watch_meeting *meeting = &input->meetings[index];

		meet(replay, index, fair);
		for (uint32_t i = 0; i < meeting->nr_visits; i++) {
			const uint32_t rank = input->visits[meeting->first_visit + i].rank;

			turn->next[rank]++;
			step_to(replay, turn, rank);
		}
	}
	return played == input->nr_meetings ? 0 : -EINVAL;
}

static int play(struct replay *replay, bool fair)
{
	const struct watch_replay_input *input = replay->input;
	struct turn turn = {
		.next = calloc(input->nr_ranks + 1ul, sizeof(*turn.next)),
		.present = calloc(input->nr_meetings + 1ul, sizeof(*turn.present)),
		.ready = calloc(input->nr_meetings + 1ul, sizeof(*turn.ready)),
	};
	int error =
		turn.next && turn.present && turn.ready ? play_all(replay, &turn, fair) : -ENOMEM;

	free(turn.next);
	free(turn.present);
	free(turn.ready);
	return error;
}

/* ---- the whole */

/* Returns the communicator's collective with this number, from 0; NONE: it has fewer. */
static uint32_t find_meeting(const struct watch_replay_input *input, uint32_t number)
{
	for (uint32_t i = 0; i < input->nr_meetings; i++)
		if (input->meetings[i].communicator == input->communicator && number-- == 0)
			return i;
	return NONE;
}

static uint32_t count_meetings(const struct watch_replay_input *input)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < input->nr_meetings; i++)
		count += input->meetings[i].communicator == input->communicator;
	return count;
}

static int make_room(struct replay *replay)
{
	const struct watch_replay_input *input = replay->input;
	const size_t visits = input->nr_visits + 1ul;

	replay->parts = calloc(visits, sizeof(*replay->parts));
	replay->order = calloc(visits, sizeof(*replay->order));
	replay->begins = calloc(input->nr_ranks + 2ul, sizeof(*replay->begins));
	replay->done = calloc(input->nr_meetings + 1ul, sizeof(*replay->done));
	replay->came = calloc(visits, sizeof(*replay->came));
	replay->excesses = calloc(visits, sizeof(*replay->excesses));
	replay->usual = calloc(visits, sizeof(*replay->usual));
	replay->values = calloc(visits, sizeof(*replay->values));
	return replay->parts && replay->order && replay->begins && replay->done && replay->came &&
			       replay->excesses && replay->usual && replay->values
		       ? 0
		       : -ENOMEM;
}

/* The first rank's own clock says how long the collectives took. What both plays have in common cancels out. */
static int compare(struct replay *replay, struct watch_replay_result *result)
{
	const struct watch_replay_input *input = replay->input;
	const uint32_t count = count_meetings(input);
	const uint32_t last = find_meeting(input, count - 1);
	const uint32_t first = find_meeting(input, count - 1 - result->steps * input->period);
	int error = play(replay, false);

	if (error)
		return error;
	const double now_ns = replay->done[last] - replay->done[first];
	error = play(replay, true);
	if (error)
		return error;
	const double without_ns = replay->done[last] - replay->done[first];
	const struct watch_visit *from = &input->visits[input->meetings[first].first_visit];
	const struct watch_visit *to = &input->visits[input->meetings[last].first_visit];

	if (now_ns <= 0 || to->end_ns <= from->end_ns)
		return -ENODATA;
	result->now_ns = (double)(to->end_ns - from->end_ns) / result->steps;
	result->without_ns = result->now_ns * without_ns / now_ns;
	return 0;
}

int watch_replay(const struct watch_replay_input *input, struct watch_replay_result *result)
{
	struct replay replay = {.input = input};
	const uint32_t count = count_meetings(input);

	*result = (struct watch_replay_result){.steps = count ? (count - 1) / input->period : 0};
	if (!result->steps)
		return -ENODATA;
	int error = make_room(&replay);
	if (!error) {
		put_in_order(&replay);
		error = take_excesses(&replay);
	}
	if (!error)
		error = compare(&replay, result);
	free(replay.parts);
	free(replay.order);
	free(replay.begins);
	free(replay.done);
	free(replay.came);
	free(replay.excesses);
	free(replay.usual);
	free(replay.values);
	return error;
}

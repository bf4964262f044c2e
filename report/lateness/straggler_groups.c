#include "straggler_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "straggler.h"
#include "straggler_lateness.h"

#include "aggregator/profile/collective_fold.h"
#include "base/array.h"
#include "report/statistics/robust.h"

/* How many times the spread within the parts they are apart. Parts are chosen by what they are tested for. */
#define PARTS_APART 6
/* A part takes the place of groups within it if none is this much later. It must explain this much more than one. */
#define PART_EXPLAINS 1.25
#define PART_LEVEL    1.5

struct search {
	const struct straggler_input *input;
	const struct straggler_place *places;
	struct straggler_subject *ranks;
	struct straggler_group *groups; /* owns */
	uint32_t nr_groups;
	uint32_t *of, *numbers; /* own; a division, and the places of its subjects */
};

void straggler_groups_free(struct straggler_group *groups, uint32_t nr_groups)
{
	for (uint32_t i = 0; i < nr_groups; i++)
		free(groups[i].members);
	free(groups);
}

/* ---- divisions */

/* Divides the members by their places. Returns the number of subjects; 0: the division tells nothing that ranks do not
 * tell. */
static uint32_t divide(const struct straggler_place *places, uint32_t count,
		       enum straggler_group_kind kind, uint32_t *of, uint32_t *numbers)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = places[i].numbers[kind], j = 0;

		if (number == STRAGGLER_PLACE_NONE)
			return 0;
		while (j < nr && numbers[j] != number)
			j++;
		if (j == nr)
			numbers[nr++] = number;
		of[i] = j;
	}
	return nr < 2 || nr == count ? 0 : nr;
}

int straggler_groups_tests(const struct straggler_place *places, uint32_t count, uint32_t *tests)
{
	uint32_t *room = calloc(2ul * count + 1, sizeof(*room));

	*tests = 1;
	if (!room)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < STRAGGLER_GROUP_PART; kind++)
		*tests += divide(places, count, kind, room, room + count);
	free(room);
	return 0;
}

/* ---- one division */

static void add_ranks(const struct search *search, struct straggler_subject *subjects)
{
	for (uint32_t i = 0; i < search->input->fold->nr_members; i++) {
		struct straggler_subject *subject = &subjects[search->of[i]];

		subject->last += search->ranks[i].last;
		subject->others_ns += search->ranks[i].others_ns;
		subject->waited_ns += search->ranks[i].waited_ns;
		subject->size++;
	}
}

/* Finds what the ranks of each subject waited for one another: what they waited in all, less their share of what was
 * waited for ranks outside, and less that of waits for two ranks that were last together. The share is that of equal
 * ranks. A late group has less, so that it is said to cost no less than it does. */
static void find_inside(const struct search *search, struct straggler_subject *subjects,
			uint32_t nr_subjects)
{
	const double ranks = search->input->fold->nr_members;
	double waited_ns = 0, others_ns = 0;

	for (uint32_t i = 0; i < nr_subjects; i++) {
		waited_ns += (double)subjects[i].waited_ns;
		others_ns += (double)subjects[i].others_ns;
	}
	for (uint32_t i = 0; i < nr_subjects; i++) {
		struct straggler_subject *subject = &subjects[i];
		const double outside_ns = others_ns - (double)subject->others_ns;
		const double inside_ns = (double)subject->waited_ns -
					 outside_ns * subject->size / (ranks - 1) -
					 (waited_ns - others_ns) * subject->size / ranks;

		if (subject->size > 1 && inside_ns > 0)
			subject->inside_ns = (uint64_t)fmin(inside_ns, (double)subject->others_ns);
	}
}

/* Finds the costliest stretch of a subject that is not chosen yet. *left_ns is reduced by its cost. */
static uint32_t choose_stretch(const struct search *search, uint32_t subject, const bool *chosen,
			       uint64_t *left_ns)
{
	const struct collective_fold *fold = search->input->fold;
	uint32_t best = 0;
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < collective_fold_buckets(fold); i++) {
		uint64_t kept_ns = 0;

		for (uint32_t j = 0; j < fold->nr_members && !chosen[i]; j++)
			kept_ns +=
				search->of[j] == subject ? fold->members[j].buckets[i].kept_ns : 0;
		if (kept_ns <= most_ns)
			continue;
		most_ns = kept_ns;
		best = i;
	}
	*left_ns -= most_ns < *left_ns && most_ns > 0 ? most_ns : *left_ns;
	return best;
}

/* Returns twice how late a member usually is, in stretches that are not chosen; 0: they are fewer than a quarter. */
static double late_usually(const struct collective_fold *fold, uint32_t member, const bool *chosen)
{
	const uint32_t stretches = collective_fold_buckets(fold);
	double values[COLLECTIVE_FOLD_BUCKETS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < stretches; i++)
		if (!chosen[i])
			values[count++] = (double)fold->members[member].buckets[i].late_twice_ns;
	return 4 * count < stretches ? 0 : robust_mean(values, count);
}

/* Adds twice how much later than usual a member is in each stretch. */
static void add_excess(const struct collective_fold *fold, uint32_t member, const bool *chosen,
		       double sums[static COLLECTIVE_FOLD_BUCKETS], double factor)
{
	const double usual = late_usually(fold, member, chosen);

	for (uint32_t i = 0; i < collective_fold_buckets(fold); i++)
		sums[i] +=
			factor * ((double)fold->members[member].buckets[i].late_twice_ns - usual);
}

/* Returns whether a member is later than usual by half of what the others of its group are, in more than half of the
 * `count` stretches in which these are latest. They are chosen without the member, or its own noise would choose. */
static bool is_late_with(const double own[static COLLECTIVE_FOLD_BUCKETS],
			 const double others[static COLLECTIVE_FOLD_BUCKETS], uint32_t nr_others,
			 uint32_t stretches, uint32_t count)
{
	bool taken[COLLECTIVE_FOLD_BUCKETS] = {false};
	uint32_t late = 0;

	for (uint32_t n = 0; n < count; n++) {
		uint32_t best = COLLECTIVE_FOLD_BUCKETS;

		for (uint32_t i = 0; i < stretches; i++)
			if (!taken[i] &&
			    (best == COLLECTIVE_FOLD_BUCKETS || others[i] > others[best]))
				best = i;
		taken[best] = true;
		late += own[best] >= others[best] / nr_others / 2;
	}
	return 2 * late > count;
}

/* Counts the ranks of a subject that are late in lumps together with its others: one long stall makes no rank late in
 * another one's lumps. As many stretches count as hold half of what ranks outside waited for it, or half of its
 * stall. */
static uint32_t count_in_lumps(const struct search *search, uint32_t subject,
			       const struct straggler_subject *found)
{
	const struct collective_fold *fold = search->input->fold;
	bool chosen[COLLECTIVE_FOLD_BUCKETS] = {false};
	double all[COLLECTIVE_FOLD_BUCKETS] = {0};
	uint64_t left_ns =
		(found->ground == STRAGGLER_STALL ? found->lump_ns : found->others_ns) / 2;
	uint32_t count = 0, stretches = 0;

	for (; left_ns > 0; stretches++)
		chosen[choose_stretch(search, subject, chosen, &left_ns)] = true;
	if (stretches > collective_fold_buckets(fold))
		stretches = collective_fold_buckets(fold);
	for (uint32_t i = 0; i < fold->nr_members; i++)
		if (search->of[i] == subject)
			add_excess(fold, i, chosen, all, 1);
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		double own[COLLECTIVE_FOLD_BUCKETS] = {0}, others[COLLECTIVE_FOLD_BUCKETS];

		if (search->of[i] != subject || found->size < 2)
			continue;
		memcpy(others, all, sizeof(others));
		add_excess(fold, i, chosen, others, -1);
		add_excess(fold, i, chosen, own, 1);
		count += is_late_with(own, others, found->size - 1, collective_fold_buckets(fold),
				      stretches);
	}
	return count;
}

/* Returns twice a member's usual lateness in the phase of a subject. */
static double late_in_phase(const struct collective_fold *fold, uint32_t member,
			    const struct straggler_subject *found)
{
	const struct collective_fold_bucket *buckets = fold->members[member].buckets;
	const uint32_t first = (uint32_t)(found->lump_from >> fold->shift);
	double values[COLLECTIVE_FOLD_BUCKETS];
	uint32_t count = 0;

	for (uint32_t i = first; i < collective_fold_buckets(fold); i++)
		if ((uint64_t)i << fold->shift < found->lump_to)
			values[count++] = (double)buckets[i].late_twice_ns /
					  collective_fold_in_bucket(fold, i);
	return robust_mean(values, count);
}

/* Counts the ranks of a subject that are late by at least half of its usual lateness in its phase. In its costliest
 * stretches a rank beside a late one has hiccups of its own. */
static uint32_t count_in_phase(const struct search *search, uint32_t subject,
			       const struct straggler_subject *found)
{
	const struct collective_fold *fold = search->input->fold;
	double sum = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < fold->nr_members; i++)
		sum += search->of[i] == subject ? late_in_phase(fold, i, found) : 0;
	for (uint32_t i = 0; i < fold->nr_members; i++)
		count += search->of[i] == subject &&
			 late_in_phase(fold, i, found) >= sum / found->size / 2;
	return count;
}

/* Returns whether the ranks of a subject are late together. */
static bool is_shared(const struct search *search, uint32_t subject,
		      const struct straggler_subject *found)
{
	uint32_t late = found->late_size;

	if (found->ground == STRAGGLER_PHASE)
		late = count_in_phase(search, subject, found);
	else if (found->ground == STRAGGLER_LUMPS || found->ground == STRAGGLER_STALL)
		late = count_in_lumps(search, subject, found);
	return late >= 2 && late * 4 >= found->size * 3;
}

/* Returns the host of all ranks of a subject; STRAGGLER_PLACE_NONE: they are on several. */
static uint32_t host_of(const struct search *search, uint32_t subject)
{
	uint32_t host = STRAGGLER_PLACE_NONE;

	for (uint32_t i = 0; i < search->input->fold->nr_members; i++) {
		const uint32_t number = search->places[i].numbers[STRAGGLER_GROUP_HOST];

		if (search->of[i] != subject)
			continue;
		if (host != STRAGGLER_PLACE_NONE && host != number)
			return STRAGGLER_PLACE_NONE;
		host = number;
	}
	return host;
}

/* A switch, or hosts of like names, with one host are that host. */
static int add_group(struct search *search, enum straggler_group_kind kind, uint32_t subject,
		     const struct straggler_subject *found)
{
	const bool has_hosts = kind == STRAGGLER_GROUP_SWITCH || kind == STRAGGLER_GROUP_HOSTS;
	const uint32_t host = has_hosts ? host_of(search, subject) : STRAGGLER_PLACE_NONE;
	struct straggler_group group = {
		.kind = kind,
		.number = kind == STRAGGLER_GROUP_PART ? 0 : search->numbers[subject],
		.members = calloc(found->size, sizeof(*group.members)),
		.found = *found,
	};

	if (!group.members)
		return -ENOMEM;
	if (host != STRAGGLER_PLACE_NONE) {
		group.kind = STRAGGLER_GROUP_HOST;
		group.number = host;
	}
	for (uint32_t i = 0; i < search->input->fold->nr_members; i++)
		if (search->of[i] == subject)
			group.members[group.nr_members++] = i;
	int error = array_append(&search->groups, &search->nr_groups, &group, sizeof(group));
	if (error)
		free(group.members);
	return error;
}

static int test_division(struct search *search, enum straggler_group_kind kind,
			 uint32_t nr_subjects)
{
	struct straggler_subject *subjects = calloc(nr_subjects, sizeof(*subjects));
	struct straggler_input input = *search->input;

	if (!subjects)
		return -ENOMEM;
	input.division = (struct straggler_division){search->of, nr_subjects};
	add_ranks(search, subjects);
	find_inside(search, subjects, nr_subjects);
	int error = straggler_find(&input, subjects);
	for (uint32_t i = 0; i < nr_subjects && !error; i++) {
		/* More than half of the ranks are not late: the others are early. And the larger part of the ranks is
		 * the worst of two in nearly all stretches of several collectives, by chance. */
		if (subjects[i].size * 2 > search->input->fold->nr_members)
			continue;
		if (subjects[i].ground != STRAGGLER_NOT_NAMED && is_shared(search, i, &subjects[i]))
			error = add_group(search, kind, i, &subjects[i]);
	}
	free(subjects);
	return error;
}

/* ---- parts */

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Finds the widest gap between neighbours of the middle half of the ranks. */
static double widest_gap(const double *sorted, uint32_t count, double *middle)
{
	double widest = 0;

	for (uint32_t i = count / 4 ? count / 4 : 1; i + count / 4 < count + 1 && i < count; i++)
		if (sorted[i] - sorted[i - 1] > widest) {
			widest = sorted[i] - sorted[i - 1];
			*middle = (sorted[i] + sorted[i - 1]) / 2;
		}
	return widest;
}

/* Divides the ranks into an early and a late part. *apart: whether these are far enough apart. */
static int divide_in_parts(struct search *search, bool *apart)
{
	const uint32_t count = search->input->fold->nr_members;
	struct straggler_input input = *search->input;
	struct straggler_lateness lateness;
	double *sorted = calloc(count, sizeof(*sorted)), middle = 0;
	int error = straggler_lateness_init(&lateness, &input);

	*apart = false;
	if (!error && sorted) {
		for (uint32_t i = 0; i < count; i++)
			sorted[i] = lateness.member_usual[i];
		qsort(sorted, count, sizeof(*sorted), by_number);
		double gap = widest_gap(sorted, count, &middle);
		for (uint32_t i = 0; i < count; i++)
			search->of[i] = lateness.member_usual[i] > middle;
		straggler_lateness_fini(&lateness);
		input.division = (struct straggler_division){search->of, 2};
		error = straggler_lateness_init(&lateness, &input);
		*apart = !error && gap > 0 && gap > PARTS_APART * lateness.within;
	}
	straggler_lateness_fini(&lateness);
	free(sorted);
	return sorted ? error : -ENOMEM;
}

static int test_parts(struct search *search)
{
	bool apart = false;

	if (search->input->fold->nr_members < 4 || !search->input->fold->used)
		return 0;
	int error = divide_in_parts(search, &apart);
	return error || !apart ? error : test_division(search, STRAGGLER_GROUP_PART, 2);
}

/* Two ranks, and those that are named one by one, need no part. */
static void drop_named_parts(struct search *search)
{
	for (uint32_t i = 0; i < search->nr_groups; i++) {
		const struct straggler_group *group = &search->groups[i];
		bool all = group->kind == STRAGGLER_GROUP_PART;

		for (uint32_t j = 0; j < group->nr_members && all && group->nr_members > 2; j++) {
			enum straggler_ground ground = search->ranks[group->members[j]].ground;

			all = ground != STRAGGLER_NOT_NAMED && ground != STRAGGLER_HIDDEN;
		}
		if (!all)
			continue;
		free(group->members);
		search->groups[i--] = search->groups[--search->nr_groups];
	}
}

/* What is said of the group is not said of its ranks again. */
static void take_over_ranks(struct search *search)
{
	for (uint32_t i = 0; i < search->nr_groups; i++)
		for (uint32_t j = 0; j < search->groups[i].nr_members; j++)
			search->ranks[search->groups[i].members[j]].ground = STRAGGLER_NOT_NAMED;
}

/* ---- the choice */

static bool have_ranks_in_common(const struct straggler_group *a, const struct straggler_group *b)
{
	for (uint32_t i = 0, j = 0; i < a->nr_members && j < b->nr_members;) {
		if (a->members[i] == b->members[j])
			return true;
		if (a->members[i] < b->members[j])
			i++;
		else
			j++;
	}
	return false;
}

static int by_size(const void *a, const void *b)
{
	const struct straggler_group *x = a, *y = b;
	const int order = (x->nr_members < y->nr_members) - (x->nr_members > y->nr_members);

	return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

static void keep_largest(struct search *search)
{
	uint32_t kept = 0;

	if (search->nr_groups)
		qsort(search->groups, search->nr_groups, sizeof(*search->groups), by_size);

	for (uint32_t i = 0; i < search->nr_groups; i++) {
		bool covered = false;

		for (uint32_t j = 0; j < kept && !covered; j++)
			covered = have_ranks_in_common(&search->groups[j], &search->groups[i]);
		if (covered)
			free(search->groups[i].members);
		else
			search->groups[kept++] = search->groups[i];
	}
	search->nr_groups = kept;
}

static int by_waits(const void *a, const void *b)
{
	const struct straggler_group *x = a, *y = b;

	return (x->found.others_ns < y->found.others_ns) -
	       (x->found.others_ns > y->found.others_ns);
}

/* ---- parts in place of groups */

static double cost_of(const struct search *search, const struct straggler_subject *found)
{
	const double waiters = straggler_subject_waiters(found, search->input->fold->nr_members);

	return (double)(found->ground == STRAGGLER_STALL || found->ground == STRAGGLER_PHASE
				? found->lump_ns
				: found->others_ns) /
	       waiters;
}

static bool has_all(const struct straggler_group *part, const struct straggler_group *group)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < part->nr_members && found < group->nr_members; i++)
		found += part->members[i] == group->members[found];
	return found == group->nr_members;
}

/* Returns whether the groups are pieces of one late part: each of them is in it, and late as all of it. If there is one
 * alone, the part must explain more. */
static bool are_pieces(const struct search *search, const struct straggler_group *part,
		       const struct straggler_group *groups, uint32_t nr_groups)
{
	const double cost = cost_of(search, &part->found);

	if (part->found.late_size < part->nr_members)
		return false;
	for (uint32_t i = 0; i < nr_groups; i++)
		if (!has_all(part, &groups[i]) ||
		    (double)groups[i].found.late_ns > PART_LEVEL * (double)part->found.late_ns)
			return false;
	return nr_groups > 1 || cost > PART_EXPLAINS * cost_of(search, &groups[0].found);
}

/* Looks for a late part. Of groups that are named, each is last in fewer collectives the more of them are equally late,
 * so that some are named and others are not: then the part says more. */
static int find_part(struct search *search)
{
	struct straggler_group *groups = search->groups;
	const uint32_t nr_groups = search->nr_groups;

	search->groups = NULL;
	search->nr_groups = 0;
	const int error = test_parts(search);
	drop_named_parts(search);
	if (!nr_groups)
		return error;
	if (!error && search->nr_groups &&
	    are_pieces(search, &search->groups[0], groups, nr_groups)) {
		straggler_groups_free(groups, nr_groups);
		return 0;
	}
	straggler_groups_free(search->groups, search->nr_groups);
	search->groups = groups;
	search->nr_groups = nr_groups;
	return error;
}

int straggler_groups_find(const struct straggler_input *input, const struct straggler_place *places,
			  struct straggler_subject *ranks, struct straggler_group **groups,
			  uint32_t *nr_groups)
{
	const uint32_t count = input->fold->nr_members;
	struct search search = {
		.input = input,
		.places = places,
		.ranks = ranks,
		.of = calloc(count, sizeof(*search.of)),
		.numbers = calloc(count, sizeof(*search.numbers)),
	};
	int error = search.of && search.numbers ? 0 : -ENOMEM;

	for (uint32_t kind = 0; kind < STRAGGLER_GROUP_PART && !error; kind++) {
		uint32_t nr = divide(places, count, kind, search.of, search.numbers);

		if (nr)
			error = test_division(&search, kind, nr);
	}
	keep_largest(&search);
	if (!error)
		error = find_part(&search);
	take_over_ranks(&search);
	if (search.nr_groups > 1)
		qsort(search.groups, search.nr_groups, sizeof(*search.groups), by_waits);
	free(search.of);
	free(search.numbers);
	if (error) {
		straggler_groups_free(search.groups, search.nr_groups);
		search = (struct search){0};
	}
	*groups = search.groups;
	*nr_groups = search.nr_groups;
	return error;
}

#include "watch_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/absence/straggler_absence.h"

static bool has_same_communicator(const struct watch_absence *a, const struct watch_absence *b)
{
	return strcmp(a->finding.communicator, b->finding.communicator) == 0;
}

static bool is_same(const struct watch_absence *a, const struct watch_absence *b)
{
	return strcmp(a->finding.name, b->finding.name) == 0 && has_same_communicator(a, b) &&
	       a->sequence == b->sequence;
}

/* Returns whether a rank of one is also of the other: the same wait is seen better now. A later collective of the
 * communicator is another wait. */
static bool overlaps(const struct watch_absence *a, const struct watch_absence *b)
{
	if (has_same_communicator(a, b) && a->sequence != b->sequence)
		return false;
	for (uint32_t i = 0; i < a->finding.nr_ranks; i++)
		if (watch_finding_has_rank(&b->finding, a->finding.ranks[i]))
			return true;
	return false;
}

static struct watch_wait *find(struct watch_waits *waits, const struct watch_absence *absence)
{
	for (uint32_t i = 0; i < waits->count; i++)
		if (is_same(&waits->list[i].absence, absence))
			return &waits->list[i];
	return NULL;
}

/* When the others began to wait, if a part of the ranks was missing before. */
static uint64_t begin_of(const struct watch_waits *waits, const struct watch_absence *absence,
			 uint64_t now_ns)
{
	for (uint32_t i = 0; i < waits->count; i++)
		if (overlaps(&waits->list[i].absence, absence) && waits->list[i].since_ns < now_ns)
			now_ns = waits->list[i].since_ns;
	return now_ns;
}

static bool is_sure(const struct watch_wait *wait, uint64_t now_ns)
{
	const uint64_t waited_ns = now_ns - wait->since_ns;

	if (wait->absence.has_ended)
		return wait->looks >= WATCH_WAITS_LOOKS;
	return waited_ns >= STRAGGLER_ABSENCE_NS && waited_ns > wait->absence.usual_ns;
}

static int renew(struct watch_wait *wait, const struct watch_absence *absence, uint64_t now_ns)
{
	struct watch_absence copy;

	if (watch_absence_copy(absence, &copy))
		return -ENOMEM;
	if (copy.progress != wait->absence.progress && !wait->told) {
		wait->since_ns = now_ns;
		wait->looks = 0;
	}
	watch_finding_fini(&wait->absence.finding);
	wait->absence = copy;
	return 0;
}

static int take_one(struct watch_waits *waits, const struct watch_absence *absence, uint64_t now_ns)
{
	struct watch_wait *wait = find(waits, absence);
	struct watch_wait added = {.since_ns = begin_of(waits, absence, now_ns), .looks = 1};

	if (wait) {
		int error = renew(wait, absence, now_ns);

		wait->looks++;
		return error;
	}
	int error = watch_absence_copy(absence, &added.absence);
	if (!error)
		error = array_append(&waits->list, &waits->count, &added, sizeof(added));
	if (error)
		watch_finding_fini(&added.absence.finding);
	return error;
}

/* Returns whether a look has the wait: 1; the same ranks among others, or those that waited have ended: 0; they have
 * come: -1. */
static int state_of(const struct watch_wait *wait, const struct watch_absence *list, uint32_t count)
{
	int state = -1;

	for (uint32_t i = 0; i < count; i++) {
		if (is_same(&wait->absence, &list[i]))
			return list[i].is_over ? 0 : 1;
		if (overlaps(&wait->absence, &list[i]))
			state = 0;
	}
	return state;
}

int watch_waits_take(struct watch_waits *waits, const struct watch_absence *list, uint32_t count,
		     uint64_t now_ns, watch_waits_tell *tell, void *context)
{
	uint32_t kept = 0;
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		if (!list[i].is_over)
			error = take_one(waits, &list[i], now_ns);
	for (uint32_t i = 0; i < waits->count; i++) {
		struct watch_wait wait = waits->list[i];
		const int state = state_of(&wait, list, count);

		if (!error && state > 0 && !wait.told && is_sure(&wait, now_ns)) {
			wait.told = true;
			error = tell(context, &wait, true);
		} else if (!error && state < 0 && wait.told) {
			error = tell(context, &wait, false);
		}
		if (state > 0)
			waits->list[kept++] = wait;
		else
			watch_finding_fini(&wait.absence.finding);
	}
	waits->count = kept;
	return error;
}

void watch_waits_fini(struct watch_waits *waits)
{
	for (uint32_t i = 0; i < waits->count; i++)
		watch_finding_fini(&waits->list[i].absence.finding);
	free(waits->list);
	*waits = (struct watch_waits){.list = NULL};
}

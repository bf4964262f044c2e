#include "watch_events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "watch_waits.h"

#include "base/array.h"

/* A rank or a group that was found, or a stall. */
struct subject {
	struct watch_finding finding; /* owns; the newest */
	bool is_stall;
	uint32_t found, missed;      /* looks in a row */
	bool told, gone;             /* gone: it was told that it is late no longer */
	bool covered;                /* a group of which it is a part was told */
	uint64_t since_ns, first_ns; /* first_ns: since then each look has found it */
	uint64_t until_ns;           /* when it was late last, about */
};

struct watch_events {
	struct subject *subjects; /* owns */
	uint32_t nr_subjects, room;
	struct watch_waits waits;
	struct watch_pace_log paces; /* of looks in which nobody was late on the communicator */
	uint64_t newest, look_ns;    /* of the last look, and its time */
};

struct taking {
	struct watch_events *events;
	uint64_t now_ns, before_ns; /* of this look and of the last one */
	struct watch_event *list;
	uint32_t count;
};

struct watch_events *watch_events_create(void)
{
	return calloc(1, sizeof(struct watch_events));
}

void watch_events_destroy(struct watch_events *events)
{
	if (!events)
		return;
	for (uint32_t i = 0; i < events->nr_subjects; i++)
		watch_finding_fini(&events->subjects[i].finding);
	free(events->subjects);
	watch_waits_fini(&events->waits);
	watch_pace_log_fini(&events->paces);
	free(events);
}

/* What was seen before the onset is more than what is computed from what came after it. */
static void set_usual_step(const struct watch_events *events, uint64_t since_ns,
			   struct watch_finding *finding)
{
	const uint64_t before_ns =
		since_ns > WATCH_EVENTS_STORE_NS ? since_ns - WATCH_EVENTS_STORE_NS : 0;
	const uint64_t usual_ns = watch_pace_log_before(&events->paces, before_ns, finding->key,
							finding->step.collectives);

	const bool is_known = usual_ns && usual_ns < finding->step.now_ns;

	if (is_known)
		finding->step.without_ns = usual_ns;
	finding->step.is_least = !is_known;
	if (!finding->step.without_ns)
		finding->step = (struct watch_step){0};
}

/* Remembers the paces of a look on communicators on which it finds nobody. */
static int remember_paces(struct watch_events *events, const struct watch_look *look,
			  uint64_t now_ns)
{
	int error = 0;

	for (uint32_t i = 0; i < look->nr_paces && !error; i++) {
		bool is_quiet = true;

		for (uint32_t j = 0; j < look->nr_findings && is_quiet; j++)
			is_quiet = look->findings[j].key != look->paces[i].key;
		if (is_quiet)
			error = watch_pace_log_add(&events->paces, now_ns, &look->paces[i], 1);
	}
	return error;
}

static int tell(struct taking *taking, enum watch_event_kind kind, const struct subject *subject)
{
	struct watch_event event = {
		.kind = kind, .time_ns = taking->now_ns, .since_ns = subject->since_ns};
	int error = watch_finding_copy(&subject->finding, &event.finding);

	if (kind == WATCH_EVENT_RECOVERED)
		event.until_ns = subject->until_ns > subject->since_ns ? subject->until_ns
								       : subject->since_ns;
	if (!error && kind == WATCH_EVENT_LATE)
		set_usual_step(taking->events, event.since_ns, &event.finding);
	if (!error)
		error = array_append(&taking->list, &taking->count, &event, sizeof(event));
	if (error)
		watch_finding_fini(&event.finding);
	return error;
}

static int tell_wait(void *context, const struct watch_wait *wait, bool begins)
{
	struct taking *taking = context;
	struct watch_event event = {.kind = begins ? WATCH_EVENT_MISSING : WATCH_EVENT_CAME,
				    .time_ns = taking->now_ns,
				    .since_ns = wait->since_ns,
				    .nr_waiting = wait->absence.nr_waiting};
	int error = watch_finding_copy(&wait->absence.finding, &event.finding);

	event.finding.waited_ns = event.time_ns - event.since_ns;
	if (!error)
		error = array_append(&taking->list, &taking->count, &event, sizeof(event));
	if (error)
		watch_finding_fini(&event.finding);
	return error;
}

static bool is_of(const struct subject *subject, const struct watch_finding *finding)
{
	return subject->is_stall == (finding->ground == STRAGGLER_STALL) &&
	       subject->finding.identity == finding->identity;
}

static const struct watch_finding *find(const struct watch_look *look,
					const struct subject *subject)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (is_of(subject, &look->findings[i]))
			return &look->findings[i];
	return NULL;
}

/* Returns whether a look has a stall of the subject. */
static bool has_stall(const struct watch_look *look, const struct subject *subject)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (look->findings[i].ground == STRAGGLER_STALL &&
		    look->findings[i].identity == subject->finding.identity)
			return true;
	return false;
}

/* Returns whether a group has these ranks and others. */
static bool has_part(const struct watch_finding *group, const struct watch_finding *part)
{
	uint32_t in = 0;

	if (group->is_link || part->is_link)
		return false;
	for (uint32_t i = 0; i < part->nr_ranks && group->nr_ranks > part->nr_ranks; i++)
		in += watch_finding_has_rank(group, part->ranks[i]);
	return in && in == part->nr_ranks;
}

/* Returns whether a group was found of which this is a part. */
static bool is_in_group(const struct watch_look *look, const struct watch_finding *part)
{
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (has_part(&look->findings[i], part))
			return true;
	return false;
}

static void find_covered(struct watch_events *events)
{
	for (uint32_t i = 0; i < events->nr_subjects; i++) {
		struct subject *part = &events->subjects[i];

		part->covered = false;
		for (uint32_t j = 0; j < events->nr_subjects && !part->covered; j++)
			part->covered = events->subjects[j].told && !events->subjects[j].gone &&
					has_part(&events->subjects[j].finding, &part->finding);
	}
}

/* ---- one look */

/* Returns whether a stall is what the window still has of a lateness. */
static bool is_left_of(const struct subject *subject, const struct watch_finding *finding)
{
	return finding->ground == STRAGGLER_STALL && subject->told && !subject->is_stall &&
	       subject->finding.identity == finding->identity;
}

static int add_new(struct taking *taking, const struct watch_look *look)
{
	struct watch_events *events = taking->events;

	for (uint32_t i = 0; i < look->nr_findings; i++) {
		const struct watch_finding *finding = &look->findings[i];
		uint32_t j = 0;

		while (j < events->nr_subjects && !is_of(&events->subjects[j], finding) &&
		       !is_left_of(&events->subjects[j], finding))
			j++;
		if (j < events->nr_subjects)
			continue;
		if (array_reserve(&events->subjects, &events->room, events->nr_subjects + 1ull,
				  sizeof(*events->subjects)))
			return -ENOMEM;
		struct subject added = {.is_stall = finding->ground == STRAGGLER_STALL,
					.first_ns = taking->now_ns};
		if (watch_finding_copy(finding, &added.finding))
			return -ENOMEM;
		events->subjects[events->nr_subjects++] = added;
	}
	return 0;
}

static int renew(struct subject *subject, const struct watch_finding *finding)
{
	struct watch_finding copy;

	if (watch_finding_copy(finding, &copy))
		return -ENOMEM;
	watch_finding_fini(&subject->finding);
	subject->finding = copy;
	return 0;
}

static bool is_sure(const struct taking *taking, const struct subject *subject)
{
	if (subject->is_stall)
		return subject->finding.is_over;
	if (subject->finding.is_link)
		return taking->now_ns - subject->first_ns >= WATCH_EVENTS_LINK_NS;
	return subject->found >= WATCH_EVENTS_NAMED;
}

static enum watch_event_kind kind_of(const struct subject *subject)
{
	return subject->is_stall          ? WATCH_EVENT_STALLED
	       : subject->finding.is_link ? WATCH_EVENT_SLOW
					  : WATCH_EVENT_LATE;
}

/* The subject was found again, or for the first time. */
static int take_found(struct taking *taking, struct subject *subject,
		      const struct watch_finding *finding)
{
	int error = renew(subject, finding);

	if (subject->gone) {
		subject->told = subject->gone = false;
		subject->first_ns = taking->now_ns;
	}
	subject->until_ns = taking->now_ns - finding->over_ns;
	subject->found++;
	subject->missed = 0;
	if (error || subject->told || !is_sure(taking, subject))
		return error;
	subject->told = true;
	subject->since_ns = finding->is_link ? subject->first_ns : taking->now_ns - finding->age_ns;
	return tell(taking, kind_of(subject), subject);
}

/* Returns whether a stall has left the window between two looks. If looks follow closely, one of them sees it when it
 * is over; else what looked like a stall was none. */
static bool has_passed(const struct taking *taking, const struct watch_look *look,
		       const struct subject *stall)
{
	if (taking->now_ns - taking->before_ns < WATCH_LOOK_NS / 4 ||
	    is_in_group(look, &stall->finding))
		return false;
	for (uint32_t i = 0; i < look->nr_findings; i++)
		if (look->findings[i].identity == stall->finding.identity)
			return false;
	return true;
}

static int take_missed(struct taking *taking, const struct watch_look *look,
		       struct subject *subject, bool *stays)
{
	/* Where stages could not be compared, it is not known. */
	if (subject->finding.has_stage && !look->has_stages)
		return 0;
	/* The group may be gone at the next look. */
	if (subject->told && !subject->is_stall && !subject->gone && !subject->covered &&
	    is_in_group(look, &subject->finding))
		return 0;
	subject->found = 0;
	subject->missed++;
	*stays = false;
	if (subject->is_stall && !subject->told && has_passed(taking, look, subject)) {
		subject->since_ns = taking->before_ns - subject->finding.age_ns;
		return tell(taking, WATCH_EVENT_STALLED, subject);
	}
	if (subject->is_stall || !subject->told || is_in_group(look, &subject->finding))
		return 0;
	*stays = subject->gone ? has_stall(look, subject) : true;
	if (subject->gone || subject->missed < WATCH_EVENTS_GONE)
		return 0;
	subject->gone = true;
	*stays = has_stall(look, subject);
	return tell(taking, WATCH_EVENT_RECOVERED, subject);
}

static int take_all(struct taking *taking, const struct watch_look *look)
{
	struct watch_events *events = taking->events;
	uint32_t kept = 0;
	int error = 0;

	find_covered(events);
	for (uint32_t i = 0; i < events->nr_subjects; i++) {
		struct subject subject = events->subjects[i];
		const struct watch_finding *finding = find(look, &subject);
		bool stays = true;

		if (!error && finding)
			error = take_found(taking, &subject, finding);
		else if (!error)
			error = take_missed(taking, look, &subject, &stays);
		if (stays)
			events->subjects[kept++] = subject;
		else
			watch_finding_fini(&subject.finding);
	}
	events->nr_subjects = kept;
	return error;
}

int watch_events_take(struct watch_events *events, const struct watch_look *look, uint64_t now_ns,
		      struct watch_event **list, uint32_t *count)
{
	struct taking taking = {.events = events, .now_ns = now_ns, .before_ns = events->look_ns};
	int error = 0;

	error = watch_waits_take(&events->waits, look->absences, look->nr_absences, now_ns,
				 tell_wait, &taking);
	if (look->newest != events->newest) {
		if (!error)
			error = add_new(&taking, look);
		if (!error)
			error = take_all(&taking, look);
		if (!error)
			error = remember_paces(events, look, now_ns);
	}
	if (look->newest != events->newest)
		events->look_ns = now_ns;
	events->newest = look->newest;
	if (error)
		watch_events_free(taking.list, taking.count);
	*list = error ? NULL : taking.list;
	*count = error ? 0 : taking.count;
	return error;
}

int watch_events_current(struct watch_events *events, uint64_t now_ns, struct watch_event **list,
			 uint32_t *count)
{
	struct taking taking = {.events = events, .now_ns = now_ns};
	int error = 0;

	for (uint32_t i = 0; i < events->nr_subjects && !error; i++) {
		const struct subject *subject = &events->subjects[i];

		if (subject->told && !subject->gone && !subject->is_stall && !subject->covered)
			error = tell(&taking, kind_of(subject), subject);
	}
	for (uint32_t i = 0; i < events->waits.count && !error; i++)
		if (events->waits.list[i].told)
			error = tell_wait(&taking, &events->waits.list[i], true);
	if (error)
		watch_events_free(taking.list, taking.count);
	*list = error ? NULL : taking.list;
	*count = error ? 0 : taking.count;
	return error;
}

void watch_events_free(struct watch_event *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		watch_finding_fini(&list[i].finding);
	free(list);
}

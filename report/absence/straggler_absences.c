#include "straggler_absences.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "straggler_deaths.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_log.h"
#include "base/array.h"
#include "proto/batch/message.h"
#include "report/names/clean_text.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"

struct finding {
	const struct collective_log_call *calls;
	const struct roster *roster;
	uint64_t *newest_ns; /* owns; of each process */
	struct straggler_absences *absences;
};

/* ---- the chain of waits */

static bool waits_in(const struct straggler_absence *absence, uint32_t process)
{
	for (uint32_t i = 0; i < absence->nr_waiting && process; i++)
		if (absence->waiting[i].process == process)
			return true;
	return false;
}

/* Returns the key of a communicator in whose collective a process waits; 0: there is none. */
static uint64_t find_wait(const struct straggler_absences *absences, uint32_t process)
{
	for (uint32_t i = 0; i < absences->count; i++)
		if (waits_in(&absences->list[i], process))
			return absences->list[i].key;
	return 0;
}

static void drop(struct straggler_absences *absences, uint32_t index)
{
	straggler_absence_fini(&absences->list[index]);
	memmove(&absences->list[index], &absences->list[index + 1],
		(--absences->count - index) * sizeof(*absences->list));
}

/* Of the absent ranks those are left that wait nowhere themselves. If all do, somewhere, they wait in a circle. */
static void follow(struct straggler_absences *absences)
{
	bool circle = true;

	for (uint32_t i = 0; i < absences->count; i++) {
		struct straggler_absence *absence = &absences->list[i];
		uint32_t kept = 0;

		for (uint32_t j = 0; j < absence->nr_absent; j++) {
			const uint64_t key = find_wait(absences, absence->absent[j].process);

			if (key)
				absence->waits_on = key;
			else
				absence->absent[kept++] = absence->absent[j];
		}
		if (!kept)
			continue;
		absence->nr_absent = kept;
		absence->waits_on = 0;
		circle = false;
	}
	for (uint32_t i = absences->count; i-- > 0 && !circle;)
		if (absences->list[i].waits_on)
			drop(absences, i);
}

/* ---- hosts */

static bool is_absent(const struct straggler_absence *absence, uint32_t process)
{
	for (uint32_t i = 0; i < absence->nr_absent; i++)
		if (absence->absent[i].process == process)
			return true;
	return false;
}

static uint32_t host_of(const struct roster *roster, uint32_t process)
{
	return process ? roster_process(roster, process)->identity.host : 0;
}

/* Finds the hosts of which all ranks, which are several, are absent: of the communicators in whose collectives ranks
 * wait. *whole is by the roster's id, and the caller's: free(). */
static int find_whole(const struct finding *finding, bool **whole)
{
	const struct straggler_absences *absences = finding->absences;
	const struct roster_size size = roster_size(finding->roster);
	bool *absent = calloc(size.processes + 1ul, sizeof(*absent));
	uint32_t *first = calloc(size.hosts + 1ul, sizeof(*first));
	bool *present = calloc(size.hosts + 1ul, sizeof(*present));

	*whole = calloc(size.hosts + 1ul, sizeof(**whole));
	const bool room = absent && first && present && *whole;
	for (uint32_t i = 0; i < absences->count && room; i++)
		for (uint32_t j = 0; j < absences->list[i].nr_absent; j++)
			absent[absences->list[i].absent[j].process] = true;
	for (uint32_t i = 0; i < absences->count && room; i++)
		for (uint32_t j = 0; j < absences->list[i].nr_members; j++) {
			const uint32_t process = absences->list[i].members[j];
			const uint32_t host = host_of(finding->roster, process);

			present[host] |= !absent[process];
			(*whole)[host] |= first[host] && first[host] != process;
			first[host] = process;
		}
	for (uint32_t host = 0; host <= size.hosts && room; host++)
		(*whole)[host] &= host && !present[host];
	free(absent);
	free(first);
	free(present);
	return room ? 0 : -ENOMEM;
}

static bool is_of_host(const struct finding *finding, const struct straggler_absence *absence,
		       uint32_t host)
{
	for (uint32_t i = 0; i < absence->nr_absent; i++)
		if (host_of(finding->roster, absence->absent[i].process) != host)
			return false;
	return true;
}

static int add_all(struct straggler_absence *to, const struct straggler_absence *from)
{
	int error = 0;

	to->has_fallen |= from->has_fallen;
	for (uint32_t i = 0; i < from->nr_absent && !error; i++)
		if (!is_absent(to, from->absent[i].process))
			error = array_append(&to->absent, &to->nr_absent, &from->absent[i],
					     sizeof(*from->absent));
	for (uint32_t i = 0; i < from->nr_waiting && !error; i++)
		if (!waits_in(to, from->waiting[i].process))
			error = array_append(&to->waiting, &to->nr_waiting, &from->waiting[i],
					     sizeof(*from->waiting));
	return error;
}

static bool is_same(const struct straggler_absence *a, const struct straggler_absence *b)
{
	for (uint32_t i = 0; i < a->nr_absent; i++)
		if (!a->absent[i].process || !is_absent(b, a->absent[i].process))
			return false;
	return a->nr_absent == b->nr_absent && a->waits_on == b->waits_on;
}

static int by_waiting(const void *a, const void *b)
{
	const struct straggler_absence *x = a, *y = b;

	if (x->nr_waiting != y->nr_waiting)
		return x->nr_waiting > y->nr_waiting ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int by_rank(const void *a, const void *b)
{
	const struct straggler_absent *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Ranks of one host that lack on several communicators are one absence; so are the same ranks on several. */
static int unite(struct finding *finding)
{
	struct straggler_absences *absences = finding->absences;
	bool *whole;
	int error = find_whole(finding, &whole);

	for (uint32_t i = 0; i < absences->count && !error; i++) {
		struct straggler_absence *absence = &absences->list[i];
		const uint32_t host = host_of(finding->roster, absence->absent[0].process);
		const bool is_host =
			whole[host] && !absence->waits_on && is_of_host(finding, absence, host);

		for (uint32_t j = absences->count; j-- > i + 1 && !error;) {
			if (is_host ? !is_of_host(finding, &absences->list[j], host)
				    : !is_same(absence, &absences->list[j]))
				continue;
			error = add_all(absence, &absences->list[j]);
			drop(absences, j);
		}
		absence->host = is_host ? host : 0;
		qsort(absence->absent, absence->nr_absent, sizeof(*absence->absent), by_rank);
	}
	free(whole);
	return error;
}

/* ---- all communicators */

static void find_ends(const struct finding *finding)
{
	const struct straggler_absences *absences = finding->absences;

	for (uint32_t i = 0; i < absences->count; i++) {
		struct straggler_absence *absence = &absences->list[i];

		absence->is_over = absence->has_ended = true;
		for (uint32_t j = 0; j < absence->nr_waiting; j++)
			absence->is_over &= straggler_absence_ended(
				roster_process(finding->roster, absence->waiting[j].process));
		for (uint32_t j = 0; j < absence->nr_absent; j++) {
			const uint32_t id = absence->absent[j].process;
			const struct roster_process *process =
				id ? roster_process(finding->roster, id) : NULL;

			absence->has_ended &= process && straggler_absence_ended(process) &&
					      !straggler_absence_stopped(process);
		}
	}
}

static int take(void *context, struct collective_match *match)
{
	struct finding *finding = context;
	struct straggler_absence absence = {.key = 0};
	int error = straggler_absence_find(match, finding->calls, finding->roster,
					   finding->newest_ns, &absence);

	if (!error && absence.nr_absent) {
		error = array_append(&finding->absences->list, &finding->absences->count, &absence,
				     sizeof(absence));
		if (!error)
			absence = (struct straggler_absence){.key = 0};
	}
	straggler_absence_fini(&absence);
	collective_match_fini(match);
	return error;
}

int straggler_absences_find(const struct collective_log *log, const struct roster *roster,
			    const struct clock_map *clocks, struct straggler_absences *absences)
{
	const uint32_t nr_processes = roster_size(roster).processes;
	uint32_t nr_calls;
	struct finding finding = {.calls = collective_log_calls(log, &nr_calls),
				  .roster = roster,
				  .newest_ns = calloc(nr_processes + 1ul, sizeof(uint64_t)),
				  .absences = absences};
	int error = finding.newest_ns ? 0 : -ENOMEM;

	*absences = (struct straggler_absences){.list = NULL};
	for (uint32_t i = 0; i < nr_calls && !error; i++)
		if (finding.calls[i].process <= nr_processes &&
		    finding.calls[i].call.start_ns > finding.newest_ns[finding.calls[i].process])
			finding.newest_ns[finding.calls[i].process] =
				finding.calls[i].call.start_ns;
	if (!error && nr_processes)
		error = collective_match_each(log, nr_processes, true, take, &finding);
	if (!error)
		error = straggler_deaths_find(absences->list, absences->count, roster, clocks);
	for (uint32_t i = absences->count; i-- > 0;)
		if (!absences->list[i].nr_waiting)
			drop(absences, i);
	if (!error && absences->count) {
		follow(absences);
		qsort(absences->list, absences->count, sizeof(*absences->list), by_waiting);
		error = unite(&finding);
		find_ends(&finding);
	}
	free(finding.newest_ns);
	return error;
}

void straggler_absences_fini(struct straggler_absences *absences)
{
	for (uint32_t i = 0; i < absences->count; i++)
		straggler_absence_fini(&absences->list[i]);
	free(absences->list);
	*absences = (struct straggler_absences){.list = NULL};
}

/* ---- how long ranks waited */

struct judging {
	const struct roster *roster;
	const struct clock_map *clocks;
	uint64_t now_ns;
};

/* When a process ended, or until when it certainly ran; 0: not known. */
static uint64_t end_of(const struct judging *judging, const struct roster_process *process)
{
	return straggler_absence_ended(process) || !judging->now_ns ? process->spoke_ns
								    : judging->now_ns;
}

static void find_wait_time(const struct judging *judging, struct straggler_absence *absence)
{
	const uint64_t died_ns = straggler_deaths_time(absence, judging->roster, false);
	const uint64_t stopped_ns = straggler_deaths_time(absence, judging->roster, true);

	absence->waited_ns = UINT64_MAX;
	for (uint32_t i = 0; i < absence->nr_waiting; i++) {
		const struct straggler_waiting *waiting = &absence->waiting[i];
		const struct roster_process *process =
			roster_process(judging->roster, waiting->process);
		uint64_t from_ns = straggler_deaths_realtime(
			judging->clocks, process->identity.host, waiting->since_ns);
		uint64_t end_ns = end_of(judging, process);

		if (!from_ns)
			from_ns = died_ns;
		if (stopped_ns && stopped_ns < end_ns)
			end_ns = stopped_ns;
		const uint64_t waited_ns = from_ns && end_ns > from_ns ? end_ns - from_ns : 0;
		if (waited_ns < absence->waited_ns)
			absence->waited_ns = waited_ns;
	}
}

/* Returns whether the absent ranks died, and those that waited were ended by signals after that, or much later. */
static bool has_died_alone(const struct judging *judging, const struct straggler_absence *absence)
{
	const uint64_t died_ns = straggler_deaths_time(absence, judging->roster, false);

	for (uint32_t i = 0; i < absence->nr_waiting && died_ns; i++) {
		const struct roster_process *process =
			roster_process(judging->roster, absence->waiting[i].process);

		if (process->spoke_ns < died_ns ||
		    (!straggler_absence_stopped(process) &&
		     process->spoke_ns - died_ns < STRAGGLER_DEATHS_NS))
			return false;
	}
	return died_ns;
}

void straggler_absences_judge(struct straggler_absences *absences, const struct roster *roster,
			      const struct clock_map *clocks, uint64_t now_ns)
{
	const struct judging judging = {roster, clocks, now_ns};

	for (uint32_t i = absences->count; i-- > 0;) {
		struct straggler_absence *absence = &absences->list[i];

		find_wait_time(&judging, absence);
		const bool is_long = absence->waited_ns >= STRAGGLER_ABSENCE_NS &&
				     absence->waited_ns > absence->usual_ns;
		if (!is_long && !has_died_alone(&judging, absence))
			drop(absences, i);
	}
}

/* ---- names */

static void append_host(const struct profile *profile, uint32_t host, char *text, size_t size)
{
	const struct collection *collection = profile->collection;
	uint32_t length = 0;
	const struct roster_host *of = roster_host(collection->roster, host);
	const char *bytes = of ? catalog_string(collection->catalog, of->node, &length) : NULL;
	char *clean = bytes ? clean_text_of(bytes, length) : NULL;

	text_line_append(text, size, "%s", clean ? clean : "?");
	free(clean);
}

/* Appends "ranks 4-7"; "3 ranks" if the ranks of the job are not known. */
static void append_ranks(const struct straggler_absence *absence, char *text, size_t size)
{
	int32_t *ranks = calloc(absence->nr_absent, sizeof(*ranks));
	char name[COMMUNICATOR_NAME_SIZE];
	bool known = ranks != NULL;

	for (uint32_t i = 0; i < absence->nr_absent && known; i++) {
		ranks[i] = absence->absent[i].rank;
		known = ranks[i] >= 0 && (i == 0 || ranks[i] > ranks[i - 1]);
	}
	if (known)
		communicator_names_write(ranks, absence->nr_absent, 0, name);
	if (known)
		text_line_append(text, size, "%s", name);
	else
		text_line_append(text, size, "%" PRIu32 " ranks", absence->nr_absent);
	free(ranks);
}

void straggler_absences_name(const struct profile *profile, const struct straggler_absence *absence,
			     char *text, size_t size)
{
	const struct roster *roster = profile->collection->roster;
	const uint32_t host = host_of(roster, absence->absent[0].process);
	bool one_host = host != 0;

	for (uint32_t i = 1; i < absence->nr_absent; i++)
		one_host &= host_of(roster, absence->absent[i].process) == host;
	if (absence->host) {
		append_host(profile, absence->host, text, size);
		text_line_append(text, size, " (%" PRIu32 " ranks: ", absence->nr_absent);
		const size_t begin = strlen(text);
		append_ranks(absence, text, size);
		/* "ranks 4-7" within the brackets */
		if (begin < size && strncmp(text + begin, "ranks ", 6) == 0)
			memmove(text + begin, text + begin + 6, strlen(text + begin + 6) + 1);
		text_line_append(text, size, ")");
		return;
	}
	if (absence->nr_absent > 1)
		append_ranks(absence, text, size);
	else if (absence->absent[0].rank >= 0)
		text_line_append(text, size, "rank %" PRId32, absence->absent[0].rank);
	else
		text_line_append(text, size, "pid %" PRIu32,
				 roster_process(roster, absence->absent[0].process)->identity.pid);
	if (one_host) {
		text_line_append(text, size, " on ");
		append_host(profile, host, text, size);
	}
}

bool straggler_absences_several(const struct straggler_absence *absence)
{
	return absence->nr_absent > 1 && !absence->host;
}

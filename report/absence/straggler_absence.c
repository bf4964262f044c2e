#include "straggler_absence.h"

#include <errno.h>
#include <stdlib.h>

#include "report/profile/straggler_rank.h"

#include "aggregator/profile/collective_log.h"
#include "base/array.h"
#include "proto/batch/message.h"

struct finding {
	const struct collective_match *match;
	const struct collective_log_call *calls;
	const struct roster *roster;
	const uint64_t *newest_ns;
	struct straggler_absence *absence;
	uint64_t over[COLLECTIVE_FUNCTIONS];    /* the number of the last collective that is over */
	const struct collective_match_row *row; /* in which ranks wait */
};

static uint32_t count_of(const struct roster_process *process, enum ledger_reason reason)
{
	for (uint32_t i = 0; i < process->nr_ledger; i++)
		if (process->ledger[i].reason == reason && process->ledger[i].count)
			return 1;
	return 0;
}

bool straggler_absence_ended(const struct roster_process *process)
{
	return process->state != PROCESS_RUNNING;
}

bool straggler_absence_stopped(const struct roster_process *process)
{
	return count_of(process, LEDGER_TERMINATED_END) ||
	       count_of(process, LEDGER_INTERRUPTED_END);
}

/* ---- the collective in which ranks wait */

static const struct collective_log_call *
call_of(const struct finding *finding, const struct collective_match_row *row, uint32_t member)
{
	const uint32_t place = finding->match->places[row->entries + member];

	return place == COLLECTIVE_MATCH_ABSENT
		       ? NULL
		       : &finding->calls[finding->match->entries[place].call];
}

static bool is_over(const struct finding *finding, const struct collective_match_row *row)
{
	const struct collective_match *match = finding->match;
	const uint32_t all =
		match->nr_ranks == COLLECTIVE_NOT_KNOWN ? match->nr_members : match->nr_ranks;

	if (row->present >= all)
		return true;
	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = call_of(finding, row, i);

		if (call && call->gpu.known && call->gpu.ns < STRAGGLER_ABSENCE_NS)
			return true;
	}
	return false;
}

static bool is_behind(const struct finding *finding, const struct collective_match_row *row)
{
	return row->number > finding->over[row->function];
}

/* The number of the row's collective on the communicator, as its first member that has come counts them. */
static uint64_t sequence_of(const struct finding *finding, const struct collective_match_row *row)
{
	for (uint32_t i = 0; i < finding->match->nr_members; i++)
		if (call_of(finding, row, i))
			return call_of(finding, row, i)->call.sequence;
	return 0;
}

static void find_row(struct finding *finding)
{
	const struct collective_match *match = finding->match;
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < match->nr_rows; i++) {
		const struct collective_match_row *row = &match->rows[i];

		if (is_over(finding, row) && row->number > finding->over[row->function])
			finding->over[row->function] = row->number;
	}
	for (uint32_t i = 0; i < match->nr_rows; i++) {
		const uint64_t sequence = sequence_of(finding, &match->rows[i]);

		if (!is_behind(finding, &match->rows[i]) || sequence >= first)
			continue;
		first = sequence;
		finding->row = &match->rows[i];
	}
}

/* Returns whether a member has come to this collective or to a later one. */
static bool has_come(const struct finding *finding, uint32_t member)
{
	for (uint32_t i = 0; i < finding->match->nr_rows; i++)
		if (is_behind(finding, &finding->match->rows[i]) &&
		    call_of(finding, &finding->match->rows[i], member))
			return true;
	return false;
}

/* Returns the number of a member's newest call on the communicator; 0: it has none. */
static uint64_t newest_of(const struct finding *finding, uint32_t member)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; member < finding->match->nr_members && i < finding->match->nr_rows;
	     i++) {
		const struct collective_log_call *call =
			call_of(finding, &finding->match->rows[i], member);

		if (call && call->call.sequence > newest)
			newest = call->call.sequence;
	}
	return newest;
}

/* Returns whether collectives ended after a member's newest call. It took part in them, so its records are missing, and
 * nobody knows what it did last. nr_members: a rank of which no call was recorded. */
static bool is_unrecorded(const struct finding *finding, uint32_t member)
{
	const struct collective_match *match = finding->match;
	const uint64_t newest = newest_of(finding, member);

	for (uint32_t i = 0; i < match->nr_rows; i++)
		if (sequence_of(finding, &match->rows[i]) > newest &&
		    is_over(finding, &match->rows[i]))
			return true;
	return false;
}

/* ---- who waits, and who has not come */

static int add_absent(struct finding *finding, uint32_t process, int32_t rank)
{
	const struct straggler_absent absent = {process, rank};

	return array_append(&finding->absence->absent, &finding->absence->nr_absent, &absent,
			    sizeof(absent));
}

static int add_members(struct finding *finding)
{
	const struct collective_match *match = finding->match;
	struct straggler_absence *absence = finding->absence;
	int error = 0;

	for (uint32_t i = 0; i < match->nr_members && !error; i++) {
		const uint32_t process = match->members[i].process;
		const struct straggler_waiting waiting = {process, finding->newest_ns[process]};

		error = array_append(&absence->members, &absence->nr_members, &process,
				     sizeof(process));
		if (error)
			break;
		if (call_of(finding, finding->row, i))
			error = array_append(&absence->waiting, &absence->nr_waiting, &waiting,
					     sizeof(waiting));
		else if (!is_unrecorded(finding, i))
			error = add_absent(finding, process,
					   roster_process(finding->roster, process)->rank);
	}
	return error;
}

static bool is_member(const struct finding *finding, int32_t rank)
{
	for (uint32_t i = 0; i < finding->match->nr_members; i++)
		if (roster_process(finding->roster, finding->match->members[i].process)->rank ==
		    rank)
			return true;
	return false;
}

/* Returns the newest process of a rank of the same job that has not made a call on the communicator; 0: none. */
static uint32_t process_of(const struct finding *finding, int32_t rank)
{
	struct roster_process wanted =
		*roster_process(finding->roster, finding->match->members[0].process);

	wanted.rank = rank;
	for (uint32_t id = roster_size(finding->roster).processes; id > 0; id--)
		if (straggler_rank_same(roster_process(finding->roster, id), &wanted))
			return id;
	return 0;
}

/* The job has as many ranks as the communicator, so the ranks that lack are known. */
static int add_unseen(struct finding *finding)
{
	const struct collective_match *match = finding->match;
	const struct roster_process *first =
		roster_process(finding->roster, match->members[0].process);
	int error = 0;

	if (match->nr_ranks == COLLECTIVE_NOT_KNOWN || match->nr_ranks <= match->nr_members ||
	    first->world_size < 0 || (uint32_t)first->world_size != match->nr_ranks ||
	    match->nr_ranks > 2 * match->nr_members || is_unrecorded(finding, match->nr_members))
		return 0;
	for (uint32_t i = 0; i < match->nr_members; i++)
		if (roster_process(finding->roster, match->members[i].process)->rank < 0)
			return 0;
	for (int32_t rank = 0; rank < first->world_size && !error; rank++)
		if (!is_member(finding, rank))
			error = add_absent(finding, process_of(finding, rank), rank);
	return error;
}

static bool is_recorded(const struct finding *finding)
{
	const struct collective_match *match = finding->match;

	for (uint32_t i = 0; i < match->nr_members; i++) {
		const uint32_t process = match->members[i].process;

		if (count_of(roster_process(finding->roster, process), LEDGER_CAPTURE_WINDOW))
			return false;
		if (!call_of(finding, finding->row, i) && has_come(finding, i))
			return false;
	}
	return true;
}

/* Calls between which others are missing are not near one another. */
static void find_usual(struct finding *finding)
{
	const struct collective_match *match = finding->match;
	uint32_t member = 0, place;

	while (!call_of(finding, finding->row, member))
		member++;
	place = match->places[finding->row->entries + member];
	for (uint32_t i = 0; i < STRAGGLER_ABSENCE_CALLS && place > match->members[member].begin;
	     i++, place--) {
		const struct collective_match_entry *entry = &match->entries[place];
		const uint64_t ns = finding->calls[entry->call].call.start_ns -
				    finding->calls[entry[-1].call].call.start_ns;

		if (entry->sequence != entry[-1].sequence + 1)
			break;
		if (ns > finding->absence->usual_ns)
			finding->absence->usual_ns = ns;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct straggler_absent *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

int straggler_absence_find(const struct collective_match *match,
			   const struct collective_log_call *calls, const struct roster *roster,
			   const uint64_t *newest_ns, struct straggler_absence *absence)
{
	struct finding finding = {.match = match,
				  .calls = calls,
				  .roster = roster,
				  .newest_ns = newest_ns,
				  .absence = absence};

	*absence = (struct straggler_absence){.key = match->key};
	find_row(&finding);
	if (!finding.row || !is_recorded(&finding))
		return 0;
	absence->sequence = sequence_of(&finding, finding.row);
	absence->function = finding.row->function;
	find_usual(&finding);
	int error = add_members(&finding);
	if (!error)
		error = add_unseen(&finding);
	if (absence->nr_absent > absence->nr_waiting)
		absence->nr_absent = 0;
	if (!error && absence->nr_absent)
		qsort(absence->absent, absence->nr_absent, sizeof(*absence->absent), by_rank);
	return error;
}

void straggler_absence_fini(struct straggler_absence *absence)
{
	free(absence->absent);
	free(absence->waiting);
	free(absence->members);
	*absence = (struct straggler_absence){.key = 0};
}

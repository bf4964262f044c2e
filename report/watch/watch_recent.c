#include "watch_recent.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/collective_exchange.h"
#include "aggregator/profile/collective_folding.h"
#include "aggregator/profile/roster.h"
#include "base/array.h"
#include "proto/batch/message.h"

/* What a collective is of. */
struct kind {
	uint64_t bytes;
	uint32_t function;
};

struct choice {
	const struct roster *roster;
	const struct collective_log_call *calls;
	const struct watch_window *window;
	struct watch_recent *recent;
	uint64_t *newest_ns; /* owns; of each process, the begin of its newest call */
	struct kind *kinds;  /* owns */
	uint32_t nr_kinds, room_kinds, room_meetings, room_visits, room_called, room_keys;
	uint64_t *times_ns; /* owns; room for a collective's times */
	uint32_t room_times;
	bool by_gpu, by_host; /* seen */
};

static int find_kind(struct choice *choice, const struct collective *call, uint32_t *kind)
{
	for (*kind = 0; *kind < choice->nr_kinds; ++*kind)
		if (choice->kinds[*kind].function == call->function &&
		    choice->kinds[*kind].bytes == call->bytes)
			return 0;
	if (*kind == WATCH_RECENT_KINDS - 1)
		return 0; /* all others */
	if (array_reserve(&choice->kinds, &choice->room_kinds, choice->nr_kinds + 1ull,
			  sizeof(*choice->kinds)))
		return -ENOMEM;
	choice->kinds[choice->nr_kinds++] = (struct kind){call->bytes, call->function};
	return 0;
}

static const struct collective_log_call *call_of(const struct choice *choice,
						 const struct collective_match *match, uint32_t row,
						 uint32_t member)
{
	const uint32_t place = match->places[match->rows[row].entries + member];

	return &choice->calls[match->entries[place].call];
}

/* Returns whether all ranks are in a collective, and their kernels are known where they have some. */
static bool is_complete(const struct choice *choice, const struct collective_match *match,
			uint32_t row)
{
	if (match->rows[row].present < match->nr_members)
		return false;
	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = call_of(choice, match, row, i);

		if (!call->gpu.known && call->call.correlation_id)
			return false;
	}
	return true;
}

/* Returns whether a process has ended, and another one of its host goes on: a job that started its ranks anew. */
static bool has_successor(const struct choice *choice, uint32_t process)
{
	const struct roster_process *ended = roster_process(choice->roster, process);
	const uint32_t count = roster_size(choice->roster).processes;

	if (!ended || ended->state == PROCESS_RUNNING)
		return false;
	for (uint32_t id = 1; id <= count; id++) {
		const struct roster_process *other = roster_process(choice->roster, id);

		if (other->state == PROCESS_RUNNING && other->identity.host == ended->identity.host)
			return true;
	}
	return false;
}

/* Returns whether all calls of the first rank from one collective to a later one are there. Of calls that are folded
 * some have no row, and a time across such a gap is nobody's. */
static bool is_without_gap(const struct collective_match *match, uint32_t from, uint32_t to)
{
	const uint32_t first = match->places[match->rows[from].entries];

	for (uint32_t i = match->places[match->rows[to].entries]; i > first; i--)
		if (match->entries[i].sequence != match->entries[i - 1].sequence + 1)
			return false;
	return true;
}

/* Returns the first row of the window; nr_rows: there is none. The collective before the time of the window is the last
 * one in it, because it may have lasted until then. */
static uint32_t find_window(struct choice *choice, const struct collective_match *match)
{
	uint32_t first = match->nr_rows, count = 0;
	uint64_t newest_ns = 0, next_ns = 0;

	for (uint32_t i = match->nr_rows; i-- > 0;) {
		if (!is_complete(choice, match, i))
			continue;
		const struct collective_log_call *call = call_of(choice, match, i, 0);
		uint64_t start_ns = call->call.start_ns;

		if (count == 0)
			newest_ns = next_ns = start_ns;
		if (count && !is_without_gap(match, i, first))
			break;
		if (count == 0 &&
		    (choice->newest_ns[call->process] > start_ns + WATCH_RECENT_IDLE_NS ||
		     has_successor(choice, call->process)))
			break;
		const bool is_older = next_ns + choice->window->ns < newest_ns ||
				      (choice->window->ns == 0 && count);
		if (count >= choice->window->least && is_older)
			break;
		choice->recent->is_long |= is_older;
		first = i;
		next_ns = start_ns;
		count++;
	}
	return first;
}

static int copy_row(struct choice *choice, const struct collective_match *match, uint32_t row)
{
	struct collective_log *log = choice->recent->folds->log;

	for (uint32_t i = 0; i < match->nr_members; i++) {
		const struct collective_log_call *call = call_of(choice, match, row, i);
		const struct collective_log_call copy = {
			.process = call->process, .call = call->call, .gpu = call->gpu};

		if (collective_log_load_call(log, &copy))
			return -ENOMEM;
	}
	return 0;
}

/* By the GPU's clock as long as all kernels are known; watch_recent.others says if that does not compare. */
static struct watch_visit visit_of(struct choice *choice, const struct collective_log_call *call,
				   bool by_gpu)
{
	const uint64_t start_ns = by_gpu ? call->gpu.start_ns : call->call.start_ns;
	const uint64_t ns = by_gpu ? call->gpu.ns : call->call.duration_ns;

	*(by_gpu ? &choice->by_gpu : &choice->by_host) = true;
	return (struct watch_visit){call->process, start_ns, start_ns + ns};
}

static int add_meeting(struct choice *choice, const struct collective_match *match, uint32_t row,
		       struct collective_match_launch *launch)
{
	struct watch_recent *recent = choice->recent;
	const enum collective_match_time how = collective_match_time(
		match, choice->calls, &match->rows[row], launch, choice->times_ns);
	struct watch_meeting meeting = {.communicator = recent->nr_keys - 1,
					.first_visit = recent->nr_visits,
					.nr_visits = match->nr_members};

	if (how >= COLLECTIVE_MATCH_JOINT)
		return 0;
	if (find_kind(choice, &call_of(choice, match, row, 0)->call, &meeting.kind) ||
	    array_reserve(&recent->meetings, &choice->room_meetings, recent->nr_meetings + 1ull,
			  sizeof(*recent->meetings)) ||
	    array_reserve(&recent->called_ns, &choice->room_called, recent->nr_meetings + 1ull,
			  sizeof(*recent->called_ns)) ||
	    array_reserve(&recent->visits, &choice->room_visits,
			  recent->nr_visits + (uint64_t)match->nr_members, sizeof(*recent->visits)))
		return -ENOMEM;
	for (uint32_t i = 0; i < match->nr_members; i++)
		recent->visits[recent->nr_visits++] = visit_of(
			choice, call_of(choice, match, row, i), how == COLLECTIVE_MATCH_BY_GPU);
	recent->called_ns[recent->nr_meetings] = call_of(choice, match, row, 0)->call.start_ns;
	recent->meetings[recent->nr_meetings++] = meeting;
	return 0;
}

/* ---- sends and receives */

static bool is_message(const struct collective *call)
{
	return call->function == COLLECTIVE_SEND || call->function == COLLECTIVE_RECV;
}

static const struct collective_log_call *
call_at(const struct choice *choice, const struct collective_match *match, uint32_t entry)
{
	return &choice->calls[match->entries[entry].call];
}

/* Returns the first entry of a member's window, in which its calls follow one another. first to end: all of its
 * entries. *newest: the number of its newest call. Calls of one kernel stay together. */
static uint32_t find_message(const struct choice *choice, const struct collective_match *match,
			     uint32_t first, uint32_t end, uint64_t *newest)
{
	const uint64_t newest_ns = call_at(choice, match, end - 1)->call.start_ns;
	uint32_t kernels = 0, kernel = 0, at = end;

	*newest = match->entries[end - 1].sequence;
	while (at > first) {
		const struct collective_log_call *call = call_at(choice, match, at - 1);

		if (at < end && match->entries[at].sequence != match->entries[at - 1].sequence + 1)
			break;
		if (call->call.correlation_id != kernel || at == end) {
			kernel = call->call.correlation_id;
			if (kernels++ >= choice->window->least &&
			    call->call.start_ns + choice->window->ns < newest_ns)
				break;
		}
		at--;
	}
	return at;
}

/* Copies the newest sends and receives of a communicator: those of all ranks with all hold ranks up as a collective
 * does (collective_exchange.h). Of few ranks they are not that. */
static int add_messages(struct choice *choice, const struct collective_match *match)
{
	struct collective_log *log = choice->recent->folds->log;

	for (uint32_t i = 0, end; i < match->nr_entries; i = end) {
		uint64_t newest;

		for (end = i + 1;
		     end < match->nr_entries &&
		     collective_match_same_end(&match->entries[i], &match->entries[end]);
		     end++)
			;
		const uint32_t process = match->entries[i].process;
		if (choice->newest_ns[process] >
			    call_at(choice, match, end - 1)->call.start_ns + WATCH_RECENT_IDLE_NS ||
		    has_successor(choice, process))
			continue;
		for (uint32_t j = find_message(choice, match, i, end, &newest); j < end; j++) {
			const struct collective_log_call *call = call_at(choice, match, j);
			const struct collective_log_call copy = {
				.process = call->process, .call = call->call, .gpu = call->gpu};

			if (is_message(&call->call) && collective_log_load_call(log, &copy))
				return -ENOMEM;
		}
		choice->recent->newest += newest;
	}
	return 0;
}

static bool has_messages(const struct choice *choice, const struct collective_match *match)
{
	for (uint32_t i = 0; i < match->nr_entries; i++) {
		if (is_message(&call_at(choice, match, i)->call))
			return true;
	}
	return false;
}

static int add_rows(struct choice *choice, const struct collective_match *match)
{
	struct collective_match_launch launch = {0};
	uint64_t newest = 0;
	int error = array_reserve(&choice->times_ns, &choice->room_times, match->nr_members,
				  sizeof(*choice->times_ns));

	for (uint32_t i = find_window(choice, match); i < match->nr_rows && !error; i++) {
		if (!is_complete(choice, match, i))
			continue;
		newest = match->rows[i].sequence;
		error = copy_row(choice, match, i);
		if (!error)
			error = add_meeting(choice, match, i, &launch);
	}
	choice->recent->newest += newest;
	return error;
}

static int take(void *context, struct collective_match *match)
{
	struct choice *choice = context;
	struct watch_recent *recent = choice->recent;
	int error = array_reserve(&recent->keys, &choice->room_keys, recent->nr_keys + 1ull,
				  sizeof(*recent->keys));

	if (!error) {
		recent->keys[recent->nr_keys++] = match->key;
		const bool messages = has_messages(choice, match);

		recent->others |= messages;
		if (match->nr_members > 1)
			error = add_rows(choice, match);
		if (!error && messages && match->nr_members >= COLLECTIVE_EXCHANGE_ALL)
			error = add_messages(choice, match);
	}
	collective_match_fini(match);
	return error;
}

static int copy_names(const struct collective_folds *all, struct collective_folds *folds)
{
	uint32_t count;
	const struct collective_log_communicator *made =
		collective_log_communicators(all->log, &count);
	int error = 0;

	for (uint32_t id = 1; id < all->nr_processes && !error; id++)
		if (all->writers[id])
			error = collective_folds_process(folds, id, all->writers[id],
							 all->hosts[id]);
	for (uint32_t i = 0; i < count && !error; i++)
		error = collective_log_put(folds->log, made[i].process, &made[i].communicator);
	return error;
}

static int choose(const struct collective_folds *all, struct choice *choice)
{
	uint32_t nr_calls;

	choice->calls = collective_log_calls(all->log, &nr_calls);
	choice->newest_ns = calloc(all->nr_processes + 1ul, sizeof(*choice->newest_ns));
	if (!choice->newest_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_calls; i++) {
		const struct collective_log_call *call = &choice->calls[i];

		if (call->process < all->nr_processes &&
		    call->call.start_ns > choice->newest_ns[call->process])
			choice->newest_ns[call->process] = call->call.start_ns;
	}
	return all->nr_processes
		       ? collective_match_each(all->log, all->nr_processes - 1, true, take, choice)
		       : 0;
}

int watch_recent_choose(const struct collective_folds *all, const struct roster *roster,
			const struct watch_window *window, struct watch_recent *recent)
{
	struct choice choice = {.roster = roster, .window = window, .recent = recent};

	*recent = (struct watch_recent){.folds = collective_folds_create(),
					.nr_ranks = all->nr_processes};
	int error = recent->folds ? copy_names(all, recent->folds) : -ENOMEM;
	if (!error)
		error = choose(all, &choice);
	if (!error)
		error = collective_folds_take(recent->folds, true);
	recent->others |= choice.by_gpu && choice.by_host;
	free(choice.newest_ns);
	free(choice.kinds);
	free(choice.times_ns);
	return error;
}

void watch_recent_fini(struct watch_recent *recent)
{
	collective_folds_destroy(recent->folds);
	free(recent->meetings);
	free(recent->visits);
	free(recent->called_ns);
	free(recent->keys);
	*recent = (struct watch_recent){.folds = NULL};
}

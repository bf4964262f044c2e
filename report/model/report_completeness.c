#include "report_completeness.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_absence.h"
#include "report_fault.h"
#include "report_summary.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/roster.h"
#include "proto/absence.h"
#include "proto/ledger.h"
#include "report/profile/profile_ledger.h"
#include "report/stalls/stall_account.h"

#define NUMBER_SIZE 32u

struct judge {
	const struct profile *profile;
	const struct roster *roster;
	struct report_names *names;
	union {
		struct {
			/* agents without a goodbye; of a live profile, those not heard of */
			struct report_fault agents, silent;
			/* processes that ended without a goodbye; whose end was not seen; that could
			 * not be recorded; whose recording ended before them; that outlived their
			 * agent's goodbye; the same, but their recording should have continued;
			 * that SIGINT stopped; SIGTERM or SIGHUP */
			struct report_fault killed, unseen, unrecorded, gave_up;
			struct report_fault left, cut, interrupted, ended;
			/* GPU records that no account counts, or two do; launches that no account
			 * counts; samples of running kernels that their ledgers count otherwise */
			struct report_fault missing, twice, launches, samples;
		};
		struct report_fault faults[14]; /* all of them */
	};
	uint64_t *differing_samples; /* owns; by process id */
	bool *is_open; /* own, by process id, as the next: its newest agent has not said goodbye */
	bool *is_orphan;      /* an agent that read it has not said goodbye */
	uint32_t *host_names; /* owns; by host id, index of report_names; 0: no name */
	uint32_t
		absent; /* the notice about ranks that are not there, index of report_names; 0: none */
	uint32_t *notes; /* owns; texts of what the profile lacks, indexes of report_names */
	uint32_t failed, chosen; /* notices, indexes of report_names; 0: none */
	bool has_nodes_missing, has_sums, lacks_samples;
	uint32_t nr_hosts;
};

/* ---- gathering */

static int add_process(struct report_fault *fault, const struct roster_process *process,
		       uint64_t count)
{
	struct report_fault_place *place = report_fault_place(fault, process->identity.host);

	if (!place)
		return -ENOMEM;
	fault->count += count;
	report_fault_spoke(place, process->spoke_ns);
	return report_fault_add_rank(place, process->rank);
}

static int add_agent(const struct judge *judge, struct report_fault *fault,
		     const struct agent_session *session)
{
	const struct session_ids *processes = &session->ids[SESSION_PROCESSES];
	struct report_fault_place *place = report_fault_place(fault, session->host);
	int error = place ? 0 : -ENOMEM;

	if (error)
		return error;
	fault->count++;
	report_fault_spoke(place, session->spoke_ns);
	for (uint32_t i = 0; i < processes->count && !error; i++)
		error = report_fault_add_rank(
			place, roster_process(judge->roster, processes->ids[i])->rank);
	return error;
}

/* ---- agents */

/* A later agent of the node continues to read the same rings. Agents that another aggregator heard may be of another
 * job. A merged profile does not keep the order of its agents. */
static bool is_succeeded(const struct collection *collection, uint32_t i)
{
	const struct agent_session *session = collection->sessions[i];

	for (uint32_t k = 0; k < collection->nr_sessions; k++) {
		const struct agent_session *other = collection->sessions[k];

		if (k != i && other->host == session->host && other->writer == session->writer &&
		    (other->spoke_ns > session->spoke_ns ||
		     (other->spoke_ns == session->spoke_ns && k > i)))
			return true;
	}
	return false;
}

/* Kernel samples that an agent had not read are lost with it. */
static bool had_kernel_samples(const struct judge *judge, const struct agent_session *session)
{
	const struct session_ids *processes = &session->ids[SESSION_PROCESSES];

	for (uint32_t i = 0; i < processes->count; i++)
		if (profile_ledger_of(roster_process(judge->roster, processes->ids[i]),
				      LEDGER_SAMPLES))
			return true;
	return false;
}

/* The next agent reads all rings that an agent without a goodbye has left. */
static int judge_session(struct judge *judge, uint32_t i)
{
	const struct agent_session *session = judge->profile->collection->sessions[i];
	const struct session_ids *processes = &session->ids[SESSION_PROCESSES];
	bool is_last = !is_succeeded(judge->profile->collection, i);
	bool is_open = is_last && judge->profile->written;

	if (session->ended)
		return 0;
	for (uint32_t p = 0; p < processes->count; p++) {
		judge->is_open[processes->ids[p]] |= is_last;
		judge->is_orphan[processes->ids[p]] = true;
	}
	if (is_open && report_fault_is_silent(session->spoke_ns, judge->profile->read_ns))
		return add_agent(judge, &judge->silent, session);
	if (is_open || (!is_last && !had_kernel_samples(judge, session)))
		return 0;
	return add_agent(judge, &judge->agents, session);
}

static int judge_sessions(struct judge *judge)
{
	const struct collection *collection = judge->profile->collection;
	uint32_t nr_hosts = roster_size(judge->roster).hosts;
	bool *seen = calloc(nr_hosts + 1, sizeof(*seen));
	int error = seen ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < collection->nr_sessions && !error; i++) {
		uint32_t host = collection->sessions[i]->host;

		if (host <= nr_hosts && host && !seen[host]) {
			seen[host] = true;
			judge->nr_hosts++;
		}
		error = judge_session(judge, i);
	}
	free(seen);
	judge->has_nodes_missing = !judge->profile->written && judge->profile->nr_nodes > 0 &&
				   judge->nr_hosts < (uint32_t)judge->profile->nr_nodes;
	return error;
}

/* ---- processes */

/* Both sides of an account are final after the process's goodbye. Records that were given up have a number, but it does
 * not tell launches from GPU records. */
static bool is_final(const struct roster_process *process)
{
	return process->state == PROCESS_ENDED &&
	       !profile_ledger_of(process, LEDGER_UNTRUSTED_RING);
}

static int judge_records(struct judge *judge, const struct roster_process *process)
{
	uint64_t produced = profile_ledger_of(process, LEDGER_RECORDS);
	uint64_t known = process->counts.records +
			 profile_ledger_of(process, LEDGER_RECORD_RING_FULL) +
			 profile_ledger_of(process, LEDGER_INVALID_TIME) +
			 profile_ledger_of(process, LEDGER_STILL_RUNNING);

	if (produced == known)
		return 0;
	return produced > known ? add_process(&judge->missing, process, produced - known)
				: add_process(&judge->twice, process, known - produced);
}

/* A killed agent may have returned lanes whose marks (RECORD_LAUNCH_FAILED, _HOST) are lost. The ledger counts those
 * marks as lost launches. So the accounts may contain more launches than were seen. */
static int judge_launches(struct judge *judge, const struct roster_process *process)
{
	uint64_t seen = profile_ledger_of(process, LEDGER_LAUNCHES);
	uint64_t known = process->counts.launches +
			 profile_ledger_of(process, LEDGER_LAUNCH_RING_FULL) +
			 profile_ledger_of(process, LEDGER_LAUNCH_NO_LANE);

	return seen > known ? add_process(&judge->launches, process, seen - known) : 0;
}

static int judge_accounts(struct judge *judge, uint32_t id)
{
	const struct roster_process *process = roster_process(judge->roster, id);
	int error = is_final(process) ? judge_records(judge, process) : 0;

	if (!error && is_final(process) && judge->differing_samples[id])
		error = add_process(&judge->samples, process, judge->differing_samples[id]);
	return !error && is_final(process) ? judge_launches(judge, process) : error;
}

static int judge_notices(struct judge *judge, const struct roster_process *process)
{
	/* Launches alone are no GPU work, and the kernel samples any process. */
	bool has_nothing = process->counts.records == 0;
	int error = 0;

	for (uint32_t i = 0; i < process->nr_notices && has_nothing && !error; i++) {
		uint32_t index;
		const char *text;

		error = report_names_string(judge->names, process->notices[i], &index);
		text = error ? "" : report_names_get(judge->names, index);
		if (absence_is_chosen(text) && !judge->chosen)
			judge->chosen = index;
		if (!absence_is_failed(text))
			continue;
		if (!judge->failed)
			judge->failed = index;
		return add_process(&judge->unrecorded, process, 1);
	}
	return error;
}

static int judge_process(struct judge *judge, uint32_t id)
{
	const struct roster_process *process = roster_process(judge->roster, id);
	int error = judge_notices(judge, process);

	if (!error)
		error = judge_accounts(judge, id);
	if (!error && profile_ledger_of(process, LEDGER_GUEST_GAVE_UP))
		error = add_process(&judge->gave_up, process, 1);
	if (error)
		return error;
	if (process->state == PROCESS_UNCLEAN) {
		if (profile_ledger_of(process, LEDGER_INTERRUPTED_END))
			return add_process(&judge->interrupted, process, 1);
		if (profile_ledger_of(process, LEDGER_TERMINATED_END))
			return add_process(&judge->ended, process, 1);
		judge->lacks_samples |= profile_ledger_of(process, LEDGER_KERNEL_SAMPLES) != 0;
		return add_process(&judge->killed, process, 1);
	}
	if (process->state != PROCESS_RUNNING || judge->is_open[id])
		return 0; /* more may come from its agent, which is judged itself */
	if (judge->is_orphan[id])
		return add_process(&judge->unseen, process, 1);
	if (profile_ledger_of(process, LEDGER_GUEST_GAVE_UP))
		return 0; /* that fault says more */
	return add_process(profile_ledger_of(process, LEDGER_CUT_OFF) ? &judge->cut : &judge->left,
			   process, 1);
}

/* ---- words */

static void write_places(FILE *out, const struct judge *judge, const struct report_fault *fault,
			 const char *when)
{
	for (uint32_t i = 0; i < fault->nr_places; i++) {
		struct report_fault_place *place = &fault->places[i];
		uint32_t index = judge->host_names[place->host];

		place->name =
			index ? report_names_get(judge->names, index) : "a node without a name";
	}
	report_fault_write_places(fault, when, out);
}

static void begin_fault(FILE *out, bool *any)
{
	fputs(*any ? "; " : "INCOMPLETE: ", out);
	*any = true;
}

static void write_process_fault(FILE *out, const struct judge *judge,
				const struct report_fault *fault, const char *what,
				const char *when, bool *any)
{
	uint32_t nr_processes = roster_size(judge->roster).processes;
	char number[NUMBER_SIZE];

	if (!fault->count)
		return;
	begin_fault(out, any);
	fprintf(out, "%s of ", report_summary_count(fault->count, number));
	fprintf(out, "%s process%s %s", report_summary_count(nr_processes, number),
		nr_processes == 1 ? "" : "es", what);
	write_places(out, judge, fault, when);
}

/* `what` is in the plural. */
static void write_account_fault(FILE *out, const struct judge *judge,
				const struct report_fault *fault, const char *things,
				const char *what, bool *any)
{
	if (!fault->count)
		return;
	begin_fault(out, any);
	report_fault_write_share(out, fault->count, 0, things);
	fprintf(out, " %s", what);
	write_places(out, judge, fault, "at");
}

static uint32_t count_parts(const struct judge *judge, enum store_note_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < judge->profile->nr_notes; i++)
		count += judge->profile->notes[i].kind == kind;
	return count;
}

/* Writes the parts with a note of this kind. The texts come from a file, and those of the names are clean. */
static void write_parts(FILE *out, const struct judge *judge, enum store_note_kind kind)
{
	const uint32_t count = count_parts(judge, kind);
	uint32_t nr = 0;

	report_fault_write_lack(kind, count, judge->profile->written, out);
	for (uint32_t i = 0; i < judge->profile->nr_notes && nr < REPORT_FAULT_PLACES; i++)
		if (judge->profile->notes[i].kind == kind)
			fprintf(out, "%s%s", nr++ ? ", " : "",
				report_names_get(judge->names, judge->notes[i]));
	if (count > REPORT_FAULT_PLACES)
		fprintf(out, " and %u more", count - REPORT_FAULT_PLACES);
}

/* What a part of a live profile has not sent is no fault: it comes. No report shows timelines. */
static void write_lacks(FILE *out, const struct judge *judge, bool *any)
{
	for (enum store_note_kind kind = 0; kind < STORE_NOTE_KINDS; kind++) {
		if (!count_parts(judge, kind) || kind == STORE_NOTE_TIMELINE ||
		    (kind == STORE_NOTE_UNSENT && judge->profile->written))
			continue;
		begin_fault(out, any);
		write_parts(out, judge, kind);
	}
}

/* Writes all faults. Returns whether there are any. */
static bool write_faults(FILE *out, const struct judge *judge)
{
	const struct profile *profile = judge->profile;
	bool any = false;

	if (profile->abandoned && (judge->agents.count || !profile->collection->nr_sessions)) {
		begin_fault(out, &any);
		report_fault_write_abandoned((uint64_t)profile->nr_open,
					     (uint64_t)profile->nr_writers, out);
	}
	write_lacks(out, judge, &any);
	if (judge->has_nodes_missing) {
		begin_fault(out, &any);
		report_fault_write_nodes((uint64_t)profile->nr_nodes - judge->nr_hosts,
					 (uint64_t)profile->nr_nodes, profile->nr_writers > 1, out);
	}
	if (judge->agents.count) {
		begin_fault(out, &any);
		report_fault_write_share(out, judge->agents.count, profile->collection->nr_sessions,
					 "agents");
		fputs(" did not say goodbye, so what came later is missing", out);
		write_places(out, judge, &judge->agents, "since");
	}
	write_process_fault(out, judge, &judge->killed, report_fault_killed(judge->lacks_samples),
			    "at", &any);
	write_process_fault(out, judge, &judge->unseen,
			    "ended while no agent read, so what came later may be missing", "since",
			    &any);
	write_process_fault(out, judge, &judge->cut,
			    "ran on when the recording was cut off, so what came later is missing "
			    "[cut_off]",
			    "since", &any);
	write_process_fault(out, judge, &judge->unrecorded,
			    "started CUDA and could not be recorded (the notes say why)", "at",
			    &any);
	write_process_fault(out, judge, &judge->gave_up,
			    "recorded no more, since no agent had answered for a minute "
			    "[guest_gave_up]",
			    "last heard of at", &any);
	write_account_fault(out, judge, &judge->missing, "GPU records",
			    "delivered, but in no account", &any);
	write_account_fault(out, judge, &judge->twice, "GPU records",
			    "here, but never delivered (counted twice?)", &any);
	write_account_fault(out, judge, &judge->samples, "samples of running kernels",
			    "missing, or here but never counted", &any);
	write_account_fault(out, judge, &judge->launches, "launch calls", "seen, but in no account",
			    &any);
	return any;
}

/* Writes which nodes of a live profile say nothing. */
static void write_silent(FILE *out, const struct judge *judge)
{
	if (!judge->silent.count)
		return;
	fputs("; ", out);
	report_fault_write_share(out, judge->silent.nr_places, judge->nr_hosts, "nodes");
	report_fault_write_silence(&judge->silent, judge->profile->read_ns, out);
	write_places(out, judge, &judge->silent, "since");
}

static void write_stop(FILE *out, const struct judge *judge)
{
	const bool is_by_key = judge->interrupted.count != 0;

	report_fault_write_stop(is_by_key ? &judge->interrupted : &judge->ended,
				is_by_key ? "Ctrl-C (SIGINT)" : "SIGTERM or SIGHUP", out);
}

/* Writes which processes were left. since: the event. Returns whether there are any. */
static bool write_left(FILE *out, const struct judge *judge, const char *before, const char *since)
{
	char number[NUMBER_SIZE];

	if (judge->left.count)
		fprintf(out, "%s%s process%s ran on after %s", before,
			report_summary_count(judge->left.count, number),
			judge->left.count == 1 ? "" : "es", since);
	return judge->left.count != 0;
}

static bool is_empty(const struct report_tree *tree)
{
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++)
		if (tree->plane_totals[plane].count)
			return false;
	return tree->kernels + tree->copies + tree->graphs + tree->nr_memory == 0;
}

/* Returns the notice without its prefix; NULL: none. */
static const char *without(const struct judge *judge, uint32_t notice, const char *prefix)
{
	return notice ? report_names_get(judge->names, notice) + strlen(prefix) : NULL;
}

static void write_absence(FILE *out, const struct judge *judge, const struct report_tree *tree)
{
	const struct report_absence_facts facts = {
		.nr_agents = judge->profile->collection->nr_sessions,
		.nr_processes = roster_size(judge->roster).processes,
		.failed = without(judge, judge->failed, ABSENCE_FAILED),
		.chosen = without(judge, judge->chosen, ABSENCE_CHOSEN),
		.is_written = judge->profile->written,
		.has_launches = tree->launches != 0,
	};
	char line[REPORT_ABSENCE_SIZE];

	fprintf(out, "NOTHING WAS RECORDED: %s", report_absence_line(&facts, line, sizeof(line)));
}

/* A part by time has no ledger of its own. */
static enum report_state write_slice(FILE *out, const struct judge *judge)
{
	const struct profile *profile = judge->profile;
	bool is_incomplete = false;

	fprintf(out, "a part of a profile, %s; what was lost is told by the whole", profile->slice);
	for (uint32_t i = 0; i < profile->nr_notes; i++) {
		const struct store_note *note = &profile->notes[i];

		if (note->kind != STORE_NOTE_DAMAGED)
			continue;
		is_incomplete = true;
		if (strcmp(note->key, STORE_TIMELINE_WHOLE) == 0)
			fprintf(out, ", which is %s",
				report_names_get(judge->names, judge->notes[i]));
		else
			fputs("; INCOMPLETE: events of this time are missing", out);
	}
	return is_incomplete ? REPORT_INCOMPLETE : REPORT_COMPLETE;
}

static enum report_state write_verdict(FILE *out, const struct judge *judge,
				       const struct report_tree *tree)
{
	if (judge->profile->slice)
		return write_slice(out, judge);
	bool is_stopped = judge->interrupted.count || judge->ended.count;
	bool is_incomplete = write_faults(out, judge);

	/* A fault or a stop explains an empty profile, so no other cause is named. */
	if (is_empty(tree) && !is_stopped && (!is_incomplete || judge->failed)) {
		fputs(is_incomplete ? "; " : "", out);
		write_absence(out, judge, tree);
		return is_incomplete ? REPORT_INCOMPLETE : REPORT_EMPTY;
	}
	if (is_stopped) {
		fputs(is_incomplete ? "; " : "", out);
		write_stop(out, judge);
	}
	if (is_incomplete || is_stopped)
		write_left(out, judge, "; ", "the recording had ended");
	if (is_incomplete) {
		write_silent(out, judge);
		return REPORT_INCOMPLETE;
	}
	if (judge->profile->written) {
		fprintf(out, "%slive: it is still being recorded, and %s so far",
			is_stopped ? "; " : "", tree->lost ? "no more is lost" : "nothing is lost");
		if (count_parts(judge, STORE_NOTE_UNSENT)) {
			fputs("; ", out);
			write_parts(out, judge, STORE_NOTE_UNSENT);
		}
		write_silent(out, judge);
		return REPORT_LIVE;
	}
	if (is_stopped)
		return REPORT_STOPPED;
	/* Parts that nobody merged look as ranks without GPU work do, unless all nodes are known to be there. */
	const bool has_absent =
		judge->absent && judge->profile->nr_writers > 1 && judge->profile->nr_nodes <= 0;
	if (!tree->lost || judge->left.count)
		fputs(tree->lost ? "no more lost" : "nothing lost", out);
	write_left(out, judge, " while it was recorded, and ", "that");
	if (has_absent)
		fprintf(out, "%s%s", tree->lost && !judge->left.count ? "" : ", but ",
			report_names_get(judge->names, judge->absent));
	return REPORT_COMPLETE;
}

static enum report_state write_lacking(FILE *out, const struct judge *judge)
{
	const bool is_stopped = judge->interrupted.count || judge->ended.count;
	const bool is_incomplete = write_faults(out, judge);

	fputs(is_incomplete && is_stopped ? "; " : "", out);
	if (is_stopped)
		write_stop(out, judge);
	return is_incomplete ? REPORT_INCOMPLETE : is_stopped ? REPORT_STOPPED : REPORT_COMPLETE;
}

/* ---- the whole */

static int gather(struct judge *judge)
{
	uint32_t nr_processes = roster_size(judge->roster).processes;
	uint32_t nr_hosts = roster_size(judge->roster).hosts;
	int error = -ENOMEM;

	judge->is_open = calloc(nr_processes + 1, sizeof(bool));
	judge->is_orphan = calloc(nr_processes + 1, sizeof(bool));
	judge->host_names = calloc(nr_hosts + 1, sizeof(*judge->host_names));
	judge->notes = calloc(judge->profile->nr_notes + 1ul, sizeof(*judge->notes));
	judge->differing_samples = judge->has_sums ? stall_account_make(judge->profile)
						   : calloc(nr_processes + 1ul, sizeof(uint64_t));
	if (judge->is_open && judge->is_orphan && judge->host_names && judge->notes &&
	    judge->differing_samples)
		error = judge_sessions(judge);
	for (uint32_t id = 1; id <= nr_hosts && !error; id++)
		error = report_names_string(judge->names, roster_host(judge->roster, id)->node,
					    &judge->host_names[id]);
	for (uint32_t i = 0; i < judge->profile->nr_notes && !error; i++)
		error = report_names_text(judge->names, judge->profile->notes[i].text,
					  &judge->notes[i]);
	for (uint32_t id = 1; id <= nr_processes && !error; id++)
		error = judge_process(judge, id);
	return error;
}

int report_completeness_make(const struct profile *profile, struct report_names *names,
			     const struct report_tree *tree, uint32_t absent,
			     enum report_state *state, char **sentence)
{
	struct judge judge = {.profile = profile,
			      .roster = profile->collection->roster,
			      .names = names,
			      .absent = absent,
			      .has_sums = tree != NULL};
	int error = gather(&judge);
	size_t size;

	*sentence = NULL;
	*state = REPORT_INCOMPLETE;
	FILE *out = error ? NULL : open_memstream(sentence, &size);
	if (out) {
		*state = tree ? write_verdict(out, &judge, tree) : write_lacking(out, &judge);
		if (fclose(out) != 0)
			error = -ENOMEM;
	} else {
		error = -ENOMEM;
	}
	if (error) {
		free(*sentence);
		*sentence = NULL;
	}
	for (size_t i = 0; i < sizeof(judge.faults) / sizeof(judge.faults[0]); i++)
		report_fault_fini(&judge.faults[i]);
	free(judge.differing_samples);
	free(judge.is_open);
	free(judge.is_orphan);
	free(judge.host_names);
	free(judge.notes);
	return error;
}

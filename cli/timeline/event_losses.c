#include "event_losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"

#define NAMES_MAX 8u /* further ones are counted */

static const char *form(uint64_t nr, const char *one, const char *several)
{
	return nr == 1 ? one : several;
}

static void say_misnamed(const struct event_sums *sums)
{
	char name[EVENT_READER_NAME];

	event_reader_name(sums->misnamed_number, name);
	log_notice("%" PRIu64 " file%s of the timeline %s another number inside than in the name, "
		   "as copies have: left out, for instance %s",
		   sums->misnamed, form(sums->misnamed, "", "s"),
		   form(sums->misnamed, "has", "have"), name);
}

/* Single events that are damaged are of no file that is known. */
static void say_damaged(const struct event_sums *sums)
{
	char name[EVENT_READER_NAME] = "";

	if (sums->damaged_number)
		event_reader_name(sums->damaged_number, name);
	log_warning("%" PRIu64 " damaged part%s of the timeline's files %s left out%s%s",
		    sums->damaged, form(sums->damaged, "", "s"), form(sums->damaged, "was", "were"),
		    *name ? ", for instance of " : "", name);
}

bool event_losses_say(const struct timeline_counts *counts, uint64_t nr_launchless,
		      uint32_t nr_silent)
{
	const struct event_sums *sums = &counts->log;

	if (nr_launchless)
		log_notice("%" PRIu64
			   " piece%s of GPU work %s no launch here: it came before this time, "
			   "or before what was kept, or was not seen",
			   nr_launchless, form(nr_launchless, "", "s"),
			   form(nr_launchless, "has", "have"));
	if (sums->foreign)
		log_notice("%" PRIu64
			   " file%s of another profile, or no regular file%s: %s left out",
			   sums->foreign,
			   form(sums->foreign, " beside the timeline's is",
				"s beside the timeline's are"),
			   form(sums->foreign, "", "s"), form(sums->foreign, "it is", "they are"));
	if (sums->misnamed)
		say_misnamed(sums);
	if (sums->nameless)
		log_notice("%" PRIu64 " file%s written by an older version, and %s", sums->nameless,
			   form(sums->nameless, " was", "s were"),
			   form(sums->nameless, "does not say of which profile it is",
				"do not say of which profile they are"));
	if (sums->dropped_events)
		log_notice("%" PRIu64 " older event%s dropped as --timeline and --max-size asked",
			   sums->dropped_events, form(sums->dropped_events, " was", "s were"));
	if (sums->lost_events)
		log_warning("%" PRIu64 " event%s missing: the disk did not take %s",
			    sums->lost_events, form(sums->lost_events, " is", "s are"),
			    form(sums->lost_events, "it", "them"));
	if (sums->damaged)
		say_damaged(sums);
	if (sums->compressed)
		log_warning("%" PRIu64
			    " block%s compressed, and libzstd is missing (Debian: libzstd1)",
			    sums->compressed, form(sums->compressed, " is", "s are"));
	if (nr_silent)
		log_warning("%" PRIu32 " process%s no timeline", nr_silent,
			    form(nr_silent, " has", "es have"));
	if (counts->unknown)
		log_warning("%" PRIu64
			    " event%s what the profile, which is being written, does not know "
			    "yet: %s left out",
			    counts->unknown, form(counts->unknown, " names", "s name"),
			    form(counts->unknown, "it is", "they are"));
	if (counts->unclocked)
		log_warning("%" PRIu64 " event%s left out: %s clock was never compared",
			    counts->unclocked, form(counts->unclocked, " is", "s are"),
			    form(counts->unclocked, "its", "their"));
	if (counts->others)
		log_notice("%" PRIu64 " record%s left out", counts->others,
			   form(counts->others, " that is neither GPU work nor a wait is",
				"s that are neither GPU work nor waits are"));
	return sums->lost_events || sums->damaged || sums->compressed || counts->unclocked ||
	       nr_silent;
}

void event_losses_say_workless(uint64_t nr_workless)
{
	if (nr_workless)
		log_notice("%" PRIu64 " launch%s no GPU work here: it came after this time, or "
			   "never, or the call failed",
			   nr_workless, form(nr_workless, " has", "es have"));
}

/* What lies within the time. Pauses are in order of their processes. */
struct pause_sums {
	uint64_t ns;
	uint32_t nr_pauses, nr_processes;
};

static struct pause_sums add_pauses(const struct capture_pauses *pauses, uint64_t from_ns,
				    uint64_t to_ns)
{
	struct pause_sums sums = {0};
	uint32_t process_id = 0;

	for (uint32_t i = 0; i < pauses->nr_pauses; i++) {
		const struct capture_pause *pause = &pauses->pauses[i];
		const uint64_t begin_ns = pause->begin_ns > from_ns ? pause->begin_ns : from_ns;
		const uint64_t end_ns = pause->end_ns < to_ns ? pause->end_ns : to_ns;

		if (begin_ns >= end_ns)
			continue;
		sums.ns += end_ns - begin_ns;
		sums.nr_pauses++;
		sums.nr_processes += pause->process_id != process_id;
		process_id = pause->process_id;
	}
	return sums;
}

int event_losses_say_pauses(struct timeline_source *source, const struct timeline_request *request,
			    uint64_t first_ns, uint64_t last_ns)
{
	const uint64_t from_ns = request->from_ns > first_ns ? request->from_ns : first_ns;
	const uint64_t to_ns = request->to_ns < last_ns ? request->to_ns : last_ns;
	struct capture_pauses pauses;
	char processes[64] = "";
	const int error = capture_pauses_read(&pauses, source, request);
	const struct pause_sums sums = add_pauses(&pauses, from_ns, to_ns);

	if (sums.nr_processes > 1)
		snprintf(processes, sizeof(processes), " added up over %" PRIu32 " processes",
			 sums.nr_processes);
	if (!error && sums.nr_pauses)
		log_notice("%" PRIu32
			   " time%s between capture windows, %.3f s%s, of which only GPU "
			   "work is known that was launched before; the timeline is %.3f s long",
			   sums.nr_pauses, sums.nr_pauses == 1 ? "" : "s", (double)sums.ns * 1e-9,
			   processes, (double)(to_ns - from_ns) * 1e-9);
	capture_pauses_fini(&pauses);
	return error;
}

bool event_losses_say_missing(const struct profile *profile, bool is_written)
{
	char names[NAMES_MAX * (STORE_NOTE_SIZE + 2)] = "", more[32] = "";
	size_t used = 0;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < profile->nr_notes; i++) {
		if (profile->notes[i].kind != STORE_NOTE_TIMELINE || nr++ >= NAMES_MAX)
			continue;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", profile->notes[i].text);
	}
	if (nr > NAMES_MAX)
		snprintf(more, sizeof(more), " and %" PRIu32 " more", nr - NAMES_MAX);
	if (nr && is_written)
		log_notice("each of these nodes brings its timeline when its ranks have ended: "
			   "%s%s. Until then a node's is in its directory, flamegrid-node-… "
			   "(--spool, else $TMPDIR or /tmp), and flamegrid timeline shows it there",
			   names, more);
	else if (nr)
		log_warning("the timelines of these nodes are missing: %s%s. A node that could not "
			    "bring its own has left it in its directory, flamegrid-node-… "
			    "(--spool, else $TMPDIR or /tmp), and flamegrid merge adds it",
			    names, more);
	return nr > 0;
}

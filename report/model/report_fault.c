#include "report_fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report_summary.h"

#include "base/array.h"
#include "report/names/local_time.h"

#define NS_PER_S    1000000000ull
#define NUMBER_SIZE 32u

struct report_fault_place *report_fault_place(struct report_fault *fault, uint32_t host)
{
	const struct report_fault_place place = {.host = host};

	for (uint32_t i = fault->nr_places; i > 0; i--)
		if (fault->places[i - 1].host == host)
			return &fault->places[i - 1];
	if (array_append(&fault->places, &fault->nr_places, &place, sizeof(place)))
		return NULL;
	return &fault->places[fault->nr_places - 1];
}

void report_fault_spoke(struct report_fault_place *place, uint64_t spoke_ns)
{
	if (spoke_ns && (!place->since_ns || spoke_ns < place->since_ns))
		place->since_ns = spoke_ns;
}

int report_fault_add_rank(struct report_fault_place *place, int32_t rank)
{
	return rank < 0 ? 0 : array_append(&place->ranks, &place->nr_ranks, &rank, sizeof(rank));
}

void report_fault_write_lack(enum store_note_kind kind, uint32_t count, bool is_live, FILE *out)
{
	if (kind == STORE_NOTE_FULL)
		return;
	report_fault_write_share(out, count, 0, "parts");
	fprintf(out, " of the profile %s ", count == 1 ? "was" : "were");
	if (kind == STORE_NOTE_DAMAGED)
		fprintf(out, "damaged, and what %s held is missing: ", count == 1 ? "it" : "they");
	else
		fprintf(out, "too large to be sent at once, and the stacks of the rest %s: ",
			is_live ? "come later" : "are missing");
}

void report_fault_write_time(uint64_t time_ns, FILE *out)
{
	char text[LOCAL_TIME_SIZE];

	fputs(local_time_text(time_ns, "%F %T", text), out);
}

bool report_fault_is_silent(uint64_t spoke_ns, uint64_t read_ns)
{
	return spoke_ns && read_ns > spoke_ns && read_ns - spoke_ns >= REPORT_FAULT_SILENT_NS;
}

void report_fault_write_share(FILE *out, uint64_t count, uint64_t of, const char *what)
{
	char number[NUMBER_SIZE];

	fputs(report_summary_count(count, number), out);
	if (of)
		fprintf(out, " of %s", report_summary_count(of, number));
	fprintf(out, " %.*s", (int)strlen(what) - (count == 1 && of <= 1), what);
}

void report_fault_write_silence(const struct report_fault *fault, uint64_t read_ns, FILE *out)
{
	const bool is_one = fault->nr_places == 1;
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < fault->nr_places; i++)
		if (read_ns - fault->places[i].since_ns > longest_ns)
			longest_ns = read_ns - fault->places[i].since_ns;
	fprintf(out,
		" %s not been heard of for %s%" PRIu64 " s, so the newest data is that old "
		"(dead, cut off, or behind)",
		is_one ? "has" : "have", is_one ? "" : "up to ", (uint64_t)(longest_ns / NS_PER_S));
}

static int by_rank(const void *a, const void *b)
{
	const int32_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

/* Writes "rank 3" or "ranks 3, 8-15". The ranks are sorted and distinct. */
static void write_ranks(FILE *out, const struct report_fault_place *place)
{
	uint32_t nr_ranges = 0;

	if (place->nr_ranks == 0)
		return;
	qsort(place->ranks, place->nr_ranks, sizeof(*place->ranks), by_rank);
	fputs(place->ranks[0] == place->ranks[place->nr_ranks - 1] ? " (rank " : " (ranks ", out);
	for (uint32_t i = 0; i < place->nr_ranks;) {
		int32_t first = place->ranks[i], last = first;

		for (; i < place->nr_ranks && place->ranks[i] <= last + 1; i++)
			last = place->ranks[i];
		if (nr_ranges++ == REPORT_FAULT_RANGES) {
			fputs(" and more", out);
			break;
		}
		fprintf(out, "%s%" PRId32, nr_ranges > 1 ? ", " : "", first);
		if (last > first)
			fprintf(out, "-%" PRId32, last);
	}
	putc(')', out);
}

static int by_name(const void *a, const void *b)
{
	const struct report_fault_place *one = a, *two = b;

	return strcmp(one->name, two->name);
}

static void write_place(FILE *out, const struct report_fault_place *place, const char *when)
{
	fputs(place->name, out);
	write_ranks(out, place);
	if (!place->since_ns)
		return;
	fprintf(out, " %s ", when);
	report_fault_write_time(place->since_ns, out);
}

void report_fault_write_places(const struct report_fault *fault, const char *when, FILE *out)
{
	qsort(fault->places, fault->nr_places, sizeof(*fault->places), by_name);
	for (uint32_t i = 0; i < fault->nr_places; i++) {
		fputs(i ? ", " : ": ", out);
		if (i == REPORT_FAULT_PLACES) {
			fprintf(out, "and %" PRIu32 " more nodes", fault->nr_places - i);
			return;
		}
		write_place(out, &fault->places[i], when);
	}
}

void report_fault_fini(struct report_fault *fault)
{
	for (uint32_t i = 0; i < fault->nr_places; i++)
		free(fault->places[i].ranks);
	free(fault->places);
}

const char *report_fault_killed(bool sampled)
{
	return sampled ? "ended without a goodbye (killed, or by _exit), so up to 0.5 s before the "
			 "end, "
			 "and 1 s of samples of kernels, may be missing [unclean_end]"
		       : "ended without a goodbye (killed, or by _exit), so up to 0.5 s before the "
			 "end "
			 "may be missing [unclean_end]";
}

void report_fault_write_stop(const struct report_fault *fault, const char *how, FILE *out)
{
	uint64_t since_ns = 0;

	for (uint32_t i = 0; i < fault->nr_places; i++)
		if (fault->places[i].since_ns > since_ns)
			since_ns = fault->places[i].since_ns;
	fprintf(out, "stopped by %s", how);
	if (since_ns) {
		fputs(" at ", out);
		report_fault_write_time(since_ns, out);
	}
	fputs(": up to 0.5 s of GPU work before that may be missing", out);
}

void report_fault_write_nodes(uint64_t missing, uint64_t of, bool has_parts, FILE *out)
{
	report_fault_write_share(out, missing, of, "nodes");
	fputs(has_parts ? " did not join, or are in parts that were not merged: their GPU work is "
			  "not in the profile"
			: " did not join: their GPU work is not in the profile",
	      out);
}

void report_fault_write_abandoned(uint64_t nr_open, uint64_t nr_writers, FILE *out)
{
	if (nr_writers <= 1) {
		fputs("its aggregator ended without closing it", out);
		return;
	}
	report_fault_write_share(out, nr_open, nr_writers, "aggregators");
	fputs(" (of the job and of its nodes) ended without closing its part", out);
}

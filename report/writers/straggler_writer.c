#include "straggler_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "communicator_column.h"
#include "json_text.h"
#include "parallel_writer.h"
#include "row_text.h"
#include "straggler_text.h"
#include "text_file.h"

#include "report/model/report_summary.h"

#define TOP_DEFAULT 20u
#define NUMBER_SIZE 32u
#define MISSING_MAX 8u

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* ---- table: communicators */

struct table {
	FILE *out;
	const struct report_straggler *straggler;
	bool verbose;
	struct communicator_column names;
};

static void begin_table(struct table *table, FILE *out, const struct report_straggler *straggler,
			uint32_t top, bool verbose)
{
	*table = (struct table){.out = out, .straggler = straggler, .verbose = verbose};
	communicator_column_init(&table->names, out, verbose);
	for (uint32_t i = 0; i < straggler->nr_communicators && i < top; i++)
		communicator_column_widen(&table->names, straggler->communicators[i].name);
}

static const char *ranks_of(const struct collective_fold *of, char text[static NUMBER_SIZE])
{
	if (of->nr_ranks == COLLECTIVE_NOT_KNOWN)
		snprintf(text, NUMBER_SIZE, "%" PRIu32, of->nr_members);
	else
		snprintf(text, NUMBER_SIZE, "%" PRIu32 " of %" PRIu32, of->nr_members,
			 of->nr_ranks);
	return text;
}

static const char *measure_of(const struct collective_fold *of)
{
	if (!of->used)
		return "-";
	return of->by_gpu == of->used ? "GPU" : of->by_gpu ? "GPU, host" : "host";
}

/* Writes the communicator's ranks that are not in the profile, and those whose collectives are missing. */
static void write_missing(FILE *out, const struct collective_fold *of)
{
	uint32_t at = 0, written = 0;

	for (uint32_t rank = 0;
	     of->nr_ranks != COLLECTIVE_NOT_KNOWN && rank < of->nr_ranks && written < MISSING_MAX;
	     rank++) {
		while (at < of->nr_members && of->members[at].rank < rank)
			at++;
		if (at < of->nr_members && of->members[at].rank <= rank)
			continue;
		if (of->members[of->nr_members - 1].rank == COLLECTIVE_NOT_KNOWN)
			break;
		fprintf(out, "%s%" PRIu32, written++ ? ", " : "; not here: rank ", rank);
	}
	written = 0;
	for (uint32_t i = 0; i < of->nr_members && written < MISSING_MAX; i++)
		if (of->members[i].missing && of->members[i].rank != COLLECTIVE_NOT_KNOWN)
			fprintf(out, "%srank %" PRIu32 " in %" PRIu32,
				written++ ? ", " : "; missing: ", of->members[i].rank,
				of->members[i].missing);
}

static void write_left_out(FILE *out, uint64_t count, const char *what)
{
	char text[NUMBER_SIZE];

	if (count)
		fprintf(out, "; %s %s", report_summary_count(count, text), what);
}

static void write_communicator(const struct table *table,
			       const struct report_straggler_communicator *communicator)
{
	const struct collective_fold *of = communicator->fold;
	char ranks[NUMBER_SIZE], collectives[NUMBER_SIZE], used[NUMBER_SIZE], span[NUMBER_SIZE];
	FILE *out = table->out;

	communicator_column_write(&table->names, communicator->name, of->key);
	fprintf(out, " %10s %12s %8.2f%% %12s %9s %12s", ranks_of(of, ranks),
		report_summary_count(of->collectives, collectives),
		percent((double)of->complete, (double)of->collectives),
		report_summary_count(of->used, used), measure_of(of),
		report_summary_time(communicator->span_ns, span));
	write_missing(out, of);
	write_left_out(out, of->joint, "more in a kernel with others");
	write_left_out(out, of->grouped, "in groups");
	write_left_out(out, of->others, "calls that wait for nobody");
	write_left_out(out, of->duplicates, "twice");
	write_left_out(out, of->unmatched, "calls came too late");
	fputc('\n', out);
}

/* ---- table: ranks */

static void write_rank(FILE *out, const struct report_straggler_rank *rank)
{
	char last[NUMBER_SIZE], all[NUMBER_SIZE], mean[NUMBER_SIZE], own[NUMBER_SIZE],
		each[NUMBER_SIZE], number[NUMBER_SIZE] = "-";

	if (rank->rank >= 0)
		snprintf(number, sizeof(number), "%" PRId32, rank->rank);
	fprintf(out, "%5s%s %10s %7.2f%% %14s %12s %12s %12s  %s pid %" PRIu32 "\n", number,
		rank->named || rank->groups ? "*" : " ", report_summary_count(rank->last, last),
		percent((double)rank->last, (double)rank->used),
		report_summary_time(rank->others_ns, all),
		report_summary_time((uint64_t)llround(rank->others_mean_ns), mean),
		report_summary_time(
			rank->used ? (uint64_t)llround(rank->others_mean_ns / (double)rank->used)
				   : 0,
			each),
		report_summary_time(rank->waited_ns, own), rank->host, rank->pid);
}

static const char *const extents[] = {
	[STRAGGLER_RUN] = "in the whole run",
	[STRAGGLER_COLLECTIVES] = "from the first collective to the last one",
	[STRAGGLER_LATE] = "before the collectives in which it was last",
};

static void write_cause(FILE *out, const struct straggler_cause *cause,
			enum straggler_extent extent)
{
	char time[NUMBER_SIZE], text[STRAGGLER_TEXT_SIZE];

	fprintf(out, "    %12s %6.1f %%  %-6s  %s", report_summary_time(cause->excess_ns, time),
		100 * cause->share, report_plane_name(cause->plane),
		straggler_text_cause(cause, text, sizeof(text)));
	if (cause->plane == REPORT_PLANE_GPU && fabs(cause->launches) >= 0.005)
		fprintf(out, ", %+.2f launches", cause->launches);
	if (cause->extent != extent)
		fprintf(out, ", %s", extents[cause->extent]);
	fprintf(out, "\n    %31s%s\n", "", cause->stack);
}

static void write_causes(FILE *out, const struct straggler_cause *causes, uint32_t nr_causes,
			 const struct straggler_scope *scope)
{
	if (scope->is_skipped) {
		fprintf(out,
			"  causes are looked for where the others waited most, at most %u times\n",
			REPORT_STRAGGLER_EXPLAINED);
		return;
	}
	const bool on_cpu = scope->planes & 1u << REPORT_PLANE_CPU;
	const bool off_cpu = scope->planes & 1u << REPORT_PLANE_OFF_CPU;
	if (!on_cpu || !off_cpu)
		fprintf(out, "  of the host%s was recorded: run with --cpu-hz 99 --off-cpu 1ms\n",
			on_cpu    ? " no wait"
			: off_cpu ? " no work on the CPU"
				  : " nothing");
	if (!nr_causes) {
		fputs("  nothing that it does more of than the others was recorded\n", out);
		return;
	}
	fprintf(out, "  more than the median of the others, each time (%s):\n",
		extents[scope->extent]);
	for (uint32_t i = 0; i < nr_causes; i++)
		write_cause(out, &causes[i], scope->extent);
}

static void write_found(const struct table *table, const struct straggler_subject *found)
{
	char late[NUMBER_SIZE], lump[NUMBER_SIZE];
	FILE *out = table->out;

	fprintf(out, "  by %s each time against the median; named by %s\n",
		report_summary_time(found->late_ns > 0 ? (uint64_t)found->late_ns : 0, late),
		straggler_text_ground(found->ground));
	if (table->verbose)
		fprintf(out,
			"  chance of equal ranks: %.1e, in %" PRIu32
			" of the run's stretches the last: %.1e, of the costliest lumps: %.1e; "
			"z %.1f\n",
			found->p, found->stretches, found->p_stretches, found->p_lumps, found->z);
	if (found->ground == STRAGGLER_LUMPS || found->ground == STRAGGLER_STALL)
		fprintf(out,
			"  the costliest lump: at collectives %" PRIu64 " to %" PRIu64
			" the others waited %s, added up\n",
			found->lump_from + 1, found->lump_to,
			report_summary_time(found->lump_ns, lump));
}

static void write_named(const struct table *table, const struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *on =
		&table->straggler->communicators[rank->communicator];
	const struct straggler_subject *found = &on->members[rank->member].found;
	char line[STRAGGLER_TEXT_SIZE] = "", behind[NUMBER_SIZE];

	straggler_text_rank(line, sizeof(line), rank);
	if (on->is_pipeline)
		fprintf(table->out, "\n%s is late in %s\n", line, on->name);
	else
		fprintf(table->out,
			"\n%s is late in collectives of %s, where it was last %s behind the one "
			"before it\n",
			line, on->name, report_summary_time(found->behind_ns, behind));
	write_found(table, found);
	write_causes(table->out, rank->causes, rank->nr_causes, &rank->scope);
}

static void write_group(const struct table *table, const struct report_straggler_group *group)
{
	const struct report_straggler_communicator *on =
		&table->straggler->communicators[group->communicator];
	char line[STRAGGLER_TEXT_SIZE] = "";

	straggler_text_ranks(line, sizeof(line), table->straggler, group);
	fprintf(table->out, "\n%s (%s) is late in %s%s\n", group->name, line,
		on->is_pipeline ? "" : "collectives of ", on->name);
	write_found(table, &group->group->found);
	write_causes(table->out, group->causes, group->nr_causes, &group->scope);
}

/* Returns whether a communicator stands in several lines, each of which has a part of its ranks or of the run. */
static bool is_split(const struct report_straggler *straggler)
{
	for (uint32_t i = 0; i < straggler->nr_communicators; i++)
		for (uint32_t j = 0; j < i; j++)
			if (straggler->communicators[i].fold->key ==
			    straggler->communicators[j].fold->key)
				return true;
	return false;
}

/* Bytes a nanosecond are GB/s. A size class has the calls from half of its bytes on. */
static void write_link(const struct table *table, const struct straggler_link *link)
{
	char from[NUMBER_SIZE], to[NUMBER_SIZE], lost[NUMBER_SIZE];

	fprintf(table->out,
		"slow link: %s move data at %.2f GB/s, %" PRIu32
		" similar communicators at %.2f (median): %s of %s to %s; %s more in all\n",
		communicator_names_of(table->straggler->names, link->fold->key),
		(double)link->bus_bytes / (double)link->moves_ns, link->nr_similar,
		(double)link->bus_bytes / (double)link->usual_ns,
		collective_function_name(link->function),
		report_summary_bytes(1ull << (link->size_class - 1), from),
		report_summary_bytes(1ull << link->size_class, to),
		report_summary_time((link->moves_ns - link->usual_ns) / link->fold->nr_members,
				    lost));
}

static void write_notes(FILE *out, const struct report_straggler *straggler)
{
	char count[NUMBER_SIZE];
	bool by_host = false;

	for (uint32_t i = 0; i < straggler->nr_communicators; i++)
		by_host |= straggler->communicators[i].fold->by_gpu <
			   straggler->communicators[i].fold->used;
	if (by_host)
		fputs("note: \"host\": by the calls' own time, which is that of the collective "
		      "only where the call waits for it\n",
		      out);
	if (is_split(straggler))
		fputs("note: inexact: several aggregators recorded parts of one communicator; "
		      "ranks of different parts are compared only in the newest collectives\n",
		      out);
	if (straggler->nr_alone)
		fprintf(out, "note: %" PRIu32 " communicators with one rank here: left out\n",
			straggler->nr_alone);
	if (straggler->unknown)
		fprintf(out, "note: %s calls on communicators that are not known: left out\n",
			report_summary_count(straggler->unknown, count));
	if (straggler->without_gpu)
		fprintf(out, "note: the kernels of %s calls are not known\n",
			report_summary_count(straggler->without_gpu, count));
}

static void write_communicators(struct table *table, uint32_t top)
{
	const struct report_straggler *straggler = table->straggler;

	communicator_column_heading(&table->names);
	fprintf(table->out, " %10s %12s %9s %12s %9s %12s\n", "ranks", "collectives", "all ranks",
		"compared", "by", "span");
	for (uint32_t i = 0; i < straggler->nr_communicators && i < top; i++)
		write_communicator(table, &straggler->communicators[i]);
	if (straggler->nr_communicators > top)
		fprintf(table->out, "%" PRIu32 " more\n", straggler->nr_communicators - top);
}

static void write_ranks(FILE *out, const struct report_straggler *straggler, uint32_t top)
{
	fprintf(out, "\n%5s  %10s %8s %14s %12s %12s %12s\n", "rank", "last", "share",
		"others waited", "mean", "each time", "waited");
	for (uint32_t i = 0; i < straggler->nr_ranks && i < top; i++)
		write_rank(out, &straggler->ranks[i]);
	if (straggler->nr_ranks > top)
		fprintf(out, "%" PRIu32 " more\n", straggler->nr_ranks - top);
}

int straggler_writer_table(FILE *out, const struct report_straggler *straggler,
			   const struct report_tree *tree, uint32_t top, bool verbose)
{
	char line[STRAGGLER_TEXT_SIZE];
	struct table table;

	if (top == 0)
		top = TOP_DEFAULT;
	begin_table(&table, out, straggler, top, verbose);
	report_summary_title(out, tree);
	if (straggler->nr_communicators)
		write_communicators(&table, top);
	if (straggler->nr_ranks)
		write_ranks(out, straggler, top);
	parallel_writer_table(out, straggler);
	for (uint32_t i = 0; i < straggler->nr_groups && i < top; i++)
		write_group(&table, &straggler->groups[i]);
	for (uint32_t i = 0; i < straggler->nr_named && i < top; i++)
		write_named(&table, &straggler->ranks[i]);
	fputc('\n', out);
	for (uint32_t i = 0; i < straggler->nr_links && i < top; i++)
		write_link(&table, &straggler->links[i]);
	write_notes(out, straggler);
	fprintf(out, "%s\n", straggler_text_line(straggler, line, sizeof(line)));
	report_summary_write(out, tree, "");
	report_summary_notices(out, tree, "");
	return text_file_flush(out);
}

/* ---- JSON and CSV */

static bool is_known(uint32_t number)
{
	return number != COLLECTIVE_NOT_KNOWN;
}

/* JSON has no infinity. */
static double bounded(double number)
{
	return number > 1e9 ? 1e9 : number < -1e9 ? -1e9 : number;
}

static void write_identity(struct row_text *out, const struct report_straggler_rank *rank)
{
	row_text_number(out, "rank", rank->rank >= 0, rank->rank);
	row_text_string(out, "host", rank->host);
	row_text_count(out, "pid", rank->pid);
}

static void write_counts(struct row_text *out, const struct collective_fold *of)
{
	row_text_count(out, "collectives", of->collectives);
	row_text_count(out, "all_ranks", of->complete);
	row_text_count(out, "compared", of->used);
	row_text_count(out, "by_gpu", of->by_gpu);
}

static void write_ground(struct row_text *out, enum straggler_ground ground)
{
	if (ground)
		row_text_string(out, "ground", straggler_text_ground(ground));
	else
		row_text_number(out, "ground", false, 0);
}

/* In CSV each member has its communicator's fields, and the communicator's span. The newest column is the last, so that
 * the others keep their places. */
static void write_member(struct row_text *out,
			 const struct report_straggler_communicator *communicator, uint32_t index,
			 const struct report_straggler_rank *rank)
{
	const struct collective_fold *of = communicator->fold;
	const struct collective_fold_member *member = &of->members[index];
	const struct straggler_subject *found = &communicator->members[index].found;
	bool json = out->form == ROW_JSON;

	if (!json) {
		row_text_print(out, "communicator", "%016" PRIx64, of->key);
		row_text_string(out, "origin", communicator_origin_name(of->origin));
		row_text_number(out, "ranks", is_known(of->nr_ranks), of->nr_ranks);
	}
	row_text_number(out, "communicator_rank", is_known(member->rank), member->rank);
	write_identity(out, rank);
	if (!json)
		write_counts(out, of);
	row_text_count(out, "missing", member->missing);
	row_text_count(out, "span_ns",
		       json ? communicator->members[index].span_ns : communicator->span_ns);
	row_text_count(out, "last", found->last);
	row_text_count(out, "others_wait_ns", found->others_ns);
	row_text_count(out, "wait_ns", found->waited_ns);
	row_text_count(out, "behind_ns", found->behind_ns);
	row_text_number(out, "late_ns", true, found->late_ns);
	row_text_print(out, "share", "%.6f", found->share);
	row_text_print(out, "p", "%.3g", found->p);
	if (json)
		row_text_count(out, "stretches", found->stretches);
	row_text_print(out, "p_stretches", "%.3g", found->p_stretches);
	row_text_print(out, "z", "%.3f", bounded(found->z));
	row_text_flag(out, "late", found->ground);
	write_ground(out, found->ground);
	if (!json)
		row_text_string(out, "name", communicator->name);
}

static void write_communicator_row(struct row_text *out, const void *row)
{
	const struct report_straggler *straggler = out->context;
	const struct report_straggler_communicator *communicator = row;
	const struct collective_fold *of = communicator->fold;

	row_text_print(out, "communicator", "\"%016" PRIx64 "\"", of->key);
	row_text_string(out, "name", communicator->name);
	row_text_string(out, "origin", communicator_origin_name(of->origin));
	row_text_number(out, "ranks", is_known(of->nr_ranks), of->nr_ranks);
	row_text_count(out, "ranks_seen", of->nr_members);
	write_counts(out, of);
	row_text_count(out, "joint", of->joint);
	row_text_count(out, "grouped", of->grouped);
	row_text_count(out, "wait_for_nobody", of->others);
	row_text_count(out, "duplicates", of->duplicates);
	row_text_count(out, "unmatched", of->unmatched);
	row_text_count(out, "span_ns", communicator->span_ns);
	row_text_print(out, "members", "[");
	for (uint32_t i = 0; i < of->nr_members; i++) {
		fputs(i ? ",\n{" : "\n{", out->out);
		write_member(&(struct row_text){.out = out->out}, communicator, i,
			     &straggler->ranks[communicator->members[i].of_rank]);
		fputc('}', out->out);
	}
	fputc(']', out->out);
}

static const char *const intervals[] = {
	[STRAGGLER_RUN] = "run",
	[STRAGGLER_COLLECTIVES] = "collectives",
	[STRAGGLER_LATE] = "late",
};

static void write_cause_row(struct row_text *out, const void *row)
{
	const struct straggler_cause *cause = row;
	char text[STRAGGLER_TEXT_SIZE];

	row_text_string(out, "cause", straggler_text_cause(cause, text, sizeof(text)));
	row_text_string(out, "plane", report_plane_name(cause->plane));
	row_text_string(out, "function", cause->function);
	row_text_string(out, "what", cause->what);
	row_text_string(out, "stack", cause->stack);
	row_text_count(out, "excess_ns", cause->excess_ns);
	row_text_print(out, "share", "%.6f", cause->share);
	row_text_print(out, "launches", "%.6f", cause->launches);
	row_text_string(out, "interval", intervals[cause->extent]);
}

static void write_keeper(struct row_text *out, const struct report_straggler_rank *rank)
{
	const struct report_straggler *straggler = out->context;
	int32_t keeper = -1;

	for (uint32_t i = 0; i < straggler->nr_ranks && rank->kept_by; i++)
		if (straggler->ranks[i].id == rank->kept_by)
			keeper = straggler->ranks[i].rank;
	row_text_number(out, "kept_waiting_by", keeper >= 0, keeper);
}

static void write_rank_row(struct row_text *out, const void *row)
{
	const struct report_straggler_rank *rank = row;

	write_identity(out, rank);
	row_text_flag(out, "late", rank->named);
	row_text_flag(out, "in_late_group", rank->groups);
	write_keeper(out, rank);
	row_text_count(out, "last", rank->last);
	row_text_count(out, "compared", rank->used);
	row_text_count(out, "others_wait_ns", rank->others_ns);
	row_text_print(out, "mean_wait_ns", "%.0f", rank->others_mean_ns);
	row_text_count(out, "wait_ns", rank->waited_ns);
	fputc(',', out->out);
	row_text_json(out->out, "causes", write_cause_row, NULL, rank->causes, rank->nr_causes,
		      sizeof(*rank->causes));
}

static const char *const kinds[] = {
	[STRAGGLER_GROUP_STAGE] = "stage",           [STRAGGLER_GROUP_SWITCH] = "switch",
	[STRAGGLER_GROUP_HOSTS] = "hosts",           [STRAGGLER_GROUP_HOST] = "host",
	[STRAGGLER_GROUP_LOCAL_RANK] = "local_rank", [STRAGGLER_GROUP_PART] = "part",
};

static void write_group_row(struct row_text *out, const void *row)
{
	const struct report_straggler *straggler = out->context;
	const struct report_straggler_group *group = row;
	const struct report_straggler_communicator *of =
		&straggler->communicators[group->communicator];
	const struct straggler_subject *found = &group->group->found;

	row_text_string(out, "kind", kinds[group->group->kind]);
	row_text_string(out, "name", group->name);
	row_text_print(out, "communicator", "\"%016" PRIx64 "\"", of->fold->key);
	row_text_string(out, "communicator_name", of->name);
	row_text_print(out, "ranks", "[");
	for (uint32_t i = 0; i < group->group->nr_members; i++)
		fprintf(out->out, "%s%" PRId32, i ? ", " : "",
			straggler->ranks[of->members[group->group->members[i]].of_rank].rank);
	fputc(']', out->out);
	write_ground(out, found->ground);
	row_text_count(out, "last", found->last);
	row_text_count(out, "others_wait_ns", found->others_ns);
	row_text_number(out, "late_ns", true, found->late_ns);
	row_text_print(out, "share", "%.6f", found->share);
	fputc(',', out->out);
	row_text_json(out->out, "causes", write_cause_row, NULL, group->causes, group->nr_causes,
		      sizeof(*group->causes));
}

static void write_link_row(struct row_text *out, const void *row)
{
	const struct report_straggler *straggler = out->context;
	const struct straggler_link *link = row;

	row_text_print(out, "communicator", "\"%016" PRIx64 "\"", link->fold->key);
	row_text_string(out, "name", communicator_names_of(straggler->names, link->fold->key));
	row_text_string(out, "function", collective_function_name(link->function));
	row_text_count(out, "bytes_below", 1ull << link->size_class);
	row_text_count(out, "calls", link->calls);
	row_text_count(out, "similar", link->nr_similar);
	row_text_count(out, "moves_ns", link->moves_ns);
	row_text_count(out, "usual_ns", link->usual_ns);
	row_text_count(out, "bus_bytes", link->bus_bytes);
}

int straggler_writer_json(FILE *out, const struct report_straggler *straggler,
			  const struct report_tree *tree)
{
	struct row_text counts = {.out = out};
	char line[STRAGGLER_TEXT_SIZE];

	json_text_begin(out, tree->title);
	json_text_member(out, "late", straggler_text_line(straggler, line, sizeof(line)));
	fputc('\n', out);
	json_text_member(out, "summary", report_summary_line(tree, line, REPORT_SUMMARY_SIZE));
	fputc('\n', out);
	row_text_count(&counts, "alone", straggler->nr_alone);
	row_text_count(&counts, "unknown_communicator", straggler->unknown);
	row_text_count(&counts, "without_gpu", straggler->without_gpu);
	fputs(",\n", out);
	row_text_json(out, "groups", write_group_row, straggler, straggler->groups,
		      straggler->nr_groups, sizeof(*straggler->groups));
	fputs(",\n", out);
	parallel_writer_json(out, straggler);
	fputs(",\n", out);
	row_text_json(out, "slow_links", write_link_row, straggler, straggler->links,
		      straggler->nr_links, sizeof(*straggler->links));
	fputs(",\n", out);
	row_text_json(out, "ranks", write_rank_row, straggler, straggler->ranks,
		      straggler->nr_ranks, sizeof(*straggler->ranks));
	fputs(",\n", out);
	row_text_json(out, "communicators", write_communicator_row, straggler,
		      straggler->communicators, straggler->nr_communicators,
		      sizeof(*straggler->communicators));
	fputs("}\n", out);
	return text_file_flush(out);
}

int straggler_writer_csv(FILE *out, const struct report_straggler *straggler,
			 const struct report_tree *tree)
{
	char line[STRAGGLER_TEXT_SIZE];

	struct report_straggler_member member = {0};
	struct collective_fold_member of_fold = {0};
	const struct collective_fold fold = {.members = &of_fold};

	write_member(&(struct row_text){.out = out, .form = ROW_HEADING},
		     &(struct report_straggler_communicator){.fold = &fold, .members = &member}, 0,
		     &(struct report_straggler_rank){0});
	for (uint32_t i = 0; i < straggler->nr_communicators; i++)
		for (uint32_t j = 0; j < straggler->communicators[i].fold->nr_members; j++) {
			const struct report_straggler_communicator *of =
				&straggler->communicators[i];

			fputc('\n', out);
			write_member(&(struct row_text){.out = out, .form = ROW_CSV}, of, j,
				     &straggler->ranks[of->members[j].of_rank]);
		}
	fprintf(out, "\n# %s\n", straggler_text_line(straggler, line, sizeof(line)));
	report_summary_write(out, tree, "# ");
	return text_file_flush(out);
}

#include "straggler_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "absence_text.h"
#include "parallel_writer.h"
#include "straggler_text.h"
#include "unnamed_text.h"

#include "report/model/report_summary.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler_most.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"
#include "report/writers/text_table.h"

#define TOP_DEFAULT 20u
#define ALIKE_MAX   16u /* so many ranks all have a row */
#define COMPARED    4u  /* rows of ranks that are not marked, of more */
#define NUMBER_SIZE 32u
#define MISSING_MAX 8u
#define LINE_SIZE   512u

/* ---- table: communicators */

struct table {
	FILE *out;
	const struct report_straggler *straggler;
	const struct text_form *form;
	bool verbose;
};

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

/* Appends the communicator's ranks that are not in the profile, and those whose collectives are missing. */
static void say_missing(char *line, size_t size, const struct collective_fold *of)
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
		text_line_append(line, size, "%s%" PRIu32, written++ ? ", " : "; not here: rank ",
				 rank);
	}
	written = 0;
	for (uint32_t i = 0; i < of->nr_members && written < MISSING_MAX; i++)
		if (of->members[i].missing && of->members[i].rank != COLLECTIVE_NOT_KNOWN)
			text_line_append(line, size, "%srank %" PRIu32 " in %" PRIu32,
					 written++ ? ", " : "; missing: ", of->members[i].rank,
					 of->members[i].missing);
}

static void say_left_out(char *line, size_t size, uint64_t count, const char *what)
{
	char text[NUMBER_SIZE];

	if (count)
		text_line_append(line, size, "; %s %s", report_summary_count(count, text), what);
}

static void write_communicator(struct text_table *rows, const struct table *table,
			       const struct report_straggler_communicator *communicator)
{
	const struct collective_fold *of = communicator->fold;
	char text[NUMBER_SIZE], line[LINE_SIZE] = "";

	text_table_cell(rows, "%s", communicator->name);
	if (table->verbose)
		text_table_cell(rows, "%016" PRIx64, of->key);
	text_table_cell(rows, "%s", ranks_of(of, text));
	text_table_cell(rows, "%s", report_summary_count(of->collectives, text));
	text_table_cell(rows, "%.2f%%",
			report_summary_percent((double)of->complete, (double)of->collectives));
	text_table_cell(rows, "%s", report_summary_count(of->used, text));
	text_table_cell(rows, "%s", measure_of(of));
	say_missing(line, sizeof(line), of);
	say_left_out(line, sizeof(line), of->joint, "more in a kernel with others");
	say_left_out(line, sizeof(line), of->grouped, "in groups");
	say_left_out(line, sizeof(line), of->others, "calls that wait for nobody");
	say_left_out(line, sizeof(line), of->duplicates, "twice");
	say_left_out(line, sizeof(line), of->unmatched, "calls came too late");
	text_table_cell(rows, "%s", report_summary_time(communicator->span_ns, text));
	text_table_cell(rows, "%s", line);
}

/* ---- table: ranks */

/* Says where the rank runs, and of one that is no cause why it comes late. */
static void write_place(struct text_table *rows, const struct report_straggler *straggler,
			const struct report_straggler_rank *rank)
{
	char line[LINE_SIZE] = "", keeper[LINE_SIZE] = "";

	text_line_append(line, sizeof(line), "%s pid %" PRIu32, rank->host, rank->pid);
	if (straggler->has_jobs && *rank->job)
		text_line_append(line, sizeof(line), " job %s", rank->job);
	if (straggler_text_keeper(keeper, sizeof(keeper), straggler, rank))
		text_line_append(line, sizeof(line), "; %s", keeper);
	else if (rank->excused)
		text_line_append(line, sizeof(line),
				 "; last%s as the schedule of its pipeline has it",
				 unnamed_text_is_schedule(straggler) ? "" : ", perhaps");
	text_table_cell(rows, "%s", line);
}

static void write_rank(struct text_table *rows, const struct report_straggler *straggler,
		       const struct report_straggler_rank *rank)
{
	char text[NUMBER_SIZE] = "-";
	const double each = rank->used ? rank->others_mean_ns / (double)rank->used : 0;

	if (rank->rank >= 0)
		snprintf(text, sizeof(text), "%" PRId32, rank->rank);
	text_table_cell(rows, "%s%s", text, rank->named || rank->groups ? "*" : " ");
	text_table_cell(rows, "%s", report_summary_count(rank->last, text));
	text_table_cell(rows, "%.2f%%",
			report_summary_percent((double)rank->last, (double)rank->used));
	text_table_cell(rows, "%s", report_summary_time(rank->others_ns, text));
	text_table_cell(rows, "%s",
			report_summary_time((uint64_t)llround(rank->others_mean_ns), text));
	text_table_cell(rows, "%s", report_summary_time((uint64_t)llround(each), text));
	text_table_cell(rows, "%s", report_summary_time(rank->waited_ns, text));
	write_place(rows, straggler, rank);
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
		straggler_text_percent(cause->share), report_plane_name(cause->plane),
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
		fputs(scope->is_short
			      ? "  too little is kept of what it did then to tell why\n"
			      : "  nothing that it does more of than the others was recorded\n",
		      out);
		return;
	}
	char late[NUMBER_SIZE];
	fprintf(out,
		"  it did more of this than the median rank %s, when it was %s late on average:\n",
		extents[scope->extent], report_summary_time(scope->late_ns, late));
	for (uint32_t i = 0; i < nr_causes; i++)
		write_cause(out, &causes[i], scope->extent);
}

/* The probabilities by which a subject is named, or not. */
static void write_chances(FILE *out, const struct straggler_subject *found)
{
	fprintf(out,
		"  chance of equal ranks: %.1e, in %" PRIu32
		" of the run's stretches the last: %.1e, of the costliest lumps: %.1e",
		found->p, found->stretches, found->p_stretches, found->p_lumps);
	if (found->ground == STRAGGLER_PHASE)
		fprintf(out, ", of such a part of the run: %.1e", fmin(1, found->p_phase));
	fprintf(out, "; z %.1f\n", found->z);
}

static void write_longest(FILE *out, const struct report_straggler_communicator *on,
			  const struct straggler_subject *found,
			  const struct report_straggler_moment *moment)
{
	const double waiters = straggler_subject_waiters(found, on->fold->nr_members);
	char when[LINE_SIZE] = "", lump[NUMBER_SIZE];

	straggler_text_moment(when, sizeof(when), moment);
	fprintf(out,
		"  the longest of these waits: at %s %" PRIu64 " to %" PRIu64
		"%s each other rank waited %s\n",
		on->is_pipeline ? "stretches" : "collectives", found->lump_from + 1, found->lump_to,
		when, report_summary_time((uint64_t)((double)found->lump_ns / waiters), lump));
}

static void write_found(const struct table *table, const struct report_straggler_communicator *on,
			const struct straggler_subject *found,
			const struct report_straggler_moment *moment)
{
	char late[NUMBER_SIZE], line[STRAGGLER_TEXT_SIZE] = "";
	FILE *out = table->out;

	straggler_text_waits(line, sizeof(line), on, found, moment);
	fprintf(out, "  %s\n", line);
	const bool is_phase = found->ground == STRAGGLER_PHASE;
	const int64_t late_ns = is_phase ? found->part_late_ns : found->late_ns;
	if (found->ground != STRAGGLER_STALL && found->ground != STRAGGLER_HIDDEN && late_ns > 0) {
		fprintf(out, "  %s behind the median rank on average%s",
			report_summary_time((uint64_t)late_ns, late), is_phase ? " there" : "");
		if (!on->is_pipeline && found->behind_ns)
			fprintf(out, "; where it was last, usually %s behind the one before it",
				report_summary_time(found->behind_ns, late));
		fputc('\n', out);
	}
	fprintf(out, "  named because %s (%s)\n", straggler_text_reason(found->ground),
		straggler_text_ground(found->ground));
	if (table->verbose)
		write_chances(out, found);
	if (found->ground == STRAGGLER_LUMPS)
		write_longest(out, on, found, moment);
}

/* Where nobody is named: of the rank for which the others waited most. */
static void write_most(const struct table *table)
{
	const struct report_straggler_most most = report_straggler_most_find(table->straggler);
	char line[STRAGGLER_TEXT_SIZE] = "";

	if (!most.on || table->straggler->nr_named || table->straggler->nr_groups)
		return;
	straggler_text_rank(line, sizeof(line), table->straggler, most.rank);
	fprintf(table->out, "\n%s is not named in collectives of %s\n", line, most.on->name);
	write_chances(table->out, most.found);
}

/* A rank that is late because another one keeps it waiting elsewhere. */
static bool write_victim(const struct table *table, const struct report_straggler_rank *rank,
			 const struct report_straggler_communicator *on)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	straggler_text_rank(line, sizeof(line), table->straggler, rank);
	text_line_append(line, sizeof(line), ": ");
	if (!straggler_text_keeper(line, sizeof(line), table->straggler, rank))
		return false;
	fprintf(table->out, "\n%s; so it comes late to %s%s, and is not the cause\n", line,
		on->is_pipeline ? "" : "those of ", on->name);
	return true;
}

static void write_named(const struct table *table, const struct report_straggler_rank *rank)
{
	const struct report_straggler_communicator *on =
		&table->straggler->communicators[rank->communicator];
	const struct straggler_subject *found = &on->members[rank->member].found;
	char line[STRAGGLER_TEXT_SIZE] = "";

	if (write_victim(table, rank, on))
		return;
	straggler_text_rank(line, sizeof(line), table->straggler, rank);
	fprintf(table->out, "\n%s is late in %s%s\n", line,
		on->is_pipeline ? "" : "collectives of ", on->name);
	write_found(table, on, found, &on->members[rank->member].moment);
	if (rank->link)
		fprintf(table->out,
			"  its collectives of %s take so much longer: a slow link, see below\n",
			communicator_names_of(table->straggler->names, rank->link->fold->key));
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
	write_found(table, on, &group->group->found, &group->moment);
	write_causes(table->out, group->causes, group->nr_causes, &group->scope);
}

static void write_missing_rank(const struct table *table,
			       const struct report_straggler_absence *missing)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	absence_text_append(line, sizeof(line), table->straggler, missing);
	fprintf(table->out, "\n%s%s\n", missing->name, line);
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

static void write_link(const struct table *table, const struct straggler_link *link)
{
	char line[STRAGGLER_TEXT_SIZE] = "", lost[NUMBER_SIZE];

	straggler_text_link(line, sizeof(line), link);
	fprintf(table->out, "slow link: %s %s; %s more in all\n",
		communicator_names_of(table->straggler->names, link->fold->key), line,
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
	if (straggler->pipelines_left_out)
		fputs("note: pipelines of several jobs are not compared: report each job's own "
		      "profile\n",
		      out);
	if (is_split(straggler))
		fputs("note: inexact: several aggregators recorded parts of one communicator; "
		      "ranks of different parts are compared only in the newest collectives\n",
		      out);
	for (uint32_t i = 0; i < straggler->nr_wrong; i++)
		fprintf(out, "note: damaged: %s: left out\n", straggler->wrong[i]);
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

static int write_communicators(const struct table *table, uint32_t top)
{
	const struct report_straggler *straggler = table->straggler;
	struct text_table rows;

	text_table_begin(&rows, table->out, table->form);
	text_table_column(&rows, &(struct text_column){"communicator", 0, 0, true, 0});
	if (table->verbose)
		text_table_column(&rows, &(struct text_column){"key", 16, 2, true, 0});
	text_table_column(&rows, &(struct text_column){"ranks", 10, 1, false, 0});
	text_table_column(&rows, &(struct text_column){"collectives", 12, 1, false, 4});
	text_table_column(&rows, &(struct text_column){"complete", 9, 1, false, 3});
	text_table_column(&rows, &(struct text_column){"compared", 12, 1, false, 0});
	text_table_column(&rows, &(struct text_column){"timed by", 9, 1, false, 1});
	text_table_column(&rows, &(struct text_column){"span", 12, 1, false, 2});
	text_table_column(&rows, &(struct text_column){"", 0, 0, true, 0});
	for (uint32_t i = 0; i < straggler->nr_communicators && i < top; i++)
		write_communicator(&rows, table, &straggler->communicators[i]);
	int result = text_table_end(&rows);
	if (straggler->nr_communicators > top)
		fprintf(table->out, "%" PRIu32 " more\n", straggler->nr_communicators - top);
	return result;
}

/* Returns how many ranks have a row: of many, those that are marked, and a few to compare with. top 0: the usual. */
static uint32_t count_rows(const struct report_straggler *straggler, uint32_t top)
{
	uint32_t marked = 0;

	if (top)
		return top < straggler->nr_ranks ? top : straggler->nr_ranks;
	if (straggler->nr_ranks <= ALIKE_MAX)
		return straggler->nr_ranks;
	for (uint32_t i = 0; i < straggler->nr_ranks; i++)
		if (straggler->ranks[i].named || straggler->ranks[i].groups)
			marked = i + 1;
	return marked + COMPARED < TOP_DEFAULT ? marked + COMPARED : TOP_DEFAULT;
}

/* Says of the ranks without a row how late they are at most. */
static void write_others(FILE *out, const struct report_straggler *straggler, uint32_t rows)
{
	double share = 0, mean_ns = 0;
	char time[NUMBER_SIZE];

	if (rows == straggler->nr_ranks)
		return;
	for (uint32_t i = rows; i < straggler->nr_ranks; i++) {
		const struct report_straggler_rank *rank = &straggler->ranks[i];

		share = fmax(share, report_summary_percent((double)rank->last, (double)rank->used));
		mean_ns = fmax(mean_ns, rank->others_mean_ns);
	}
	fprintf(out,
		"%" PRIu32 " more ranks: each was last in %.2f %% at most, and each other rank "
		"waited %s for it at most\n",
		straggler->nr_ranks - rows, share,
		report_summary_time((uint64_t)llround(mean_ns), time));
}

static int write_ranks(const struct table *table, uint32_t top)
{
	static const struct text_column columns[] = {
		{"rank ", 6, 0, false, 0},        {"last", 10, 1, false, 0},
		{"share", 8, 1, false, 0},        {"others waited", 14, 1, false, 2},
		{"each waited", 12, 1, false, 0}, {"each time", 12, 1, false, 1},
		{"it waited", 12, 1, false, 3},   {"", 0, 2, true, 0},
	};
	const struct report_straggler *straggler = table->straggler;
	const uint32_t count = count_rows(straggler, top);
	struct text_table rows;

	fputc('\n', table->out);
	text_table_begin(&rows, table->out, table->form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		text_table_column(&rows, &columns[i]);
	for (uint32_t i = 0; i < count; i++)
		write_rank(&rows, straggler, &straggler->ranks[i]);
	int result = text_table_end(&rows);
	write_others(table->out, straggler, count);
	return result;
}

int straggler_writer_table(FILE *out, const struct report_straggler *straggler,
			   const struct report_tree *tree, const struct text_form *form,
			   uint32_t top, bool verbose)
{
	const struct table table = {
		.out = out, .straggler = straggler, .form = form, .verbose = verbose};
	char line[STRAGGLER_TEXT_SIZE];
	const uint32_t rows = top;
	int result = 0;

	if (top == 0)
		top = TOP_DEFAULT;
	report_summary_title(out, tree);
	if (straggler->nr_communicators)
		result = write_communicators(&table, top);
	if (result == 0 && straggler->nr_ranks)
		result = write_ranks(&table, rows);
	if (result)
		return result;
	parallel_writer_table(out, straggler);
	for (uint32_t i = 0; i < straggler->nr_missing && i < top; i++)
		write_missing_rank(&table, &straggler->missing[i]);
	for (uint32_t i = 0; i < straggler->nr_groups && i < top; i++)
		write_group(&table, &straggler->groups[i]);
	for (uint32_t i = 0; i < straggler->nr_named && i < top; i++)
		write_named(&table, &straggler->ranks[i]);
	if (verbose)
		write_most(&table);
	if (straggler->nr_communicators)
		fputc('\n', out);
	for (uint32_t i = 0; i < straggler->nr_links && i < top; i++)
		write_link(&table, &straggler->links[i]);
	write_notes(out, straggler);
	fprintf(out, "%s\n", straggler_text_line(straggler, line, sizeof(line)));
	report_summary_write(out, tree, "");
	report_summary_notices(out, tree, "");
	return text_file_flush(out);
}

#include "straggler_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "parallel_writer.h"
#include "straggler_text.h"

#include "report/model/report_summary.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"
#include "report/writers/text_file.h"

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

/* The part of the run for which a subject is named, if it is named for one. */
static void write_part(struct row_text *out, const struct report_straggler_communicator *on,
		       const struct straggler_subject *found,
		       const struct report_straggler_moment *moment)
{
	const bool known = straggler_subject_has_part(found);
	const uint64_t wait_ns = known ? found->lump_ns / (on->fold->nr_members - 1) : 0;

	row_text_number(out, "part_from", known, (int64_t)found->lump_from + 1);
	row_text_number(out, "part_to", known, (int64_t)found->lump_to);
	row_text_number(out, "part_wait_ns", known, (int64_t)wait_ns);
	if (known && found->ground != STRAGGLER_STALL)
		row_text_print(out, "part_p", "%.3g",
			       fmin(1, found->ground == STRAGGLER_PHASE ? found->p_phase
									: found->p_lumps));
	else
		row_text_number(out, "part_p", false, 0);
	row_text_number(out, "part_start_ns", moment->start_ns, (int64_t)moment->start_ns);
	row_text_number(out, "part_end_ns", moment->start_ns, (int64_t)moment->end_ns);
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
	write_part(out, communicator, found, &communicator->members[index].moment);
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
	row_text_count(out, "kernels", cause->kernels);
	row_text_count(out, "of_kernels", cause->of_kernels);
	row_text_print(out, "longer", "%.4f", cause->longer);
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
	row_text_string(out, "job", rank->job);
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
	write_part(out, of, found, &group->moment);
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

static void write_missing_row(struct row_text *out, const void *row)
{
	const struct report_straggler *straggler = out->context;
	const struct report_straggler_absence *missing = row;
	const struct straggler_absence *absence = missing->absence;
	bool first = true;

	row_text_string(out, "name", missing->name);
	row_text_print(out, "ranks", "[");
	for (uint32_t i = 0; i < absence->nr_absent; i++) {
		if (absence->absent[i].rank < 0)
			continue;
		fprintf(out->out, "%s%" PRId32, first ? "" : ", ", absence->absent[i].rank);
		first = false;
	}
	fputc(']', out->out);
	row_text_print(out, "communicator", "\"%016" PRIx64 "\"", absence->key);
	row_text_string(out, "communicator_name",
			communicator_names_of(straggler->names, absence->key));
	row_text_string(out, "function", collective_function_name(absence->function));
	row_text_count(out, "sequence", absence->sequence);
	row_text_count(out, "waiting", absence->nr_waiting);
	row_text_number(out, "waited_ns", absence->waited_ns, (int64_t)absence->waited_ns);
	row_text_flag(out, "ended", missing->ended_ns);
}

static void write_texts(FILE *out, char *const *texts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		fputc(i ? ',' : '[', out);
		json_text_write(out, texts[i]);
	}
	fputs(count ? "]" : "[]", out);
}

int straggler_rows_json(FILE *out, const struct report_straggler *straggler,
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
	if (row_text_field(&counts, "damaged"))
		write_texts(out, straggler->wrong, straggler->nr_wrong);
	fputs(",\n", out);
	row_text_json(out, "groups", write_group_row, straggler, straggler->groups,
		      straggler->nr_groups, sizeof(*straggler->groups));
	fputs(",\n", out);
	parallel_writer_json(out, straggler);
	fputs(",\n", out);
	row_text_json(out, "missing", write_missing_row, straggler, straggler->missing,
		      straggler->nr_missing, sizeof(*straggler->missing));
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

int straggler_rows_csv(FILE *out, const struct report_straggler *straggler)
{
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
	fputc('\n', out);
	return text_file_flush(out);
}

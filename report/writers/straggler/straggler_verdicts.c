#include "straggler_verdicts.h"

#include "absence_text.h"
#include "straggler_text.h"

#include "report/names/communicator_names.h"
#include "report/names/text_line.h"
#include "report/straggler/report_straggler_sums.h"
#include "report/writers/json_text.h"
#include "report/writers/row_text.h"

/* A group or a rank that is late. */
struct verdict {
	const char *name, *more; /* more: the group's ranks */
	const struct report_straggler_communicator *on;
	const struct straggler_subject *found;
	const struct report_straggler_moment *moment;
	const struct straggler_cause *causes;
	uint32_t nr_causes;
};

static void write_cause(struct row_text *out, const void *of)
{
	const struct straggler_cause *cause = of;
	char text[STRAGGLER_TEXT_SIZE];

	row_text_string(out, "text", straggler_text_cause(cause, text, sizeof(text)));
	row_text_print(out, "share", "%.4f", cause->share);
	row_text_count(out, "excess_ns", cause->excess_ns);
	row_text_string(out, "stack", cause->stack);
}

static void write_verdict(FILE *out, const struct verdict *verdict, const char **before)
{
	char line[STRAGGLER_TEXT_SIZE] = "";

	fprintf(out, "%s{", *before);
	*before = ",\n";
	json_text_member(out, "name", verdict->name);
	json_text_member(out, "more", verdict->more);
	straggler_text_waits(line, sizeof(line), verdict->on, verdict->found, verdict->moment);
	json_text_member(out, "text", line);
	row_text_json(out, "causes", write_cause, NULL, verdict->causes, verdict->nr_causes,
		      sizeof(*verdict->causes));
	fputc('}', out);
}

static void write_groups(FILE *out, const struct report_straggler *straggler, const char **before)
{
	for (uint32_t i = 0; i < straggler->nr_groups; i++) {
		const struct report_straggler_group *group = &straggler->groups[i];
		char ranks[STRAGGLER_TEXT_SIZE] = "";

		straggler_text_ranks(ranks, sizeof(ranks), straggler, group);
		write_verdict(
			out,
			&(const struct verdict){group->name, ranks,
						&straggler->communicators[group->communicator],
						&group->group->found, &group->moment, group->causes,
						group->nr_causes},
			before);
	}
}

static void write_ranks(FILE *out, const struct report_straggler *straggler, const char **before)
{
	for (uint32_t i = 0; i < straggler->nr_named; i++) {
		const struct report_straggler_rank *rank = &straggler->ranks[i];
		const struct report_straggler_communicator *on =
			&straggler->communicators[rank->communicator];
		char name[STRAGGLER_TEXT_SIZE] = "";

		straggler_text_rank(name, sizeof(name), straggler, rank);
		write_verdict(out,
			      &(const struct verdict){name, "", on,
						      &on->members[rank->member].found,
						      &on->members[rank->member].moment,
						      rank->causes, rank->nr_causes},
			      before);
	}
}

/* Ranks that never came, and slow links. */
static void write_others(FILE *out, const struct report_straggler *straggler)
{
	const char *before = "";

	fputs("\"others\":[", out);
	for (uint32_t i = 0; i < straggler->nr_missing; i++, before = ",\n") {
		char line[STRAGGLER_TEXT_SIZE] = "";

		text_line_append(line, sizeof(line), "%s", straggler->missing[i].name);
		absence_text_append(line, sizeof(line), straggler, &straggler->missing[i]);
		fputs(before, out);
		json_text_write(out, line);
	}
	for (uint32_t i = 0; i < straggler->nr_links; i++, before = ",\n") {
		char line[STRAGGLER_TEXT_SIZE] = "";

		text_line_append(
			line, sizeof(line), "slow link: %s ",
			communicator_names_of(straggler->names, straggler->links[i].fold->key));
		straggler_text_link(line, sizeof(line), &straggler->links[i]);
		fputs(before, out);
		json_text_write(out, line);
	}
	fputc(']', out);
}

void straggler_verdicts_json(FILE *out, const struct report_straggler *straggler)
{
	const char *before = "";
	char line[STRAGGLER_TEXT_SIZE];

	if (!report_straggler_sums_compared(straggler) && !straggler->nr_missing)
		return;
	fputs("\"straggler\":{", out);
	json_text_member(out, "line", straggler_text_line(straggler, line, sizeof(line)));
	fputs("\"late\":[", out);
	write_groups(out, straggler, &before);
	write_ranks(out, straggler, &before);
	fputs("],\n", out);
	write_others(out, straggler);
	fputs("},\n", out);
}

#include "collectives_writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "row_text.h"
#include "text_file.h"
#include "text_table.h"

#include "report/digest/report_refusal.h"
#include "report/model/report_summary.h"
#include "report/names/communicator_names.h"
#include "report/names/text_line.h"

#define TOP_DEFAULT 20u
#define NUMBER_SIZE 32u
#define NAME_SIZE   48u

/* ---- table */

/* A communicator whose key is not known is named by the place where it was seen. */
static const char *name_of(const struct report_collectives *collectives,
			   const struct report_collective_sum *sum, char text[static NAME_SIZE])
{
	if (sum->key)
		return communicator_names_of(collectives->communicators, sum->key);
	if (sum->function == COLLECTIVE_GROUP)
		return "-";
	if (sum->communicator_id == 0)
		return "none";
	snprintf(text, NAME_SIZE, "%" PRIu32 ".%" PRIu32 " (not known)", sum->pid,
		 sum->communicator_id);
	return text;
}

static const char *ranks_of(const struct report_collective_sum *sum, char text[static NUMBER_SIZE])
{
	if (sum->nr_seen == 0)
		text[0] = '\0';
	else if (sum->nr_ranks == COLLECTIVE_NOT_KNOWN)
		snprintf(text, NUMBER_SIZE, "%" PRIu32, sum->nr_seen);
	else
		snprintf(text, NUMBER_SIZE, "%" PRIu32 " of %" PRIu32, sum->nr_seen, sum->nr_ranks);
	return text;
}

static void write_sum(struct text_table *table, const char *name, bool verbose,
		      const struct report_collective_sum *sum)
{
	char text[NUMBER_SIZE], line[NAME_SIZE + NUMBER_SIZE] = "";

	text_table_cell(table, "%s", report_summary_time(sum->total_ns, text));
	text_table_cell(table, "%s", report_summary_count(sum->calls, text));
	text_table_cell(table, "%s", report_summary_time(sum->total_ns / sum->calls, text));
	text_table_cell(table, "%s", report_summary_time(sum->max_ns, text));
	text_table_cell(table, "%s", report_summary_bytes(sum->bytes, text));
	text_table_cell(table, "%s", ranks_of(sum, text));
	text_table_cell(table, "%s", collective_function_name(sum->function));
	text_table_cell(table, "%s", name);
	if (verbose && sum->key)
		text_table_cell(table, "%016" PRIx64, sum->key);
	else if (verbose)
		text_table_cell(table, "%s", "");
	if (sum->first)
		text_line_append(line, sizeof(line), "%" PRIu64 "..%" PRIu64, sum->first,
				 sum->last);
	if (sum->failed)
		text_line_append(line, sizeof(line), "; %s failed",
				 report_summary_count(sum->failed, text));
	text_table_cell(table, "%s", line);
}

static int write_sums(FILE *out, const struct report_collectives *collectives,
		      const struct text_form *form, uint32_t top, bool verbose)
{
	static const struct text_column columns[] = {
		{"host time", 12, 0, false, 0}, {"calls", 12, 1, false, 0},
		{"mean", 12, 1, false, 2},      {"longest", 12, 1, false, 1},
		{"bytes", 12, 1, false, 3},     {"ranks", 10, 1, false, 4},
		{"function", 14, 2, true, 0},   {"communicator", 0, 1, true, 0},
		{"key", 16, 2, true, 0},        {"sequence", 0, 2, true, 0},
	};
	char name[NAME_SIZE];
	struct text_table table;

	text_table_begin(&table, out, form);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (verbose || strcmp(columns[i].heading, "key") != 0)
			text_table_column(&table, &columns[i]);
	for (uint32_t i = 0; i < collectives->nr_sums && i < top; i++)
		write_sum(&table, name_of(collectives, &collectives->sums[i], name), verbose,
			  &collectives->sums[i]);
	return text_table_end(&table);
}

/* Explains the rows of communicators without a known key. */
static void write_unknown(FILE *out, const struct report_collectives *collectives)
{
	for (uint32_t i = 0; i < collectives->nr_sums; i++)
		if (collectives->sums[i].origin == COMMUNICATOR_MIDDLE &&
		    collectives->sums[i].communicator_id) {
			fputs("note: communicators \"not known\" were made before anybody "
			      "looked: pid and number in the process; sequences are from then "
			      "on\n",
			      out);
			return;
		}
}

int collectives_writer_table(FILE *out, const struct report_collectives *collectives,
			     const struct report_tree *tree, const struct text_form *form,
			     uint32_t top, bool verbose)
{
	char count[NUMBER_SIZE];
	int result = 0;

	if (top == 0)
		top = TOP_DEFAULT;
	report_summary_title(out, tree);
	if (collectives->nr_sums)
		result = write_sums(out, collectives, form, top, verbose);
	else
		fprintf(out, "no call of NCCL is here (%s)\n",
			tree->is_part ? REPORT_REFUSAL_PART : "run --collectives on");
	if (result)
		return result;
	if (collectives->nr_sums > top)
		fprintf(out, "%12s %s more\n", "",
			report_summary_count(collectives->nr_sums - top, count));
	write_unknown(out, collectives);
	fputc('\n', out);
	report_summary_write(out, tree, "");
	report_summary_planes(out, tree, "");
	report_summary_notices(out, tree, "");
	return text_file_flush(out);
}

/* ---- csv */

static void write_known(struct row_text *out, const char *name, uint32_t number)
{
	row_text_number(out, name, number != COLLECTIVE_NOT_KNOWN, number);
}

static void write_key(struct row_text *out, const char *name, uint64_t key)
{
	if (row_text_field(out, name) && key)
		fprintf(out->out, "%016" PRIx64, key);
}

/* The name is apart from these, in the last column, so that the others keep their places. */
static void write_communicator(struct row_text *out, const struct communicator *known)
{
	static const struct communicator unknown = {.nr_ranks = COLLECTIVE_NOT_KNOWN,
						    .rank = COLLECTIVE_NOT_KNOWN};
	const struct communicator *communicator = known ? known : &unknown;

	write_key(out, "communicator", communicator->key);
	row_text_number(out, "communicator_id", known, communicator->communicator_id);
	write_known(out, "ranks", communicator->nr_ranks);
	write_known(out, "communicator_rank", communicator->rank);
	row_text_string(out, "origin", known ? communicator_origin_name(communicator->origin) : "");
	write_key(out, "parent", communicator->parent_key);
}

static void write_call(struct row_text *out, const struct report_collectives *collectives,
		       const struct report_collective *row)
{
	const struct collective *call = row->call;
	const struct collective_gpu *gpu = row->gpu;

	row_text_string(out, "host", collectives->strings[row->host]);
	row_text_count(out, "pid", row->pid);
	row_text_number(out, "rank", row->rank >= 0, row->rank);
	row_text_count(out, "thread", call->tid);
	write_communicator(out, row->communicator);
	row_text_count(out, "sequence", call->sequence);
	row_text_count(out, "function_sequence", call->function_sequence);
	row_text_string(out, "function", collective_function_name(call->function));
	row_text_string(out, "type", collective_type_name(call->data_type));
	row_text_string(out, "op", collective_op_name(call->reduce_op));
	row_text_count(out, "count", call->count);
	row_text_count(out, "bytes", call->bytes);
	write_known(out, "peer", call->peer);
	row_text_count(out, "group", call->group);
	row_text_print(out, "stream", "0x%" PRIx64, call->stream);
	row_text_number(out, "result", true, call->result);
	row_text_count(out, "start_ns", call->start_ns);
	row_text_count(out, "duration_ns", call->duration_ns);
	row_text_count(out, "correlation_id", call->correlation_id);
	row_text_number(out, "gpu_start_ns", gpu->known, (int64_t)gpu->start_ns);
	row_text_number(out, "gpu_ns", gpu->known, (int64_t)gpu->ns);
	row_text_number(out, "device_id", gpu->known, gpu->device_id);
	row_text_stack(out, "stack", collectives->nodes, collectives->strings, row->node);
	row_text_string(out, "name",
			row->communicator ? communicator_names_of(collectives->communicators,
								  row->communicator->key)
					  : "");
}

int collectives_writer_csv(FILE *out, const struct report_collectives *collectives)
{
	static const struct collective call;
	static const struct collective_gpu gpu;

	write_call(&(struct row_text){.out = out, .form = ROW_HEADING}, collectives,
		   &(struct report_collective){.call = &call, .gpu = &gpu});
	for (uint32_t i = 0; i < collectives->nr_calls; i++) {
		fputc('\n', out);
		write_call(&(struct row_text){.out = out, .form = ROW_CSV}, collectives,
			   &collectives->calls[i]);
	}
	fputc('\n', out);
	return text_file_flush(out);
}

const char *collectives_writer_rows(const struct report_collectives *collectives, char *line,
				    size_t size)
{
	uint64_t all = 0;

	*line = '\0';
	for (uint32_t i = 0; i < collectives->nr_sums; i++)
		all += collectives->sums[i].calls;
	if (collectives->nr_calls < all)
		snprintf(line, size,
			 "%" PRIu32 " of %" PRIu64
			 " calls have rows; --collectives has the sums of all",
			 collectives->nr_calls, all);
	return line;
}

/* ---- json */

static void write_sum_row(struct row_text *out, const void *row)
{
	const struct report_collectives *collectives = out->context;
	const struct report_collective_sum *sum = row;
	char key[NUMBER_SIZE] = "";
	bool is_group = sum->function == COLLECTIVE_GROUP;

	if (sum->key)
		snprintf(key, sizeof(key), "%016" PRIx64, sum->key);
	row_text_string(out, "communicator", key);
	row_text_string(out, "name", communicator_names_of(collectives->communicators, sum->key));
	if (!sum->key && !is_group) {
		row_text_string(out, "host", collectives->strings[sum->host]);
		row_text_count(out, "pid", sum->pid);
		row_text_count(out, "communicator_id", sum->communicator_id);
	}
	row_text_string(out, "origin",
			is_group || !sum->communicator_id ? ""
							  : communicator_origin_name(sum->origin));
	row_text_string(out, "function", collective_function_name(sum->function));
	write_known(out, "ranks", sum->nr_ranks);
	row_text_count(out, "ranks_seen", sum->nr_seen);
	row_text_count(out, "calls", sum->calls);
	row_text_count(out, "failed", sum->failed);
	row_text_count(out, "bytes", sum->bytes);
	row_text_count(out, "host_ns", sum->total_ns);
	row_text_count(out, "max_ns", sum->max_ns);
	row_text_count(out, "first_sequence", sum->first);
	row_text_count(out, "last_sequence", sum->last);
	row_text_count(out, "gpu_calls", sum->gpu_calls);
	row_text_count(out, "gpu_ns", sum->gpu_ns);
}

void collectives_writer_json(FILE *out, const struct report_collectives *collectives)
{
	row_text_json(out, "collectives", write_sum_row, collectives, collectives->sums,
		      collectives->nr_sums, sizeof(*collectives->sums));
	fputs(",\n", out);
}

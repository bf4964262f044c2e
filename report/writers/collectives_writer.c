#include "collectives_writer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "csv_writer.h"
#include "json_text.h"
#include "text_file.h"

#include "report/model/report_summary.h"

#define TOP_DEFAULT 20u
#define NUMBER_SIZE 32u
#define NAME_SIZE   48u

/* ---- table */

/* A communicator is called by its key, or else by the place where it was seen. */
static const char *name_of(const struct report_collective_sum *sum, char text[static NAME_SIZE])
{
	if (sum->key)
		snprintf(text, NAME_SIZE, "%016" PRIx64, sum->key);
	else if (sum->function == COLLECTIVE_GROUP)
		snprintf(text, NAME_SIZE, "-");
	else if (sum->communicator_id == 0)
		snprintf(text, NAME_SIZE, "none");
	else
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

static void write_sum(FILE *out, const struct report_collective_sum *sum)
{
	char name[NAME_SIZE], ranks[NUMBER_SIZE], calls[NUMBER_SIZE], bytes[NUMBER_SIZE];
	char total[NUMBER_SIZE], mean[NUMBER_SIZE], max[NUMBER_SIZE], sequence[NAME_SIZE] = "";

	if (sum->first)
		snprintf(sequence, sizeof(sequence), "%" PRIu64 "..%" PRIu64, sum->first,
			 sum->last);
	fprintf(out, "%12s %12s %12s %12s %12s %10s  %-14s %-16s  %s",
		report_summary_time(sum->total_ns, total), report_summary_count(sum->calls, calls),
		report_summary_time(sum->total_ns / sum->calls, mean),
		report_summary_time(sum->max_ns, max), report_summary_bytes(sum->bytes, bytes),
		ranks_of(sum, ranks), collective_function_name(sum->function), name_of(sum, name),
		sequence);
	if (sum->failed)
		fprintf(out, "; %s failed", report_summary_count(sum->failed, calls));
	fputc('\n', out);
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
			     const struct report_tree *tree, uint32_t top)
{
	char line[REPORT_SUMMARY_SIZE], count[NUMBER_SIZE];

	if (top == 0)
		top = TOP_DEFAULT;
	if (*tree->title)
		fprintf(out, "%s\n\n", tree->title);
	fprintf(out, "%12s %12s %12s %12s %12s %10s  %-14s %-16s  %s\n", "host time", "calls",
		"mean", "longest", "bytes", "ranks", "function", "communicator", "sequence");
	for (uint32_t i = 0; i < collectives->nr_sums && i < top; i++)
		write_sum(out, &collectives->sums[i]);
	if (collectives->nr_sums > top)
		fprintf(out, "%12s %s more\n", "",
			report_summary_count(collectives->nr_sums - top, count));
	write_unknown(out, collectives);
	fprintf(out, "\n%s\n", report_summary_line(tree, line, sizeof(line)));
	report_summary_ledger(out, tree, "");
	report_summary_planes(out, tree, "");
	report_summary_notices(out, tree, "");
	return text_file_flush(out);
}

/* ---- csv */

static void write_known(FILE *out, uint32_t number)
{
	csv_writer_number(out, number != COLLECTIVE_NOT_KNOWN, number);
}

static void write_communicator(FILE *out, const struct communicator *communicator)
{
	if (!communicator) {
		fputs(",,,,,,", out);
		return;
	}
	if (communicator->key)
		fprintf(out, "%016" PRIx64, communicator->key);
	fprintf(out, ",%" PRIu32 ",", communicator->communicator_id);
	write_known(out, communicator->nr_ranks);
	write_known(out, communicator->rank);
	fprintf(out, "%s,", communicator_origin_name(communicator->origin));
	if (communicator->parent_key)
		fprintf(out, "%016" PRIx64, communicator->parent_key);
	fputc(',', out);
}

static void write_stack(FILE *out, const struct report_collectives *collectives, uint32_t node)
{
	uint32_t chain[REPORT_DEPTH_MAX], depth = 0;

	for (; node != REPORT_NODE_ROOT && depth < REPORT_DEPTH_MAX;
	     node = collectives->nodes[node].parent)
		chain[depth++] = node;
	fputc('"', out);
	while (depth > 0) {
		const char *text = report_collectives_text(collectives,
							   collectives->nodes[chain[--depth]].name);

		for (; *text; text++)
			fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
		if (depth > 0)
			fputc(';', out);
	}
	fputc('"', out);
}

static void write_call(FILE *out, const struct report_collectives *collectives,
		       const struct report_collective *row)
{
	const struct collective *call = row->call;

	csv_writer_text(out, report_collectives_text(collectives, row->host));
	fprintf(out, ",%" PRIu32 ",", row->pid);
	csv_writer_number(out, row->rank >= 0, row->rank);
	fprintf(out, "%" PRIu32 ",", call->tid);
	write_communicator(out, row->communicator);
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",%s,%s,%s,%" PRIu64 ",%" PRIu64 ",", call->sequence,
		call->function_sequence, collective_function_name(call->function),
		collective_type_name(call->data_type), collective_op_name(call->reduce_op),
		call->count, call->bytes);
	write_known(out, call->peer);
	fprintf(out, "%" PRIu64 ",0x%" PRIx64 ",%" PRId32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",",
		call->group, call->stream, call->result, call->start_ns, call->duration_ns,
		call->correlation_id);
	if (row->gpu->known)
		fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",", row->gpu->start_ns,
			row->gpu->ns, row->gpu->device_id);
	else
		fputs(",,,", out);
	write_stack(out, collectives, row->node);
	fputc('\n', out);
}

int collectives_writer_csv(FILE *out, const struct report_collectives *collectives,
			   const struct report_tree *tree)
{
	char line[REPORT_SUMMARY_SIZE];

	fputs("host,pid,rank,thread,communicator,communicator_id,ranks,communicator_rank,origin,"
	      "parent,sequence,"
	      "function_sequence,function,type,op,count,bytes,peer,group,stream,result,start_ns,"
	      "duration_ns,correlation_id,gpu_start_ns,gpu_ns,device_id,stack\n",
	      out);
	for (uint32_t i = 0; i < collectives->nr_calls; i++)
		write_call(out, collectives, &collectives->calls[i]);
	fprintf(out, "# %s\n", report_summary_line(tree, line, sizeof(line)));
	report_summary_ledger(out, tree, "# ");
	return text_file_flush(out);
}

/* ---- json */

static void write_json_sum(FILE *out, const struct report_collectives *collectives,
			   const struct report_collective_sum *sum)
{
	char key[NUMBER_SIZE] = "";
	bool is_group = sum->function == COLLECTIVE_GROUP;

	if (sum->key)
		snprintf(key, sizeof(key), "%016" PRIx64, sum->key);
	fputc('{', out);
	json_text_member(out, "communicator", key);
	if (!sum->key && !is_group) {
		json_text_member(out, "host", report_collectives_text(collectives, sum->host));
		fprintf(out, "\"pid\":%" PRIu32 ",\"communicator_id\":%" PRIu32 ",", sum->pid,
			sum->communicator_id);
	}
	fprintf(out, "\"origin\":\"%s\",\"function\":\"%s\",",
		is_group || !sum->communicator_id ? "" : communicator_origin_name(sum->origin),
		collective_function_name(sum->function));
	json_text_number(out, "ranks", sum->nr_ranks != COLLECTIVE_NOT_KNOWN, sum->nr_ranks);
	fprintf(out,
		"\"ranks_seen\":%" PRIu32 ",\"calls\":%" PRIu64 ",\"failed\":%" PRIu64
		",\"bytes\":%" PRIu64 ",\"host_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
		",\"first_sequence\":%" PRIu64 ",\"last_sequence\":%" PRIu64
		",\"gpu_calls\":%" PRIu64 ",\"gpu_ns\":%" PRIu64 "}",
		sum->nr_seen, sum->calls, sum->failed, sum->bytes, sum->total_ns, sum->max_ns,
		sum->first, sum->last, sum->gpu_calls, sum->gpu_ns);
}

void collectives_writer_json(FILE *out, const struct report_collectives *collectives)
{
	fputs("\"collectives\":[", out);
	for (uint32_t i = 0; i < collectives->nr_sums; i++) {
		fputs(i ? ",\n" : "\n", out);
		write_json_sum(out, collectives, &collectives->sums[i]);
	}
	fputs("],\n", out);
}

#include "top_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "top_late.h"

#include "report/model/kind_name.h"
#include "report/model/report_tree.h"
#include "report/watch/watch_writer.h"
#include "report/writers/json_text.h"

/* ---- text */

int top_writer_text(FILE *out, struct top_view *view)
{
	static struct top_line line; /* too large for a stack that may be small */
	int error = top_view_show_all(view);

	for (uint32_t i = 0; i < top_view_lines(view) && !error; i++) {
		top_view_line(view, i, &line);
		size_t size = strlen(line.text);

		while (size > 0 && line.text[size - 1] == ' ')
			size--;
		fprintf(out, "%.*s\n", (int)size, line.text);
	}
	return error;
}

/* ---- JSON */

static void write_number(FILE *out, const char *name, int32_t number, int32_t none)
{
	if (number == none)
		fprintf(out, "\"%s\":null,", name);
	else
		fprintf(out, "\"%s\":%" PRId32 ",", name, number);
}

static void write_sums(FILE *out, const char *name, const uint64_t *values, uint64_t window_ns,
		       bool has_busy)
{
	fprintf(out, "\"%s\":{\"window_ns\":%" PRIu64 ",\"records\":%" PRIu64 ",", name, window_ns,
		values[TOP_RECORDS]);
	if (has_busy)
		fprintf(out, "\"busy_ns\":%" PRIu64 ",", values[TOP_BUSY]);
	else
		fputs("\"busy_ns\":null,", out);
	fprintf(out,
		"\"compute_ns\":%" PRIu64 ",\"nccl_ns\":%" PRIu64 ",\"nccl_waits_ns\":%" PRIu64
		",\"memcpy_ns\":%" PRIu64 ",\"memset_ns\":%" PRIu64 ",\"graph_ns\":%" PRIu64 "}",
		values[TOP_COMPUTE], values[TOP_NCCL], values[TOP_WAITS], values[TOP_COPIES],
		values[TOP_FILLS], values[TOP_GRAPHS]);
}

/* Totals, and what is new. */
static void write_figures(FILE *out, const struct top_node *node)
{
	write_sums(out, "totals", node->values, node->window_ns, node->has_busy);
	fputc(',', out);
	if (node->rate_ns && node->is_running)
		write_sums(out, "newest", node->rates, node->rate_ns, node->has_busy);
	else
		fputs("\"newest\":null", out);
}

static void write_children(FILE *out, const struct top_sums *sums, const struct top_facts *facts,
			   uint32_t parent, enum top_level level);

static void write_stream(FILE *out, const struct top_node *node)
{
	fprintf(out, "{\"pid\":%" PRIu32 ",\"context\":%" PRIu32 ",\"stream\":%" PRIu32 ",",
		node->pid, node->context_id, node->stream_id);
	json_text_member(out, "stream_name", node->name);
}

static void write_kernel(FILE *out, const struct top_node *node)
{
	fprintf(out, "{\"kind\":\"%s\",", kind_name_column(node->kind));
	json_text_member(out, "name",
			 node->kind == REPORT_KIND_MEMCPY
				 ? kind_name_detail(node->kind, node->copy_kind)
				 : node->name);
	fprintf(out, "\"count\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"nccl_waits_ns\":%" PRIu64 ",",
		node->values[TOP_RECORDS], node->values[TOP_BUSY], node->values[TOP_WAITS]);
	if (node->rate_ns && node->is_running)
		fprintf(out, "\"newest_count\":%" PRIu64 ",\"newest_ns\":%" PRIu64 "}",
			node->rates[TOP_RECORDS], node->rates[TOP_BUSY]);
	else
		fputs("\"newest_count\":null,\"newest_ns\":null}", out);
}

static void write_late(FILE *out, const struct top_facts *facts, const struct top_node *node)
{
	const struct watch_event *late = top_late_of(facts->late, facts->nr_late, node->rank);

	if (!facts->knows_late)
		fputs("\"late\":null,", out);
	else
		fprintf(out, "\"late\":%s,", late ? "true" : "false");
}

static void write_rank(FILE *out, const struct top_facts *facts, const struct top_node *node)
{
	fputc('{', out);
	write_number(out, "rank", node->rank, REPORT_RANK_NONE);
	json_text_member(out, "host", node->place);
	fprintf(out, "\"pid\":%" PRIu32 ",\"running\":%s,", node->pid,
		node->is_running ? "true" : "false");
	write_late(out, facts, node);
	json_text_time(out, "heard", node->heard_ns);
}

static void write_gpu(FILE *out, const struct top_node *node)
{
	fputc('{', out);
	write_number(out, "gpu", node->gpu, REPORT_GPU_NONE);
	json_text_member(out, "name", node->place);
	json_text_time(out, "heard", node->heard_ns);
	fprintf(out, "\"uncaptured_ns\":%" PRIu64 ",", node->uncaptured_ns);
}

static void write_node(FILE *out, const struct top_sums *sums, const struct top_facts *facts,
		       uint32_t at)
{
	const struct top_node *node = &sums->nodes[at];

	if (node->level == TOP_KERNEL) {
		write_kernel(out, node);
		return;
	}
	if (node->level == TOP_RANK)
		write_rank(out, facts, node);
	else if (node->level == TOP_GPU)
		write_gpu(out, node);
	else
		write_stream(out, node);
	write_figures(out, node);
	fputc(',', out);
	write_children(out, sums, facts, at, node->level + 1);
	fputc('}', out);
}

static void write_children(FILE *out, const struct top_sums *sums, const struct top_facts *facts,
			   uint32_t parent, enum top_level level)
{
	static const char *const names[] = {
		[TOP_RANK] = "ranks",
		[TOP_GPU] = "gpus",
		[TOP_STREAM] = "streams",
		[TOP_KERNEL] = "kernels",
	};
	const char *between = "";

	fprintf(out, "\"%s\":[", names[level]);
	for (uint32_t i = sums->nodes[parent].first; i != TOP_SUMS_NONE; i = sums->nodes[i].next) {
		if (sums->nodes[i].level != level)
			continue;
		fputs(between, out);
		write_node(out, sums, facts, i);
		between = level == TOP_RANK ? ",\n" : ",";
	}
	fputc(']', out);
}

void top_writer_json(FILE *out, const struct top_sums *sums, const struct top_facts *facts)
{
	json_text_begin(out, facts->profile);
	fprintf(out, "\"running\":%s,", facts->is_running ? "true" : "false");
	json_text_member(out, "state", facts->state);
	json_text_time(out, "time", sums->read_ns);
	fputs("\"late\":", out);
	if (!facts->knows_late)
		fputs("null", out);
	for (uint32_t i = 0; i < facts->nr_late; i++) {
		fputc(i ? ',' : '[', out);
		watch_writer_json(out, &facts->late[i]);
	}
	fputs(!facts->knows_late ? "," : facts->nr_late ? "]," : "[],", out);
	write_figures(out, &sums->nodes[0]);
	fprintf(out, ",\"kernels_left_out\":%" PRIu64 ",\n", sums->kernels_left_out);
	write_children(out, sums, facts, 0, TOP_KERNEL);
	fputs(",\n", out);
	write_children(out, sums, facts, 0, TOP_RANK);
	fputs("}\n", out);
}

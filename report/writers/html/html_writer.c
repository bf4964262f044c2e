#include "html_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "html_page.h"

#include "base/hash_index.h"
#include "proto/record.h"
#include "report/writers/text_file.h"

#define VERDICT_MAX           4096u
#define REPLACEMENT_CHARACTER "\xef\xbf\xbd"

/* A set of values by which the reader can split and filter. Each distinct row is written once, and leaves name it by
 * its index. */
struct dimension {
	uint32_t plane, job, step, host;
	int32_t rank, gpu;
	uint32_t context; /* index into strings; 0: it has only its id */
	uint32_t context_id, stream_id, tid;
};

/* Marks host threads. The page knows these numbers, too. */
#define NO_GPU    (-2)
#define NO_STREAM UINT32_MAX /* host threads have no context either */

struct dimension_table {
	struct dimension *rows;
	uint32_t nr_rows;
	struct hash_index index; /* row index + 1 */
	uint32_t *of_leaf;       /* for each leaf: its row's index */
};

/* Writes columns of unsigned numbers as base64 of varints. Most columns have long runs of zeros, so a run is a 0 and
 * its length less one. */
struct column_writer {
	FILE *out;
	uint64_t zeros;   /* length of a run that was not written yet */
	uint32_t pending; /* bytes that were not written yet, first in the highest bits */
	unsigned int nr_pending;
};

static bool has_fields(const void *context, uint32_t id, const void *key)
{
	const struct dimension_table *table = context;

	return memcmp(&table->rows[id - 1], key, sizeof(*table->rows)) == 0;
}

/* Adds the row unless an equal one exists; *index is its index. 0 or -ENOMEM. */
static int dimension_table_add(struct dimension_table *table, const struct dimension *row,
			       uint32_t *index)
{
	uint32_t hash = hash_index_hash(row, sizeof(*row));
	uint32_t id = hash_index_find(&table->index, hash, has_fields, table, row);

	if (!id) {
		id = table->nr_rows + 1;
		if (hash_index_insert(&table->index, hash, id))
			return -ENOMEM;
		table->rows[table->nr_rows++] = *row;
	}
	*index = id - 1;
	return 0;
}

static void dimension_table_fini(struct dimension_table *table)
{
	free(table->rows);
	hash_index_fini(&table->index);
	free(table->of_leaf);
}

static int dimension_table_init(struct dimension_table *table, const struct report_tree *tree)
{
	int error = 0;

	*table = (struct dimension_table){0};
	table->rows = calloc((size_t)tree->nr_leaves + 1, sizeof(*table->rows));
	table->of_leaf = calloc((size_t)tree->nr_leaves + 1, sizeof(*table->of_leaf));
	if (!table->rows || !table->of_leaf)
		error = -ENOMEM;

	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];
		const bool host = leaf->kind >= REPORT_KIND_HOST;
		const struct dimension row = {report_plane_of(leaf->kind),
					      leaf->job,
					      leaf->step,
					      leaf->host,
					      leaf->rank,
					      report_kind_has_gpu(leaf->kind) ? leaf->gpu : NO_GPU,
					      leaf->context,
					      host ? NO_STREAM : leaf->context_id,
					      host ? NO_STREAM : leaf->stream_id,
					      leaf->tid};

		error = dimension_table_add(table, &row, &table->of_leaf[i]);
	}
	if (error)
		dimension_table_fini(table);
	return error;
}

/* Returns the bytes of the well-formed UTF-8 sequence at text, never beyond its NUL; 0: there is none. */
static size_t utf8_length(const unsigned char *text)
{
	size_t length;
	unsigned char low = 0x80, high = 0xbf;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	length = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0; /* shorter forms exist */
	else if (text[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (text[0] == 0xf0)
		low = 0x90; /* shorter forms exist */
	else if (text[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return length;
}

/* U+2028 and U+2029 end a line in older scripts. */
static bool is_line_separator(const unsigned char *text, size_t length)
{
	return length == 3 && text[0] == 0xe2 && text[1] == 0x80 &&
	       (text[2] == 0xa8 || text[2] == 0xa9);
}

/* Writes a JSON string that is also harmless inside an HTML script element: without '<' no end tag and no comment can
 * begin. */
static void write_json_string(FILE *out, const char *string)
{
	const unsigned char *text = (const unsigned char *)(string ? string : "");

	putc('"', out);
	while (*text) {
		size_t length = utf8_length(text);

		if (length == 0)
			fputs("\\ufffd", out);
		else if (is_line_separator(text, length))
			fprintf(out, "\\u20%02x", text[2] & 0x7fu);
		else if (*text < 0x20 || *text == 0x7f || strchr("<>&", *text))
			fprintf(out, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
	putc('"', out);
}

static void write_html_text(FILE *out, const char *string)
{
	const unsigned char *text = (const unsigned char *)(string ? string : "");

	while (*text) {
		size_t length = utf8_length(text);

		if (length == 0)
			fputs(REPLACEMENT_CHARACTER, out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (*text < 0x20 || *text == 0x7f)
			putc(' ', out);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
}

static void write_base64(FILE *out, uint32_t bits, unsigned int nr_bytes)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	bits <<= 8 * (3 - nr_bytes);
	putc(alphabet[bits >> 18 & 63], out);
	putc(alphabet[bits >> 12 & 63], out);
	putc(nr_bytes > 1 ? alphabet[bits >> 6 & 63] : '=', out);
	putc(nr_bytes > 2 ? alphabet[bits & 63] : '=', out);
}

static void put_byte(struct column_writer *writer, uint8_t byte)
{
	writer->pending = writer->pending << 8 | byte;
	if (++writer->nr_pending < 3)
		return;
	write_base64(writer->out, writer->pending, 3);
	writer->pending = 0;
	writer->nr_pending = 0;
}

static void put_varint(struct column_writer *writer, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(writer, (uint8_t)(value | 0x80));
	put_byte(writer, (uint8_t)value);
}

static void end_column(struct column_writer *writer)
{
	if (writer->zeros == 0)
		return;
	put_varint(writer, 0);
	put_varint(writer, writer->zeros - 1);
	writer->zeros = 0;
}

static void put_value(struct column_writer *writer, uint64_t value)
{
	if (value == 0) {
		writer->zeros++;
		return;
	}
	end_column(writer);
	put_varint(writer, value);
}

static void put_signed(struct column_writer *writer, int64_t value)
{
	put_value(writer, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* A node is the distance to its parent less one (children follow parents) and its name. The root is written, too, so
 * that indexes need no shift. */
static void put_nodes(struct column_writer *writer, const struct report_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		put_value(writer, i ? i - tree->nodes[i].parent - 1 : 0);
	end_column(writer);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		put_value(writer, tree->nodes[i].name);
	end_column(writer);
}

/* A text becomes an odd number, and an id an even one. */
static uint64_t context_value(const struct dimension *row)
{
	return row->context ? 2 * (uint64_t)row->context + 1 : 2 * (uint64_t)row->context_id;
}

static void put_dimensions(struct column_writer *writer, const struct dimension_table *table)
{
	for (uint32_t i = 0; i < table->nr_rows; i++) {
		put_value(writer, table->rows[i].plane);
		put_value(writer, table->rows[i].job);
		put_value(writer, table->rows[i].step);
		put_value(writer, table->rows[i].host);
		put_signed(writer, table->rows[i].rank);
		put_signed(writer, table->rows[i].gpu);
		put_value(writer, context_value(&table->rows[i]));
		put_value(writer, table->rows[i].stream_id);
		put_value(writer, table->rows[i].tid);
	}
	end_column(writer);
}

/* A leaf is its node as the difference to the previous leaf's, name, dimension row, count, ns, bytes. */
static void put_leaves(struct column_writer *writer, const struct report_tree *tree,
		       const struct dimension_table *table)
{
	const struct report_leaf *leaves = tree->leaves;
	const uint32_t nr = tree->nr_leaves;

	for (uint32_t i = 0; i < nr; i++)
		put_signed(writer, (int64_t)leaves[i].node - (i ? (int64_t)leaves[i - 1].node : 0));
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, leaves[i].name);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, table->of_leaf[i]);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, leaves[i].count);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, leaves[i].ns);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, leaves[i].bytes);
	end_column(writer);
}

/* Writes count, ns and bytes of a difference's other side. */
static void put_before(struct column_writer *writer, const struct report_diff *diff)
{
	const uint32_t nr = diff->tree.nr_leaves;

	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, diff->before[i].count);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, diff->before[i].ns);
	end_column(writer);
	for (uint32_t i = 0; i < nr; i++)
		put_value(writer, diff->before[i].bytes);
	end_column(writer);
}

/* Writes for each string that of its framework, or 0. */
static void put_frameworks(struct column_writer *writer, const struct report_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_strings; i++)
		put_value(writer, tree->frameworks[i]);
	end_column(writer);
}

/* Returns whether there is anything to fold. */
static bool has_frameworks(const struct report_tree *tree)
{
	for (uint32_t i = 0; tree->frameworks && i < tree->nr_strings; i++)
		if (tree->frameworks[i])
			return true;
	return false;
}

static void write_columns(FILE *out, const struct report_tree *tree,
			  const struct dimension_table *table, const struct report_diff *diff)
{
	struct column_writer writer = {.out = out};

	fprintf(out,
		",\n\"nodes\":%" PRIu32 ",\"dimensions\":%" PRIu32 ",\"leaves\":%" PRIu32
		",\n\"columns\":\"",
		tree->nr_nodes, table->nr_rows, tree->nr_leaves);
	put_nodes(&writer, tree);
	put_dimensions(&writer, table);
	put_leaves(&writer, tree, table);
	if (diff)
		put_before(&writer, diff);
	if (has_frameworks(tree))
		put_frameworks(&writer, tree);
	if (writer.nr_pending)
		write_base64(out, writer.pending, writer.nr_pending);
	putc('"', out);
}

/* 64-bit numbers are written as text, because JavaScript would round them. */
static void write_totals(FILE *out, const struct report_tree *tree)
{
	fprintf(out,
		",\n\"kernels\":\"%" PRIu64 "\",\"kernelNs\":\"%" PRIu64 "\",\"copies\":\"%" PRIu64
		"\",\"copyNs\":\"%" PRIu64 "\",\"graphs\":\"%" PRIu64 "\",\"graphNs\":\"%" PRIu64
		"\",\"matched\":\"%" PRIu64 "\",\"launches\":\"%" PRIu64
		"\",\"launchesFailed\":\"%" PRIu64 "\",\"lost\":\"%" PRIu64 "\"",
		tree->kernels, tree->kernel_ns, tree->copies, tree->copy_ns, tree->graphs,
		tree->graph_ns, tree->matched, tree->launches, tree->launches_failed, tree->lost);
}

/* Writes name, label, count and ns of all planes, in the order of their numbers. */
static void write_planes(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"planes\":[", out);
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++)
		fprintf(out, "%s[\"%s\",\"%s\",\"%" PRIu64 "\",\"%" PRIu64 "\"]", plane ? "," : "",
			report_plane_name((enum report_plane)plane),
			report_plane_label((enum report_plane)plane),
			tree->plane_totals[plane].count, tree->plane_totals[plane].ns);
	putc(']', out);
}

/* Says also what the page cannot show. */
static void write_verdict(FILE *out, const struct report_tree *tree)
{
	const char *verdict = tree->verdict ? tree->verdict : "";
	char text[VERDICT_MAX];
	const char *before = "";

	if (!tree->leaves_given_up) {
		write_json_string(out, verdict);
		return;
	}
	int size =
		snprintf(text, sizeof(text), "%.*s%smore stacks than a page has room for: not by ",
			 (int)sizeof(text) / 2, verdict, *verdict ? "; " : "");
	for (uint32_t i = 0; i < REPORT_DIMENSIONS; i++) {
		if (!(tree->leaves_given_up & 1u << i))
			continue;
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%s%s", before,
				 report_dimension_word((enum report_dimension)i));
		before = ", ";
	}
	snprintf(text + size, sizeof(text) - (size_t)size, " (flamegrid report --by shows each)");
	write_json_string(out, text);
}

static void write_losses(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"losses\":[", out);
	for (uint32_t i = 0; i < tree->nr_losses; i++)
		fprintf(out, "%s[%" PRIu32 ",\"%" PRIu64 "\",\"%" PRIu64 "\",%" PRIu32 ",%d]",
			i ? "," : "", tree->losses[i].reason, tree->losses[i].count,
			tree->losses[i].ns, tree->losses[i].text, tree->losses[i].lost != 0);
	fprintf(out, "],\n\"state\":%d,\"verdict\":", (int)tree->state);
	write_verdict(out, tree);
}

static void write_notices(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"notices\":[", out);
	for (uint32_t i = 0; i < tree->nr_notices; i++)
		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "", tree->notices[i].text,
			tree->notices[i].nr_processes);
	putc(']', out);
}

static void write_processes(FILE *out, const struct report_tree *tree)
{
	bool first = true;

	fprintf(out, ",\n\"processes\":%" PRIu32 ",\"unclean\":[", tree->nr_processes);
	for (uint32_t i = 0; i < tree->nr_processes; i++) {
		const struct report_process *process = &tree->processes[i];

		if (!process->unclean)
			continue;
		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRId32 "]",
			first ? "" : ",", process->host, process->command, process->pid,
			process->rank);
		first = false;
	}
	putc(']', out);
}

static void write_options(FILE *out, const struct html_options *options)
{
	static const char *const weights[] = {"time", "count", "bytes"};
	bool first = true;

	fputs(",\"subtitle\":", out);
	write_json_string(out, options->subtitle);
	fprintf(out, ",\"weight\":\"%s\",\"split\":[", weights[options->weight]);
	for (unsigned int i = 0; i < REPORT_DIMENSIONS; i++) {
		if (!(options->split & 1u << i))
			continue;
		fprintf(out, "%s\"%s\"", first ? "" : ",",
			report_dimension_word((enum report_dimension)i));
		first = false;
	}
	fprintf(out, "],\"user\":%s", options->user_frames ? "true" : "false");
}

static void write_strings(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"strings\":[", out);
	for (uint32_t i = 0; i < tree->nr_strings; i++) {
		if (i)
			fputs(",\n", out);
		write_json_string(out, tree->strings[i]);
	}
	putc(']', out);
}

static void write_profile(FILE *out, const struct report_tree *tree,
			  const struct dimension_table *table, const struct html_options *options)
{
	fputs("{\"version\":1,\"title\":", out);
	write_json_string(out, tree->title);
	fprintf(out, ",\"simulated\":%s,\"steps\":%s", tree->simulated ? "true" : "false",
		tree->steps ? "true" : "false");
	write_options(out, options);
	write_totals(out, tree);
	write_planes(out, tree);
	write_losses(out, tree);
	write_notices(out, tree);
	write_processes(out, tree);
	write_strings(out, tree);
	if (options->diff) {
		fputs(",\n\"diff\":[", out);
		write_json_string(out, options->diff->label_before);
		putc(',', out);
		write_json_string(out, options->diff->label_after);
		putc(']', out);
	}
	fprintf(out, ",\n\"frameworks\":%s", has_frameworks(tree) ? "true" : "false");
	write_columns(out, tree, table, options->diff);
	putc('}', out);
}

static bool nodes_are_valid(const struct report_tree *tree)
{
	if (tree->nr_nodes == 0 || tree->nodes[0].parent != REPORT_NODE_ROOT)
		return false;
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		if ((i && tree->nodes[i].parent >= i) || tree->nodes[i].name >= tree->nr_strings)
			return false;
	return true;
}

static bool tree_is_valid(const struct report_tree *tree)
{
	if (!nodes_are_valid(tree))
		return false;
	for (uint32_t i = 0; tree->frameworks && i < tree->nr_strings; i++)
		if (tree->frameworks[i] >= tree->nr_strings)
			return false;
	for (uint32_t i = 0; i < tree->nr_leaves; i++) {
		const struct report_leaf *leaf = &tree->leaves[i];

		if (leaf->node >= tree->nr_nodes || leaf->name >= tree->nr_strings ||
		    leaf->host >= tree->nr_strings || leaf->step >= tree->nr_strings ||
		    leaf->kind >= REPORT_KINDS)
			return false;
	}
	for (uint32_t i = 0; i < tree->nr_processes; i++)
		if (tree->processes[i].host >= tree->nr_strings ||
		    tree->processes[i].command >= tree->nr_strings)
			return false;
	for (uint32_t i = 0; i < tree->nr_losses; i++)
		if (tree->losses[i].reason >= tree->nr_strings ||
		    tree->losses[i].text >= tree->nr_strings)
			return false;
	for (uint32_t i = 0; i < tree->nr_notices; i++)
		if (tree->notices[i].text >= tree->nr_strings)
			return false;
	return true;
}

static void write_part(FILE *out, const struct html_page_part *part)
{
	fwrite(part->bytes, 1, part->size_bytes, out);
}

int html_writer_write(FILE *out, const struct report_tree *tree, const struct html_options *options)
{
	static const struct html_options defaults = {.weight = FOLDED_TIME};
	struct dimension_table table;

	if (!options)
		options = &defaults;
	if (!tree_is_valid(tree) || (unsigned int)options->weight > FOLDED_BYTES)
		return -EINVAL;
	if (dimension_table_init(&table, tree) < 0)
		return -ENOMEM;

	write_part(out, &html_page_before_title);
	write_html_text(out, tree->title);
	write_part(out, &html_page_before_profile);
	write_profile(out, tree, &table, options);
	write_part(out, &html_page_end);
	dimension_table_fini(&table);
	return text_file_flush(out);
}

#include "html_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base64_file.h"
#include "column_writer.h"
#include "html_page.h"
#include "html_text.h"
#include "notes_writer.h"
#include "strips_writer.h"

#include "base/hash_index.h"
#include "proto/record.h"
#include "report/digest/host_lines.h"
#include "report/metrics/metric_figures.h"
#include "report/names/kernel_class.h"
#include "report/statistics/outlier.h"
#include "report/writers/collectives_writer.h"
#include "report/writers/deflate_file.h"
#include "report/writers/findings_writer.h"
#include "report/writers/json_text.h"
#include "report/writers/json_writer.h"
#include "report/writers/metrics/metrics_writer.h"
#include "report/writers/statistics_writer.h"
#include "report/writers/straggler/straggler_verdicts.h"
#include "report/writers/text_file.h"

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
		const bool host = !report_leaf_has_stream(leaf);
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

/* A node is the distance to its parent less one (children follow parents) and its name. The root is written, too, so
 * that indexes need no shift. */
static void put_nodes(struct column_writer *writer, const struct report_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		column_writer_put(writer, i ? i - tree->nodes[i].parent - 1 : 0);
	column_writer_end(writer);
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		column_writer_put(writer, tree->nodes[i].name);
	column_writer_end(writer);
}

/* A text becomes an odd number, and an id an even one. */
static uint64_t context_value(const struct dimension *row)
{
	return row->context ? 2 * (uint64_t)row->context + 1 : 2 * (uint64_t)row->context_id;
}

static void put_dimensions(struct column_writer *writer, const struct dimension_table *table)
{
	for (uint32_t i = 0; i < table->nr_rows; i++) {
		column_writer_put(writer, table->rows[i].plane);
		column_writer_put(writer, table->rows[i].job);
		column_writer_put(writer, table->rows[i].step);
		column_writer_put(writer, table->rows[i].host);
		column_writer_signed(writer, table->rows[i].rank);
		column_writer_signed(writer, table->rows[i].gpu);
		column_writer_put(writer, context_value(&table->rows[i]));
		column_writer_put(writer, table->rows[i].stream_id);
		column_writer_put(writer, table->rows[i].tid);
	}
	column_writer_end(writer);
}

/* Writes a resource of all leaves, then the part of it that is of medium confidence, and of low. */
static void put_resource(struct column_writer *writer, const struct report_tree *tree,
			 uint32_t resource)
{
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		column_writer_put(writer, tree->leaves[i].amounts[resource]);
	column_writer_end(writer);
	for (int confidence = RESOURCE_MEDIUM; confidence >= RESOURCE_LOW; confidence--) {
		for (uint32_t i = 0; i < tree->nr_leaves; i++)
			column_writer_put(writer, tree->leaves[i].confidence[resource] == confidence
							  ? tree->leaves[i].amounts[resource]
							  : 0);
		column_writer_end(writer);
	}
}

/* A leaf is its node as the difference to the previous leaf's, name, dimension row, count, ns, bytes, resources if
 * any. */
static void put_leaves(struct column_writer *writer, const struct report_tree *tree,
		       const struct dimension_table *table)
{
	const struct report_leaf *leaves = tree->leaves;
	const uint32_t nr = tree->nr_leaves;

	for (uint32_t i = 0; i < nr; i++)
		column_writer_signed(writer, (int64_t)leaves[i].node -
						     (i ? (int64_t)leaves[i - 1].node : 0));
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, leaves[i].name);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, table->of_leaf[i]);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, leaves[i].count);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, leaves[i].ns);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, leaves[i].bytes);
	column_writer_end(writer);
	for (uint32_t i = 0; i < RESOURCES; i++)
		if (report_planes_resources(tree->planes) & 1u << i)
			put_resource(writer, tree, i);
}

/* Writes count, ns and bytes of a difference's other side. */
static void put_before(struct column_writer *writer, const struct report_diff *diff)
{
	const uint32_t nr = diff->tree.nr_leaves;

	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, diff->before[i].count);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, diff->before[i].ns);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer, diff->before[i].bytes);
	column_writer_end(writer);
}

/* Returns whether there is any histogram. */
static bool has_durations(const struct report_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_leaves; i++)
		if (tree->leaves[i].durations.first)
			return true;
	return false;
}

/* Writes for each leaf its number of bins + 1, or 0 if its histogram is not known, then the buckets of all, each as the
 * difference to the one before, and their counts. */
static void put_durations(struct column_writer *writer, const struct report_tree *tree)
{
	struct duration_bin list[DURATION_BUCKETS];
	const uint32_t nr = tree->nr_leaves;
	int64_t last = 0;

	for (uint32_t i = 0; i < nr; i++)
		column_writer_put(writer,
				  tree->leaves[i].has_durations
					  ? duration_bins_list(&tree->leaves[i].durations, list) + 1
					  : 0);
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0, bins = duration_bins_list(&tree->leaves[i].durations, list);
		     j < bins; j++) {
			column_writer_signed(writer, (int64_t)list[j].bucket - last);
			last = list[j].bucket;
		}
	column_writer_end(writer);
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0, bins = duration_bins_list(&tree->leaves[i].durations, list);
		     j < bins; j++)
			column_writer_put(writer, list[j].count);
	column_writer_end(writer);
}

/* Writes for each string that of its framework, or 0. */
static void put_frameworks(struct column_writer *writer, const struct report_tree *tree)
{
	for (uint32_t i = 0; i < tree->nr_strings; i++)
		column_writer_put(writer, tree->frameworks[i]);
	column_writer_end(writer);
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
			  const struct dimension_table *table, const struct report_diff *diff,
			  const struct time_strips *strips, const struct report_piece *pieces)
{
	struct column_writer writer = {.out = out};

	put_nodes(&writer, tree);
	put_dimensions(&writer, table);
	put_leaves(&writer, tree, table);
	if (diff)
		put_before(&writer, diff);
	if (has_frameworks(tree))
		put_frameworks(&writer, tree);
	if (has_durations(tree))
		put_durations(&writer, tree);
	if (strips)
		strips_writer_columns(&writer, strips);
	if (strips && pieces)
		strips_writer_boxes(&writer, strips, pieces);
}

/* 64-bit numbers are written as text, because JavaScript would round them. */
static void write_totals(FILE *out, const struct report_tree *tree)
{
	fprintf(out,
		",\n\"kernels\":\"%" PRIu64 "\",\"kernelNs\":\"%" PRIu64 "\",\"copies\":\"%" PRIu64
		"\",\"copyNs\":\"%" PRIu64 "\",\"fills\":\"%" PRIu64 "\",\"memsetNs\":\"%" PRIu64
		"\",\"pauseNs\":\"%" PRIu64 "\",\"graphs\":\"%" PRIu64 "\",\"graphNs\":\"%" PRIu64
		"\",\"matched\":\"%" PRIu64 "\",\"launches\":\"%" PRIu64
		"\",\"launchesFailed\":\"%" PRIu64 "\",\"lost\":\"%" PRIu64 "\"",
		tree->kernels, tree->kernel_ns, tree->copies, tree->copy_ns, tree->fills,
		tree->memset_ns, tree->pause_ns, tree->graphs, tree->graph_ns, tree->matched,
		tree->launches, tree->launches_failed, tree->lost);
}

/* Writes name, label, count, ns and energy of all planes, in the order of their numbers. Of use that is its first
 * resource. */
static void write_planes(FILE *out, const struct report_tree *tree)
{
	fputs(",\n\"planes\":[", out);
	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++)
		fprintf(out, "%s[\"%s\",\"%s\",\"%" PRIu64 "\",\"%" PRIu64 "\",\"%" PRIu64 "\"]",
			plane ? "," : "", report_plane_name((enum report_plane)plane),
			report_plane_label((enum report_plane)plane),
			tree->plane_totals[plane].count, tree->plane_totals[plane].ns,
			tree->plane_totals[plane]
				.amounts[plane == REPORT_PLANE_USE ? RESOURCE_SM
								   : RESOURCE_ENERGY]);
	putc(']', out);
}

/* Writes name, label and unit of the resources whose plane is here. */
static void write_resources(FILE *out, const struct report_tree *tree)
{
	static const char *const units[] = {
		[RESOURCE_MJ] = "mJ", [RESOURCE_NS] = "ns", [RESOURCE_BYTES] = "B"};
	const char *separator = "";

	fputs(",\n\"resources\":[", out);
	for (uint32_t i = 0; i < RESOURCES; i++) {
		if (!(report_planes_resources(tree->planes) & 1u << i))
			continue;
		fprintf(out, "%s[\"%s\",\"%s\",\"%s\"]", separator, resource_name((enum resource)i),
			resource_label((enum resource)i), units[resource_unit((enum resource)i)]);
		separator = ",";
	}
	putc(']', out);
}

static void write_options(FILE *out, const struct html_options *options)
{
	static const char *const weights[] = {"time", "count", "bytes"};
	bool first = true;

	fputs(",\"subtitle\":", out);
	html_text_json(out, options->subtitle);
	fprintf(out, ",\"weight\":\"%s\",\"split\":[",
		options->weight < FOLDED_RESOURCE
			? weights[options->weight]
			: resource_name((enum resource)(options->weight - FOLDED_RESOURCE)));
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
		html_text_json(out, tree->strings[i]);
	}
	putc(']', out);
}

/* Returns "gemm" of "[GPU0_Kernel]gemm"; NULL: the text names no kernel. */
static const char *kernel_of(const char *text)
{
	static const char end[] = "_Kernel]";
	const char *close = strncmp(text, "[GPU", 4) == 0 ? strchr(text, ']') : NULL;
	const size_t size = close ? (size_t)(close + 1 - text) : 0;

	return size >= sizeof(end) && memcmp(close + 2 - sizeof(end), end, sizeof(end) - 1) == 0
		       ? close + 1
		       : NULL;
}

/* Writes the words of all classes of kernels, then each string that names a kernel, with the index of its class. The
 * page knows no pattern, because those of users could keep it busy for ever. */
static void write_classes(FILE *out, const struct report_tree *tree)
{
	const char *before = "";

	fputs(",\n\"kernelClasses\":[", out);
	for (uint32_t i = 0; i < KERNEL_CLASSES && kernel_class_word((enum kernel_class)i); i++) {
		fputs(i ? "," : "", out);
		html_text_json(out, kernel_class_word((enum kernel_class)i));
	}
	fputs("],\n\"kernelsOfClasses\":[", out);
	for (uint32_t i = 0; i < tree->nr_strings; i++) {
		const char *kernel = kernel_of(tree->strings[i]);

		if (!kernel)
			continue;
		fprintf(out, "%s[%" PRIu32 ",%d]", before, i, (int)kernel_class_of(kernel));
		before = ",";
	}
	putc(']', out);
}

/* Writes which rank stands out from the others (outlier.h). */
static void write_outliers(FILE *out)
{
	uint32_t nr;
	const struct outlier_bound *bounds = outlier_bounds(&nr);

	fputs(",\n\"outliers\":[", out);
	for (uint32_t i = 0; i < nr; i++)
		fprintf(out, "%s[%" PRIu32 ",%g]", i ? "," : "", bounds[i].count, bounds[i].z_max);
	putc(']', out);
}

/* Writes the lines of helpers, each with the line that calls it. */
static void write_callers(FILE *out, const struct host_callers *callers)
{
	const char *before = "";

	fputs(",\n\"callers\":[", out);
	for (uint32_t i = 0; i < callers->nr; i++) {
		const uint32_t caller = host_callers_of(callers, i);

		if (caller == 0)
			continue;
		fprintf(out, "%s[%" PRIu32 ",%" PRIu32 "]", before, i, caller);
		before = ",";
	}
	putc(']', out);
}

/* Returns 0 or -ENOMEM, as those below. */
static int write_metrics(FILE *out, const struct report_tree *tree)
{
	char type[METRIC_FIGURES_TYPE];

	if (!tree->metrics)
		return 0;
	const int error = metrics_writer_json(out, tree);
	json_text_member(out, "tensor_type", metric_figures_type(tree->metrics, type));
	return error;
}

/* Writes what the page's tables show beside the leaves. Numbers above 2^53 are rounded there. */
static int write_tables(FILE *out, const struct report_tree *tree,
			const struct html_options *options)
{
	int error = 0;

	fputs(",\n", out);
	if (options->statistics) {
		json_writer_steps(out, tree, options->busy, options->statistics);
		statistics_writer_json(out, options->statistics);
	}
	if (options->collectives)
		collectives_writer_json(out, options->collectives);
	if (options->busy)
		json_writer_devices(out, options->busy);
	if (options->findings)
		findings_writer_json(out, options->findings);
	if (options->straggler)
		straggler_verdicts_json(out, options->straggler);
	json_writer_memory(out, tree);
	if (!options->diff)
		error = write_metrics(out, tree);
	if (options->strips)
		strips_writer_json(out, options->strips, options->pieces != NULL, options->path);
	return error;
}

static int write_profile(FILE *out, const struct report_tree *tree,
			 const struct dimension_table *table, const struct host_callers *callers,
			 const struct html_options *options)
{
	fputs("{\"version\":1,\"title\":", out);
	html_text_json(out, tree->title);
	fprintf(out, ",\"simulated\":%s,\"steps\":%s", tree->simulated ? "true" : "false",
		tree->steps ? "true" : "false");
	write_options(out, options);
	write_totals(out, tree);
	write_planes(out, tree);
	notes_writer_json(out, tree);
	write_strings(out, tree);
	write_classes(out, tree);
	write_outliers(out);
	if (options->diff) {
		fputs(",\n\"diff\":[", out);
		html_text_json(out, options->diff->label_before);
		putc(',', out);
		html_text_json(out, options->diff->label_after);
		putc(']', out);
		if (options->unit && options->units > 0)
			fprintf(out, ",\n\"unit\":[\"%s\",%.17g]", options->unit, options->units);
		if (options->step) {
			fputs(",\n\"step\":", out);
			html_text_json(out, options->step);
		}
	}
	fprintf(out, ",\n\"frameworks\":%s,\"hasDurations\":%s",
		has_frameworks(tree) ? "true" : "false", has_durations(tree) ? "true" : "false");
	write_resources(out, tree);
	write_callers(out, callers);
	const int error = write_tables(out, tree, options);
	fprintf(out, "\"nodes\":%" PRIu32 ",\"dimensions\":%" PRIu32 ",\"leaves\":%" PRIu32 "}",
		tree->nr_nodes, table->nr_rows, tree->nr_leaves);
	putc('\0', out);
	write_columns(out, tree, table, options->diff, options->strips, options->pieces);
	return error;
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
	struct host_callers callers;
	FILE *base64 = NULL, *stream = NULL;

	if (!options)
		options = &defaults;
	if (!tree_is_valid(tree) || (unsigned int)options->weight >= FOLDED_WEIGHTS ||
	    (options->weight >= FOLDED_RESOURCE &&
	     !(report_planes_resources(tree->planes) & 1u << (options->weight - FOLDED_RESOURCE))))
		return -EINVAL;
	if (dimension_table_init(&table, tree) < 0)
		return -ENOMEM;
	/* Neither file writes before the profile does. */
	if (host_lines_callers_init(&callers, tree, REPORT_PLANE_GPU) == 0)
		base64 = base64_file_open(out);
	if (base64)
		stream = deflate_file_open(base64, DEFLATE_ZLIB);
	if (!stream) {
		if (base64)
			fclose(base64);
		host_callers_fini(&callers);
		dimension_table_fini(&table);
		return -ENOMEM;
	}

	write_part(out, &html_page_before_title);
	html_text_write(out, tree->title);
	write_part(out, &html_page_before_profile);
	const int error = write_profile(stream, tree, &table, &callers, options);
	fclose(stream);
	fclose(base64);
	write_part(out, &html_page_end);
	host_callers_fini(&callers);
	dimension_table_fini(&table);
	return error ? error : text_file_flush(out);
}

#include "speedscope_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "leaf_sums.h"
#include "name_sources.h"
#include "text_file.h"

struct writer {
	FILE *out;
	const struct speedscope_input *input;
	struct report_by by;
	struct leaf_sums sums;
	struct name_sources *sources; /* owns */
	uint32_t *frames;             /* owns; by string: index of its frame + 1; 0: not used yet */
	uint32_t *used;               /* owns; the strings of the frames */
	uint32_t nr_frames;
};

static uint64_t weight_of(const struct writer *writer, const struct leaf_sum *sum)
{
	return writer->input->weight == FOLDED_COUNT   ? sum->count
	       : writer->input->weight == FOLDED_BYTES ? sum->bytes
						       : sum->ns;
}

static void write_frame(struct writer *writer, uint32_t string)
{
	if (!writer->frames[string]) {
		writer->used[writer->nr_frames++] = string;
		writer->frames[string] = writer->nr_frames;
	}
	fprintf(writer->out, "%" PRIu32, writer->frames[string] - 1);
}

/* Returns the end of the sums of one profile. */
static uint32_t end_of_profile(const struct writer *writer, uint32_t begin)
{
	const struct leaf_sum *sums = writer->sums.sums;
	uint32_t end = begin;

	while (end < writer->sums.nr_sums && sums[end].plane == sums[begin].plane &&
	       memcmp(sums[end].values, sums[begin].values, sizeof(sums[begin].values)) == 0)
		end++;
	return end;
}

static uint32_t nr_profiles(const struct writer *writer)
{
	uint32_t nr = 0;

	for (uint32_t begin = 0; begin < writer->sums.nr_sums;
	     begin = end_of_profile(writer, begin))
		nr++;
	return nr;
}

/* Fills sums. */
static int make_sums(struct writer *writer)
{
	const struct speedscope_input *input = writer->input;
	int error;

	if (input->by && input->by->nr_dimensions) {
		writer->by = *input->by;
		return leaf_sums_init(&writer->sums, input->tree, &writer->by);
	}
	writer->by = (struct report_by){.nr_dimensions = 2,
					.dimensions = {REPORT_BY_HOST, REPORT_BY_GPU}};
	error = leaf_sums_init(&writer->sums, input->tree, &writer->by);
	if (error || nr_profiles(writer) <= SPEEDSCOPE_PROFILES_MAX)
		return error;
	leaf_sums_fini(&writer->sums);
	writer->by.nr_dimensions = 0;
	return leaf_sums_init(&writer->sums, input->tree, &writer->by);
}

/* "node01 GPU0", "cpu node01 no GPU", "all"; sum NULL: there is nothing, which is one profile, too. */
static void write_name(const struct writer *writer, const struct leaf_sum *sum)
{
	const struct report_tree *tree = writer->input->tree;
	char *name = NULL, number[LEAF_SUMS_TEXT_SIZE];
	size_t size;

	if (!sum) {
		json_text_write(writer->out, "nothing");
		return;
	}
	FILE *text = open_memstream(&name, &size);

	if (!text)
		return;
	if (tree->planes & (tree->planes - 1))
		fprintf(text, "%s ", report_plane_name((enum report_plane)sum->plane));
	for (uint32_t i = 0; i < writer->by.nr_dimensions; i++)
		fprintf(text, "%s%s", i ? " " : "",
			report_dimension_frame(tree, writer->by.dimensions[i], sum->values[i],
					       number, sizeof(number)));
	fputs(writer->by.nr_dimensions ? "" : "all", text);
	fclose(text);
	json_text_write(writer->out, name ? name : "");
	free(name);
}

/* A frame of a sample is a number; the outermost comes first. */
static void write_sample(struct writer *writer, const struct leaf_sum *sum)
{
	const struct report_tree *tree = writer->input->tree;
	uint32_t chain[REPORT_DEPTH_MAX];

	fputc('[', writer->out);
	for (uint32_t depth = report_tree_path(tree->nodes, sum->node, chain); depth > 0; depth--) {
		write_frame(writer, tree->nodes[chain[depth - 1]].name);
		fputc(',', writer->out);
	}
	write_frame(writer, sum->name);
	fputc(']', writer->out);
}

/* Paths without weight are left out, as a kernel moves no bytes. */
static void write_profile(struct writer *writer, uint32_t begin, uint32_t end)
{
	static const char *const units[] = {
		[FOLDED_TIME] = "nanoseconds", [FOLDED_COUNT] = "none", [FOLDED_BYTES] = "bytes"};
	const struct leaf_sum *sums = writer->sums.sums;
	FILE *out = writer->out;
	const char *before = "";
	uint64_t total = 0;

	for (uint32_t i = begin; i < end; i++)
		total += weight_of(writer, &sums[i]);
	fputs("{\"type\":\"sampled\",\"name\":", out);
	write_name(writer, begin < end ? &sums[begin] : NULL);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		units[writer->input->weight], total);
	for (uint32_t i = begin; i < end; i++) {
		if (!weight_of(writer, &sums[i]))
			continue;
		fputs(before, out);
		write_sample(writer, &sums[i]);
		before = ",\n";
	}
	fputs("],\n\"weights\":[", out);
	before = "";
	for (uint32_t i = begin; i < end; i++) {
		if (!weight_of(writer, &sums[i]))
			continue;
		fprintf(out, "%s%" PRIu64, before, weight_of(writer, &sums[i]));
		before = ",";
	}
	fputs("]}", out);
}

static void write_frames(struct writer *writer)
{
	FILE *out = writer->out;

	fputs("\"shared\":{\"frames\":[", out);
	for (uint32_t i = 0; i < writer->nr_frames; i++) {
		const char *name = writer->input->tree->strings[writer->used[i]];
		const struct name_source source = name_sources_find(writer->sources, name);
		char first[2] = "", *whole = NULL;
		const char *rest = leaf_sums_name(name, first);

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		if (*first && asprintf(&whole, "%s%s", first, rest) < 0)
			whole = NULL;
		json_text_write(out, whole ? whole : name);
		free(whole);
		if (*source.file) {
			fputs(",\"file\":", out);
			json_text_write(out, source.file);
		}
		if (source.line)
			fprintf(out, ",\"line\":%" PRIu64, source.line);
		fputc('}', out);
	}
	fputs("]}", out);
}

static void write_all(struct writer *writer)
{
	uint32_t begin = 0, end;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n",
	      writer->out);
	json_text_member(writer->out, "exporter", "flamegrid " FLAMEGRID_VERSION);
	json_text_member(writer->out, "name", writer->input->tree->title);
	fputs("\n\"profiles\":[", writer->out);
	do {
		end = end_of_profile(writer, begin);
		fputs(begin ? ",\n" : "\n", writer->out);
		write_profile(writer, begin, end);
		begin = end;
	} while (begin < writer->sums.nr_sums);
	fputs("],\n", writer->out);
	write_frames(writer);
	fputs("}\n", writer->out);
}

int speedscope_writer_write(FILE *out, const struct speedscope_input *input)
{
	struct writer writer = {.out = out, .input = input};
	int error = name_sources_create(input->profile, input->options, &writer.sources);

	if (!error)
		error = make_sums(&writer);
	if (!error) {
		writer.frames = calloc(input->tree->nr_strings + 1ul, sizeof(*writer.frames));
		writer.used = calloc(input->tree->nr_strings + 1ul, sizeof(*writer.used));
		error = writer.frames && writer.used ? 0 : -ENOMEM;
	}
	if (!error)
		write_all(&writer);
	leaf_sums_fini(&writer.sums);
	name_sources_destroy(writer.sources);
	free(writer.frames);
	free(writer.used);
	return error ? error : text_file_flush(out);
}

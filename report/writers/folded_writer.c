#include "folded_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

#include "base/hash_index.h"

/* A line: its key, which is compared as bytes, and its amounts. */
struct line {
	uint32_t values[REPORT_DIMENSIONS]; /* of the wanted dimensions, in their order */
	uint32_t node, name;
	uint64_t weight;
	enum resource_confidence confidence; /* of a resource: of several leaves the least */
	char *text;                          /* owns */
};

struct lines {
	struct line *lines;
	uint32_t count;
	struct hash_index index; /* holds indexes of lines, + 1 */
};

static bool line_equals(const void *context, uint32_t id, const void *key)
{
	const struct lines *lines = context;

	return memcmp(&lines->lines[id - 1], key, offsetof(struct line, weight)) == 0;
}

static uint64_t weight_of(const struct report_leaf *leaf, enum folded_weight weight)
{
	return weight == FOLDED_COUNT      ? leaf->count
	       : weight == FOLDED_BYTES    ? leaf->bytes
	       : weight >= FOLDED_RESOURCE ? leaf->amounts[weight - FOLDED_RESOURCE]
					   : leaf->ns;
}

/* CUPTI tells no duration of a page fault of the host, so its line has only a count. */
static bool is_moment(const struct report_leaf *leaf, const struct folded_options *options)
{
	return options->weight == FOLDED_TIME && leaf->kind == REPORT_KIND_UNIFIED;
}

static void lower(struct line *line, uint8_t confidence)
{
	if (confidence < line->confidence)
		line->confidence = (enum resource_confidence)confidence;
}

static int add_leaf(struct lines *lines, const struct report_leaf *leaf,
		    const struct folded_options *options)
{
	uint64_t weight = weight_of(leaf, options->weight);
	struct line line;

	if (weight == 0 && !is_moment(leaf, options))
		return 0;
	memset(&line, 0, sizeof(line));
	line.confidence = RESOURCE_HIGH;
	for (uint32_t i = 0; i < options->by.nr_dimensions; i++)
		line.values[i] = report_dimension_value(leaf, options->by.dimensions[i]);
	line.node = leaf->node;
	line.name = leaf->name;
	uint32_t hash = hash_index_hash(&line, offsetof(struct line, weight));
	uint32_t id = hash_index_find(&lines->index, hash, line_equals, lines, &line);
	if (!id) {
		id = lines->count + 1;
		if (hash_index_insert(&lines->index, hash, id))
			return -ENOMEM;
		lines->lines[lines->count++] = line;
	}
	struct line *found = &lines->lines[id - 1];
	found->weight += weight;
	if (options->weight >= FOLDED_RESOURCE)
		lower(found, leaf->confidence[options->weight - FOLDED_RESOURCE]);
	return 0;
}

void folded_writer_frame(FILE *out, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, ";\\");

		fwrite(text, 1, plain, out);
		text += plain;
		if (!*text)
			return;
		fputs(folded_writer_escape(*text++), out);
	}
}

void folded_writer_path(FILE *out, const struct report_tree *tree, uint32_t node)
{
	uint32_t chain[REPORT_DEPTH_MAX];

	for (uint32_t depth = report_tree_path(tree->nodes, node, chain); depth > 0; depth--) {
		folded_writer_frame(out, tree->strings[tree->nodes[chain[depth - 1]].name]);
		fputc(';', out);
	}
}

static int make_text(const struct report_tree *tree, const struct folded_options *options,
		     struct line *line)
{
	char number[32];
	size_t size;
	FILE *out = open_memstream(&line->text, &size);

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->by.nr_dimensions; i++) {
		folded_writer_frame(out, report_dimension_frame(tree, options->by.dimensions[i],
								line->values[i], number,
								sizeof(number)));
		fputc(';', out);
	}
	folded_writer_path(out, tree, line->node);
	folded_writer_frame(out, tree->strings[line->name]);
	if (line->confidence != RESOURCE_HIGH)
		fprintf(out, " (%s)", resource_confidence_word(line->confidence));
	return fclose(out) ? -ENOMEM : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* Different values may have the same name, such as two hosts of one name. Lines with equal text are merged. */
static void merge_equal(struct lines *lines)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lines->count; i++) {
		if (count > 0 && strcmp(lines->lines[count - 1].text, lines->lines[i].text) == 0) {
			lines->lines[count - 1].weight += lines->lines[i].weight;
			free(lines->lines[i].text);
		} else {
			lines->lines[count++] = lines->lines[i];
		}
	}
	lines->count = count;
}

static int make_lines(struct lines *lines, const struct report_tree *tree,
		      const struct folded_options *options)
{
	int error = 0;

	lines->lines = calloc(tree->nr_leaves ? tree->nr_leaves : 1, sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nr_leaves && !error; i++)
		error = add_leaf(lines, &tree->leaves[i], options);
	for (uint32_t i = 0; i < lines->count && !error; i++)
		error = make_text(tree, options, &lines->lines[i]);
	if (error)
		return error;
	if (lines->count)
		qsort(lines->lines, lines->count, sizeof(*lines->lines), by_text);
	merge_equal(lines);
	return 0;
}

uint64_t folded_writer_round(uint64_t weight, const struct folded_options *options)
{
	if (options->weight != FOLDED_TIME || options->unit == FOLDED_NS)
		return weight;
	return weight / 1000 + (weight % 1000 >= 500);
}

int folded_writer_write(FILE *out, const struct report_tree *tree,
			const struct folded_options *options)
{
	static const struct folded_options defaults;
	struct lines lines = {0};

	if (!options)
		options = &defaults;
	int error = make_lines(&lines, tree, options);
	for (uint32_t i = 0; i < lines.count && !error; i++)
		fprintf(out, "%s %" PRIu64 "\n", lines.lines[i].text,
			folded_writer_round(lines.lines[i].weight, options));
	if (!error)
		error = text_file_flush(out);
	for (uint32_t i = 0; i < lines.count; i++)
		free(lines.lines[i].text);
	free(lines.lines);
	hash_index_fini(&lines.index);
	return error;
}

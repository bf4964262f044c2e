#include "diff_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

struct line {
	char *text; /* owns */
	uint64_t before, after;
};

static int make_text(const struct report_tree *tree, const struct report_leaf *leaf, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	if (!out)
		return -ENOMEM;
	folded_writer_path(out, tree, leaf->node);
	folded_writer_frame(out, tree->strings[leaf->name]);
	return fclose(out) ? -ENOMEM : 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static int make_lines(const struct report_diff *diff, enum folded_weight weight, struct line *lines,
		      uint32_t *count)
{
	int error = 0;

	for (uint32_t i = 0; i < diff->tree.nr_leaves && !error; i++) {
		const struct report_leaf *leaf = &diff->tree.leaves[i];
		const struct report_diff_amount *before = &diff->before[i];
		struct line line = {NULL, before->ns, leaf->ns};

		if (weight == FOLDED_COUNT)
			line = (struct line){NULL, before->count, leaf->count};
		else if (weight == FOLDED_BYTES)
			line = (struct line){NULL, before->bytes, leaf->bytes};
		if (line.before == 0 && line.after == 0)
			continue;
		error = make_text(&diff->tree, leaf, &line.text);
		lines[(*count)++] = line;
	}
	return error;
}

int diff_writer_folded(FILE *out, const struct report_diff *diff,
		       const struct folded_options *options)
{
	static const struct folded_options defaults;
	struct line *lines = calloc(diff->tree.nr_leaves + 1ul, sizeof(*lines));
	uint32_t count = 0;
	int error = -ENOMEM;

	if (!options)
		options = &defaults;
	if (lines)
		error = make_lines(diff, options->weight, lines, &count);
	if (!error) {
		qsort(lines, count, sizeof(*lines), by_text);
		for (uint32_t i = 0; i < count; i++)
			fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", lines[i].text,
				folded_writer_round(lines[i].before, options),
				folded_writer_round(lines[i].after, options));
		error = text_file_flush(out);
	}
	for (uint32_t i = 0; i < count; i++)
		free(lines[i].text);
	free(lines);
	return error;
}

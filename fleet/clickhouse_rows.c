#include "clickhouse_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/writers/deflate_file.h"
#include "report/writers/json_text.h"

int clickhouse_text_begin(struct clickhouse_text *text)
{
	*text = (struct clickhouse_text){0};
	int status = memory_text_open(&text->memory);

	if (!status)
		text->out = deflate_file_open(text->memory.out, DEFLATE_GZIP);
	return text->out ? 0 : -ENOMEM;
}

int clickhouse_text_end(struct clickhouse_text *text, void **bytes, size_t *size)
{
	int failed = text->out ? fclose(text->out) : 0;
	char *taken = NULL;

	*bytes = NULL;
	*size = 0;
	if (text->memory.out && text->rows && !failed)
		failed = memory_text_take(&text->memory, &taken, size);
	else
		memory_text_drop(&text->memory);
	*bytes = taken;
	text->out = NULL;
	return failed ? -ENOMEM : 0;
}

static int begin(void *context, uint64_t number, enum export_rows kind)
{
	struct clickhouse_rows *rows = context;
	int status = clickhouse_text_begin(&rows->rows);

	rows->number = number;
	rows->kind = kind;
	return status ? status : clickhouse_text_begin(&rows->stacks);
}

static int write_row(void *context, const struct export_delta *delta)
{
	struct clickhouse_rows *rows = context;
	FILE *out = rows->rows.out;

	fprintf(out, "{\"source\":\"%s\",\"time\":%" PRIu64 ",\"batch\":%" PRIu64 ",%.*s,%.*s,",
		rows->source, rows->time_s, rows->number, (int)delta->place_size, delta->place,
		(int)delta->work_size, delta->work);
	if (rows->kind == EXPORT_WORK)
		fprintf(out, "\"stack\":%" PRIu64 ",\"bytes\":%" PRId64 ",", delta->stack,
			delta->bytes);
	fprintf(out, "\"count\":%" PRId64 ",\"ns\":%" PRId64 "}\n", delta->count, delta->ns);
	rows->rows.rows++;
	return 0;
}

static int write_stack(void *context, uint64_t stack, uint32_t leaf)
{
	struct clickhouse_rows *rows = context;
	const struct report_tree *tree = rows->tree;
	uint32_t *chain = malloc(REPORT_DEPTH_MAX * sizeof(*chain));
	FILE *out = rows->stacks.out;

	if (!chain)
		return -ENOMEM;
	uint32_t depth = report_tree_path(tree->nodes, tree->leaves[leaf].node, chain);
	fprintf(out, "{\"stack\":%" PRIu64 ",\"frames\":[", stack);
	for (uint32_t i = depth; i-- > 0;) {
		json_text_write(out, tree->strings[tree->nodes[chain[i]].name]);
		if (i)
			fputc(',', out);
	}
	fputs("]}\n", out);
	free(chain);
	rows->stacks.rows++;
	return 0;
}

static int end(void *context, struct export_batch *batch)
{
	struct clickhouse_rows *rows = context;
	int status = clickhouse_text_end(&rows->rows, &batch->body, &batch->body_size);
	int stacks = clickhouse_text_end(&rows->stacks, &batch->stacks, &batch->stacks_size);

	return status ? status : stacks;
}

void clickhouse_rows_maker(struct clickhouse_rows *rows, struct export_maker *maker)
{
	*maker = (struct export_maker){.context = rows,
				       .rows_max = CLICKHOUSE_ROWS_MAX,
				       .begin = begin,
				       .row = write_row,
				       .stack = write_stack,
				       .end = end};
}

#include "row_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "folded_writer.h"
#include "json_text.h"

void row_text_json(FILE *out, const char *name, row_text_fields *fields, const void *context,
		   const void *rows, uint32_t nr, size_t size)
{
	fprintf(out, "\"%s\":[", name);
	for (uint32_t i = 0; i < nr; i++) {
		fputs(i ? ",\n{" : "\n{", out);
		fields(&(struct row_text){.out = out, .context = context},
		       (const char *)rows + i * size);
		fputc('}', out);
	}
	fputc(']', out);
}

void row_text_csv(FILE *out, row_text_fields *fields, const void *nothing, const void *rows,
		  uint32_t nr, size_t size)
{
	fields(&(struct row_text){.out = out, .form = ROW_HEADING}, nothing);
	for (uint32_t i = 0; i < nr; i++) {
		fputc('\n', out);
		fields(&(struct row_text){.out = out, .form = ROW_CSV},
		       (const char *)rows + i * size);
	}
	fputc('\n', out);
}

bool row_text_field(struct row_text *row, const char *name)
{
	if (row->has_fields)
		fputc(',', row->out);
	row->has_fields = true;
	if (row->form != ROW_CSV)
		fprintf(row->out, row->form == ROW_JSON ? "\"%s\":" : "%s", name);
	return row->form != ROW_HEADING;
}

/* Writes text between the quotes of a CSV field. */
static void write_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
}

/* The same of a frame in a path. */
static void write_frame(FILE *out, const char *text)
{
	for (; *text; text++) {
		const char *escape = folded_writer_escape(*text);
		const char plain[] = {*text, '\0'};

		write_quoted(out, escape ? escape : plain);
	}
}

/* Returns what stands before a text that a spreadsheet would take for a formula. A sign alone is none. */
static const char *guard_of(const char *text)
{
	return *text && strchr("=+-@\t\r", *text) && text[1] ? "'" : "";
}

void row_text_string(struct row_text *row, const char *name, const char *text)
{
	if (!row_text_field(row, name))
		return;
	if (row->form == ROW_JSON) {
		json_text_write(row->out, text);
	} else if (strpbrk(text, ",\"") == NULL) {
		fprintf(row->out, "%s%s", guard_of(text), text);
	} else {
		fprintf(row->out, "\"%s", guard_of(text));
		write_quoted(row->out, text);
		fputc('"', row->out);
	}
}

void row_text_number(struct row_text *row, const char *name, bool known, int64_t number)
{
	if (!row_text_field(row, name))
		return;
	if (known)
		fprintf(row->out, "%" PRId64, number);
	else if (row->form == ROW_JSON)
		fputs("null", row->out);
}

void row_text_count(struct row_text *row, const char *name, uint64_t count)
{
	row_text_print(row, name, "%" PRIu64, count);
}

void row_text_flag(struct row_text *row, const char *name, bool flag)
{
	const char *const texts[][2] = {{"false", "true"}, {"0", "1"}};

	row_text_print(row, name, "%s", texts[row->form != ROW_JSON][flag]);
}

void row_text_print(struct row_text *row, const char *name, const char *format, ...)
{
	va_list arguments;

	if (!row_text_field(row, name))
		return;
	va_start(arguments, format);
	vfprintf(row->out, format, arguments);
	va_end(arguments);
}

/* The same text as in folded stacks; without memory "". */
static void write_json_path(FILE *out, const struct report_node *nodes, const char *const *strings,
			    const uint32_t *chain, uint32_t depth)
{
	char *path = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&path, &size);

	for (uint32_t i = depth; text && i > 0; i--) {
		for (const char *at = strings[nodes[chain[i - 1]].name]; *at; at++) {
			const char *escape = folded_writer_escape(*at);

			if (escape)
				fputs(escape, text);
			else
				fputc(*at, text);
		}
		if (i > 1)
			fputc(';', text);
	}
	json_text_write(out, text && fclose(text) == 0 && path ? path : "");
	free(path);
}

void row_text_stack(struct row_text *row, const char *name, const struct report_node *nodes,
		    const char *const *strings, uint32_t node)
{
	uint32_t chain[REPORT_DEPTH_MAX], depth;

	if (!row_text_field(row, name))
		return;
	depth = report_tree_path(nodes, node, chain);
	if (row->form == ROW_JSON) {
		write_json_path(row->out, nodes, strings, chain, depth);
		return;
	}
	fprintf(row->out, "\"%s", depth > 0 ? guard_of(strings[nodes[chain[depth - 1]].name]) : "");
	while (depth > 0) {
		write_frame(row->out, strings[nodes[chain[--depth]].name]);
		if (depth > 0)
			fputc(';', row->out);
	}
	fputc('"', row->out);
}

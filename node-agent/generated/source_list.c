#include "source_list.h"

#include <stdio.h>
#include <string.h>

#include "proto/model_lines.h"

/* Bytes that the lines of a symbol have room for. */
#define ROOM       (SOURCE_LIST_TEXT - sizeof("\n" MODEL_LINES_MORE "\n" MODEL_LINES_NEAR))
#define MARKS_SIZE (sizeof("\t:4294967295") - 1) /* at most, beside a line's texts */

static bool is_equal(const struct source_line *a, const struct source_line *b)
{
	return a->line == b->line && text_span_equals(a->file, b->file) &&
	       text_span_equals(a->function, b->function);
}

void source_list_add(struct source_list *list, const struct source_line *line)
{
	if (line->line == 0 || line->file.size == 0 || line->function.size == 0)
		return;
	if (list->count == SOURCE_LIST_MAX && list->has_more)
		return;
	if (line->file.size >= ROOM || line->function.size >= ROOM - line->file.size ||
	    line->file.size + line->function.size + MARKS_SIZE > ROOM) {
		list->has_more = true;
		return;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (is_equal(&list->lines[i], line))
			return;
	if (list->count == SOURCE_LIST_MAX)
		list->has_more = true;
	else
		list->lines[list->count++] = *line;
}

/* Appends a text. Returns its end. */
static char *put(char *at, struct text_span text)
{
	for (size_t i = 0; i < text.size; i++)
		*at++ = (unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f ? '?'
										  : text.data[i];
	return at;
}

void source_list_write(const struct source_list *list, char text[static SOURCE_LIST_TEXT])
{
	bool has_more = list->has_more;
	char *at = text;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct source_line *line = &list->lines[i];
		char number[16];
		int digits = snprintf(number, sizeof(number), ":%u", line->line);
		size_t size = line->file.size + line->function.size + (size_t)digits + 2;

		if (size > ROOM - (size_t)(at - text)) {
			has_more = true;
			continue;
		}
		if (at > text)
			*at++ = '\n';
		at = put(at, line->function);
		*at++ = '\t';
		at = put(at, line->file);
		at = put(at, (struct text_span){number, (size_t)digits});
	}
	*at = '\0';
	if (at > text && has_more)
		at = stpcpy(at, "\n" MODEL_LINES_MORE);
	if (at > text && list->is_near)
		stpcpy(at, "\n" MODEL_LINES_NEAR);
}

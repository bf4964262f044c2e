#include "trace_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_index.h"

#define FILE_WORD "File \""
#define LINE_WORD "\", line "
#define NAME_WORD ", in "

/* The lines of a handle's traces, each once: table->lines[first..first + count). */
struct handle {
	struct text_span name;
	uint32_t first, count;
	bool has_more;
};

struct trace_table {
	char *strings; /* owns; decoded strings, one behind the other */
	size_t size;
	struct source_line *lines; /* owns; of all handles */
	struct handle *handles;    /* owns */
	uint32_t nr_lines, room_lines, nr_handles, room_handles;
	struct hash_index index; /* of handles, + 1 */
};

/* ---- strings */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes \uXXXX behind the 'u'. A half of a pair becomes '?', like all that needs more than two bytes. */
static char *decode_unicode(struct text_span *rest, char *at)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < 4; i++) {
		int digit = i < rest->size ? hex_digit(rest->data[i]) : -1;

		if (digit < 0)
			return NULL;
		value = value << 4 | (uint32_t)digit;
	}
	rest->data += 4;
	rest->size -= 4;
	if (value < 0x80) {
		*at++ = (char)value;
	} else if (value < 0x800) {
		*at++ = (char)(0xc0 | value >> 6);
		*at++ = (char)(0x80 | (value & 0x3f));
	} else if (value >= 0xd800 && value < 0xe000) {
		*at++ = '?';
	} else {
		*at++ = (char)(0xe0 | value >> 12);
		*at++ = (char)(0x80 | (value >> 6 & 0x3f));
		*at++ = (char)(0x80 | (value & 0x3f));
	}
	return at;
}

static char *decode_escape(struct text_span *rest, char *at)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char c;

	if (rest->size == 0)
		return NULL;
	c = *rest->data++;
	rest->size--;
	if (c == 'u')
		return decode_unicode(rest, at);
	for (uint32_t i = 0; from[i]; i++)
		if (c == from[i])
			c = to[i];
	*at++ = c;
	return at;
}

/* Reads a string behind its first quote. The decoded string takes no more bytes than its text. */
static bool read_string(struct trace_table *table, struct text_span *rest, struct text_span *string)
{
	char *begin = table->strings + table->size, *at = begin;

	while (rest->size > 0) {
		char c = *rest->data++;

		rest->size--;
		if (c == '"') {
			*string = (struct text_span){begin, (size_t)(at - begin)};
			table->size += string->size;
			return true;
		}
		if (c != '\\')
			*at++ = c;
		else if (!(at = decode_escape(rest, at)))
			return false;
	}
	return false;
}

/* ---- traces */

/* Reads "File "/home/alice/model.py", line 57, in forward". */
static bool read_frame(struct text_span text, struct source_line *line)
{
	struct text_span rest;
	bool found;

	text = text_span_trim(text);
	if (!text_span_begins(text, FILE_WORD))
		return false;
	text = text_span_behind(text, FILE_WORD, NULL);
	line->file = text_span_before_last(text, LINE_WORD, &found);
	rest = text_span_behind_last(text, LINE_WORD, NULL);
	if (!found || !text_span_number(&rest, &line->line) || !text_span_begins(rest, NAME_WORD))
		return false;
	line->function = text_span_behind(rest, NAME_WORD, NULL);
	return true;
}

static bool is_installed(struct text_span file)
{
	return text_span_behind(file, "/site-packages/", NULL).data ||
	       text_span_behind(file, "/dist-packages/", NULL).data;
}

static void add_line(struct text_span trace, struct source_list *list)
{
	struct source_line frame, innermost = {0}, own = {0};
	struct text_span text;

	while (text_span_line(&trace, &text)) {
		if (!read_frame(text, &frame))
			continue;
		innermost = frame;
		if (!is_installed(frame.file))
			own = frame;
	}
	source_list_add(list, own.line ? &own : &innermost);
}

/* ---- the object */

static void skip_blanks(struct text_span *rest)
{
	while (rest->size > 0 && (*rest->data == ' ' || *rest->data == '\n' ||
				  *rest->data == '\t' || *rest->data == '\r')) {
		rest->data++;
		rest->size--;
	}
}

static bool take(struct text_span *rest, char c)
{
	skip_blanks(rest);
	if (rest->size == 0 || *rest->data != c)
		return false;
	rest->data++;
	rest->size--;
	return true;
}

static bool has_name(const void *context, uint32_t id, const void *key)
{
	const struct trace_table *table = context;

	return text_span_equals(table->handles[id - 1].name, *(const struct text_span *)key);
}

static uint32_t find(const struct trace_table *table, struct text_span name)
{
	return hash_index_find(&table->index, hash_index_hash(name.data, name.size), has_name,
			       table, &name);
}

static bool add_handle(struct trace_table *table, struct text_span name,
		       const struct source_list *list)
{
	const struct handle handle = {name, table->nr_lines, list->count, list->has_more};

	if (list->count == 0)
		return true;
	if (array_reserve(&table->lines, &table->room_lines,
			  table->nr_lines + (uint64_t)list->count, sizeof(*table->lines)) ||
	    array_reserve(&table->handles, &table->room_handles, table->nr_handles + 1ull,
			  sizeof(*table->handles)))
		return false;
	memcpy(table->lines + table->nr_lines, list->lines, list->count * sizeof(*list->lines));
	table->nr_lines += list->count;
	table->handles[table->nr_handles++] = handle;
	return hash_index_insert(&table->index, hash_index_hash(name.data, name.size),
				 table->nr_handles) == 0;
}

/* Reads "HANDLE": ["TRACE", …]. */
static bool read_entry(struct trace_table *table, struct text_span *rest)
{
	struct source_list list = {0};
	struct text_span name, trace;

	if (!take(rest, '"') || !read_string(table, rest, &name) || !take(rest, ':') ||
	    !take(rest, '['))
		return false;
	if (find(table, name))
		return false;
	while (take(rest, '"') && read_string(table, rest, &trace)) {
		add_line(trace, &list);
		if (!take(rest, ','))
			break;
	}
	return add_handle(table, name, &list) && take(rest, ']');
}

struct trace_table *trace_table_create(struct text_span text)
{
	struct trace_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->strings = malloc(text.size + 1);
	if (!table->strings) {
		free(table);
		return NULL;
	}
	if (take(&text, '{'))
		while (read_entry(table, &text) && take(&text, ','))
			;
	return table;
}

void trace_table_destroy(struct trace_table *table)
{
	if (!table)
		return;
	hash_index_fini(&table->index);
	free(table->lines);
	free(table->handles);
	free(table->strings);
	free(table);
}

void trace_table_add(const struct trace_table *table, struct text_span handle,
		     struct source_list *list)
{
	uint32_t id = find(table, handle);

	if (id == 0)
		return;
	const struct handle *found = &table->handles[id - 1];
	for (uint32_t i = 0; i < found->count; i++)
		source_list_add(list, &table->lines[found->first + i]);
	list->has_more = list->has_more || found->has_more;
}

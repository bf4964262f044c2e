#include "python_trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FILE_WORD     "File \""
#define LINE_WORD     "\", line "
#define FUNCTION_WORD ", in "
#define PLACE_MAX     512u /* bytes; a longer place is "..." */

/* A part of the text. */
struct part {
	const char *data;
	uint32_t size;
};

struct call {
	struct part path, number, function;
};

static bool begins(struct part part, const char *word)
{
	return part.size >= strlen(word) && memcmp(part.data, word, strlen(word)) == 0;
}

static struct part behind(struct part part, uint32_t size)
{
	return (struct part){part.data + size, part.size - size};
}

static struct part file_of(struct part path)
{
	const char *slash = memrchr(path.data, '/', path.size);

	return slash ? behind(path, (uint32_t)(slash + 1 - path.data)) : path;
}

static bool read_call(struct part line, struct call *call)
{
	const char *end;
	uint32_t digits = 0;

	/* Lines of the source are indented by more. */
	for (int i = 0; i < 2 && line.size && *line.data == ' '; i++)
		line = behind(line, 1);
	if (line.size && line.data[line.size - 1] == '\r')
		line.size--;
	if (!begins(line, FILE_WORD))
		return false;
	line = behind(line, (uint32_t)strlen(FILE_WORD));
	end = memmem(line.data, line.size, LINE_WORD, strlen(LINE_WORD));
	if (!end)
		return false;
	call->path = (struct part){line.data, (uint32_t)(end - line.data)};
	line = behind(line, call->path.size + (uint32_t)strlen(LINE_WORD));
	while (digits < line.size && line.data[digits] >= '0' && line.data[digits] <= '9')
		digits++;
	call->number = (struct part){line.data, digits};
	line = behind(line, digits);
	if (!digits || !begins(line, FUNCTION_WORD))
		return false;
	call->function = behind(line, (uint32_t)strlen(FUNCTION_WORD));
	return call->function.size > 0 && file_of(call->path).size > 0;
}

/* Returns false if there is no room for more. */
static bool add(struct place_list *places, const struct call *call)
{
	const struct part parts[] = {file_of(call->path), call->function, call->number};
	char place[PLACE_MAX];
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (size + 1 + parts[i].size > sizeof(place))
			return place_list_add(places, PLACE_LIST_MORE,
					      (uint32_t)strlen(PLACE_LIST_MORE));
		if (i)
			place[size++] = ':';
		memcpy(place + size, parts[i].data, parts[i].size);
		size += parts[i].size;
	}
	return place_list_add(places, place, size);
}

void python_trace_places(const char *text, uint32_t size, struct place_list *places)
{
	struct part rest = {text, size};
	struct call call, chosen = {0};
	bool has_call = false, is_own = false;

	while (rest.size) {
		const char *newline = memchr(rest.data, '\n', rest.size);
		uint32_t length = newline ? (uint32_t)(newline - rest.data) : rest.size;
		struct part line = {rest.data, length};

		rest = behind(rest, newline ? length + 1 : length);
		if (read_call(line, &call)) {
			bool own = !place_is_installed(call.path.data, call.path.size);

			if (own || !is_own)
				chosen = call;
			has_call = true;
			is_own |= own;
		} else if (length == 0) {
			if (has_call && !add(places, &chosen))
				return;
			has_call = is_own = false;
		}
	}
	if (has_call)
		add(places, &chosen);
}

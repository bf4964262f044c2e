#include "xla_text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "place_list.h"

#define TITLE      "Thunk:#"
#define NAME       "name="
#define OPERATION  "hlo_op="
#define ID         ",unique_hlo_op_id="
#define STRING_MAX 65536u /* of a string, what is read */
#define DEPTH_MAX  64u

/* A part of a string. */
struct part {
	const char *data;
	uint32_t size;
};

static void append(struct nvtx_text *text, uint32_t max, const char *data, uint32_t size)
{
	uint32_t room = text->size < max ? max - text->size : 0;

	if (size > room)
		size = room;
	memcpy(text->bytes + text->size, data, size);
	text->size += size;
}

static void append_string(struct nvtx_text *text, const char *string)
{
	append(text, NVTX_TEXT_MAX, string, (uint32_t)strlen(string));
}

/* Names hold commas, and an operation's name does not. So the last such word counts. */
static const char *find_operation(const char *string)
{
	const char *found = NULL;

	for (const char *at = string; (at = strstr(at, OPERATION)); at++)
		if (at[-1] == '#' || at[-1] == ',')
			found = at;
	return found;
}

bool xla_text_title(struct nvtx_text *text, const char *string)
{
	const char *begin = string + strlen(TITLE), *operation, *end;

	if (strncmp(string, TITLE, strlen(TITLE)) != 0 || strnlen(string, STRING_MAX) == STRING_MAX)
		return false;
	operation = find_operation(string);
	end = strrchr(string, '#');
	if (!operation || end < operation)
		return false;
	text->size = 0;
	append_string(text, TITLE);
	/* The end always has room, since readers look for it. */
	append(text, NVTX_TEXT_MAX - 1, operation, (uint32_t)(end - operation));
	if (operation > begin && strncmp(begin, NAME, strlen(NAME)) == 0) {
		append(text, NVTX_TEXT_MAX - 1, ",", 1);
		append(text, NVTX_TEXT_MAX - 1, begin, (uint32_t)(operation - 1 - begin));
	}
	append(text, NVTX_TEXT_MAX, "#", 1);
	return true;
}

/* ---- places */

struct line {
	uint32_t depth;
	struct part file, function; /* file: after the last slash */
	struct part number;
	bool installed; /* in a package */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Takes the last ":digits" off the part. false: it does not end so. */
static bool take_number(struct part *part, struct part *number)
{
	uint32_t at = part->size;

	while (at > 0 && is_digit(part->data[at - 1]))
		at--;
	if (at == 0 || at == part->size || part->data[at - 1] != ':')
		return false;
	*number = (struct part){part->data + at, part->size - at};
	part->size = at - 1;
	return true;
}

/* Takes "[function]" and what follows off the part. The file may have a '[', too, so the number before it decides. */
static void take_function(struct part *part, struct part *function)
{
	*function = (struct part){NULL, 0};
	for (uint32_t i = 1; i < part->size; i++) {
		if (part->data[i] != '[' || !is_digit(part->data[i - 1]))
			continue;
		uint32_t end = i + 1;

		while (end < part->size && part->data[end] != ']')
			end++;
		*function = (struct part){part->data + i + 1, end - i - 1};
		part->size = i;
		return;
	}
	/* Without a function, the operation follows after a blank. */
	for (uint32_t i = 1; i < part->size; i++)
		if (part->data[i] == ' ' && is_digit(part->data[i - 1])) {
			part->size = i;
			return;
		}
}

static bool read_line(struct part text, struct line *line)
{
	struct part second;

	line->depth = 0;
	while (text.size && *text.data == '-')
		text.data++, text.size--, line->depth++;
	if (line->depth == 0 || text.size == 0 || *text.data != ' ')
		return false;
	text.data++, text.size--;
	take_function(&text, &line->function);
	if (!take_number(&text, &line->number))
		return false;
	if (take_number(&text, &second))
		line->number = second; /* the other is the column */
	line->installed = place_is_installed(text.data, text.size);
	line->file = text;
	for (uint32_t i = 0; i < text.size; i++)
		if (text.data[i] == '/')
			line->file = (struct part){text.data + i + 1, text.size - i - 1};
	return line->file.size > 0;
}

/* XLA writes '<' and '>' for HTML. */
static void append_plain(struct nvtx_text *text, struct part part)
{
	while (part.size) {
		bool less = part.size >= 4 && memcmp(part.data, "&lt;", 4) == 0;
		bool greater = part.size >= 4 && memcmp(part.data, "&gt;", 4) == 0;
		uint32_t size = less || greater ? 4 : 1;

		append(text, NVTX_TEXT_MAX, less ? "<" : greater ? ">" : part.data, 1);
		part.data += size;
		part.size -= size;
	}
}

/* Returns false if it has no room. */
static bool add_place(struct place_list *places, const struct line *line)
{
	struct nvtx_text place = {0};

	append_plain(&place, line->file);
	append(&place, NVTX_TEXT_MAX, ":", 1);
	append_plain(&place, line->function);
	append(&place, NVTX_TEXT_MAX, ":", line->function.size > 0);
	append_plain(&place, line->number);
	return place_list_add(places, place.bytes, place.size);
}

/* The frames from the outermost to the one that was read last. A line is read again where it is used, because the
 * calling thread may have a tiny stack. */
struct stack {
	struct part lines[DEPTH_MAX];
	uint64_t installed; /* a bit for each line */
	uint32_t depth;
};

static_assert(DEPTH_MAX <= 64, "a bit for each line");

static void set_line(struct stack *stack, struct part text, const struct line *line)
{
	const uint64_t bit = UINT64_C(1) << (line->depth - 1);

	stack->lines[line->depth - 1] = text;
	stack->installed = line->installed ? stack->installed | bit : stack->installed & ~bit;
	stack->depth = line->depth;
}

static bool add_innermost(struct place_list *places, const struct stack *stack)
{
	struct line line;
	uint32_t i = stack->depth;

	while (i > 0 && stack->installed & UINT64_C(1) << (i - 1))
		i--;
	if (i == 0)
		i = stack->depth;
	return i == 0 || !read_line(stack->lines[i - 1], &line) || add_place(places, &line);
}

bool xla_text_places(struct nvtx_text *text, const char *string)
{
	const char *end = string + strnlen(string, STRING_MAX);
	struct place_list places = {text->bytes, NVTX_TEXT_MAX, 0};
	struct stack stack = {.depth = 0};
	bool room = true;

	while (string < end && room) {
		const char *next = memchr(string, '\n', (size_t)(end - string));
		struct part part = {string, (uint32_t)((next ? next : end) - string)};
		struct line line;

		string = next ? next + 1 : end;
		if (!read_line(part, &line) || line.depth > DEPTH_MAX ||
		    line.depth > stack.depth + 1)
			continue;
		if (line.depth <= stack.depth)
			room = add_innermost(&places, &stack);
		set_line(&stack, part, &line);
	}
	if (room)
		add_innermost(&places, &stack);
	text->size = places.size;
	return text->size > 0;
}

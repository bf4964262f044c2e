#include "text_span.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Returns what lies from a place in the text on. */
static struct text_span from(struct text_span text, const char *at)
{
	return (struct text_span){at, (size_t)(text.data + text.size - at)};
}

static struct text_span up_to(struct text_span text, const char *at)
{
	return (struct text_span){text.data, (size_t)(at - text.data)};
}

bool text_span_line(struct text_span *rest, struct text_span *line)
{
	if (rest->size == 0)
		return false;
	const char *end = memchr(rest->data, '\n', rest->size);

	*line = end ? up_to(*rest, end) : *rest;
	*rest = end ? from(*rest, end + 1) : TEXT_SPAN_NONE;
	return true;
}

struct text_span text_span_trim(struct text_span text)
{
	while (text.size > 0 && is_blank(text.data[0]))
		text = from(text, text.data + 1);
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

bool text_span_begins(struct text_span text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && memcmp(text.data, with, size) == 0;
}

bool text_span_ends(struct text_span text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && memcmp(text.data + text.size - size, with, size) == 0;
}

bool text_span_equals(struct text_span text, struct text_span other)
{
	return text.size == other.size &&
	       (text.size == 0 || memcmp(text.data, other.data, text.size) == 0);
}

static const char *find(struct text_span text, const char *part)
{
	return text.size ? memmem(text.data, text.size, part, strlen(part)) : NULL;
}

static const char *find_last(struct text_span text, const char *part)
{
	size_t size = strlen(part);

	for (size_t left = text.size; left >= size && left > 0; left--)
		if (memcmp(text.data + left - size, part, size) == 0)
			return text.data + left - size;
	return NULL;
}

static struct text_span before(struct text_span text, const char *at, bool *found)
{
	if (found)
		*found = at != NULL;
	return at ? up_to(text, at) : text;
}

static struct text_span behind(struct text_span text, const char *at, const char *part, bool *found)
{
	if (found)
		*found = at != NULL;
	return at ? from(text, at + strlen(part)) : TEXT_SPAN_NONE;
}

struct text_span text_span_before(struct text_span text, const char *part, bool *found)
{
	return before(text, find(text, part), found);
}

struct text_span text_span_behind(struct text_span text, const char *part, bool *found)
{
	return behind(text, find(text, part), part, found);
}

struct text_span text_span_before_last(struct text_span text, const char *part, bool *found)
{
	return before(text, find_last(text, part), found);
}

struct text_span text_span_behind_last(struct text_span text, const char *part, bool *found)
{
	return behind(text, find_last(text, part), part, found);
}

bool text_span_number(struct text_span *text, uint32_t *number)
{
	uint64_t value = 0;
	size_t size = 0;

	while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9') {
		value = value * 10 + (uint64_t)(text->data[size++] - '0');
		if (value > UINT32_MAX)
			return false;
	}
	if (size == 0)
		return false;
	*text = from(*text, text->data + size);
	*number = (uint32_t)value;
	return true;
}

bool text_span_part(struct text_span *rest, const char *separator, struct text_span *part)
{
	bool found;

	if (!rest->data)
		return false;
	*part = text_span_before(*rest, separator, &found);
	*rest = found ? text_span_behind(*rest, separator, NULL) : TEXT_SPAN_NONE;
	return true;
}

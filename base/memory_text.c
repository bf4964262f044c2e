#include "memory_text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define ROOM_LEAST 256u

/* Makes room for size bytes and a zero. */
static bool make_room(struct memory_text *text, size_t size)
{
	size_t room = text->room ? text->room : ROOM_LEAST;

	while (room <= size && room <= SIZE_MAX / 2)
		room *= 2;
	if (room <= size)
		return false;
	if (room == text->room)
		return true;
	char *bytes = realloc(text->bytes, room);
	if (!bytes)
		return false;
	text->bytes = bytes;
	text->room = room;
	return true;
}

static ssize_t take_bytes(void *context, const char *bytes, size_t size)
{
	struct memory_text *text = context;

	if (text->failed || size >= SIZE_MAX - text->size || !make_room(text, text->size + size)) {
		text->failed = true;
		return 0;
	}
	memcpy(text->bytes + text->size, bytes, size);
	text->size += size;
	return (ssize_t)size;
}

int memory_text_open(struct memory_text *text)
{
	const cookie_io_functions_t functions = {.write = take_bytes};

	*text = (struct memory_text){0};
	text->out = fopencookie(text, "w", functions);
	return text->out ? 0 : -ENOMEM;
}

int memory_text_take(struct memory_text *text, char **bytes, size_t *size)
{
	if (fclose(text->out) || !make_room(text, text->size))
		text->failed = true;
	text->out = NULL;
	*bytes = NULL;
	*size = 0;
	if (text->failed) {
		free(text->bytes);
	} else {
		text->bytes[text->size] = '\0';
		*bytes = text->bytes;
		*size = text->size;
	}
	text->bytes = NULL;
	return text->failed ? -ENOMEM : 0;
}

void memory_text_drop(struct memory_text *text)
{
	if (text->out)
		fclose(text->out);
	free(text->bytes);
	*text = (struct memory_text){0};
}

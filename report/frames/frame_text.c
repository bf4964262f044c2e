#include "frame_text.h"

#include <string.h>

#include "aggregator/profile/catalog.h"

static struct frame_text string(const struct catalog *catalog, uint32_t id)
{
	struct frame_text text;

	text.data = catalog_string(catalog, id, &text.size);
	return text;
}

const struct catalog_frame *frame_text_frame(const struct catalog *catalog, uint32_t node_id)
{
	return catalog_frame(catalog, catalog_node(catalog, node_id)->frame);
}

uint32_t frame_text_parent(const struct catalog *catalog, uint32_t node_id)
{
	return catalog_node(catalog, node_id)->parent;
}

struct frame_text frame_text_symbol(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_text_frame(catalog, node_id);

	return string(catalog, frame->code ? 0 : frame->name);
}

struct frame_text frame_text_mark(const struct catalog *catalog, uint32_t node_id)
{
	const struct catalog_frame *frame = frame_text_frame(catalog, node_id);
	const struct catalog_code *code = catalog_code(catalog, frame->code);

	return string(catalog, frame->code && !code->file ? code->name : 0);
}

struct frame_text frame_text_python(const struct catalog *catalog, uint32_t node_id,
				    struct frame_text *name)
{
	const struct catalog_frame *frame = frame_text_frame(catalog, node_id);
	const struct catalog_code *code = catalog_code(catalog, frame->code);
	bool python = frame->code && code->file;

	*name = string(catalog, python ? code->name : 0);
	return string(catalog, python ? code->file : 0);
}

struct frame_text frame_text_base(struct frame_text path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;

	if (!slash)
		return path;
	return (struct frame_text){slash + 1, (uint32_t)(path.data + path.size - slash - 1)};
}

bool frame_text_begins(struct frame_text text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && memcmp(text.data, with, size) == 0;
}

bool frame_text_ends(struct frame_text text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && memcmp(text.data + text.size - size, with, size) == 0;
}

bool frame_text_equals(struct frame_text text, const char *other)
{
	return text.size == strlen(other) && frame_text_begins(text, other);
}

const char *frame_text_find(struct frame_text text, const char *part)
{
	return text.size ? memmem(text.data, text.size, part, strlen(part)) : NULL;
}

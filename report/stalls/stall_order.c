#include "stall_order.h"

#include <string.h>

int stall_order_strings(const struct catalog *catalog, uint32_t a, uint32_t b)
{
	uint32_t size_a, size_b;

	if (a == b)
		return 0;
	const char *text_a = catalog_string(catalog, a, &size_a);
	const char *text_b = catalog_string(catalog, b, &size_b);
	const int by_text = memcmp(text_a, text_b, size_a < size_b ? size_a : size_b);

	return by_text ? by_text : stall_order_numbers(size_a, size_b);
}

static int order_codes(const struct catalog *catalog, uint32_t a, uint32_t b)
{
	const struct catalog_code *code_a = catalog_code(catalog, a);
	const struct catalog_code *code_b = catalog_code(catalog, b);
	const int by_file = stall_order_strings(catalog, code_a->file, code_b->file);

	return by_file ? by_file : stall_order_strings(catalog, code_a->name, code_b->name);
}

static int order_modules(const struct catalog *catalog, uint32_t a, uint32_t b)
{
	const struct catalog_module *module_a = catalog_module(catalog, a);
	const struct catalog_module *module_b = catalog_module(catalog, b);
	int result = stall_order_numbers(module_a->build_id_size, module_b->build_id_size);

	if (!result)
		result = memcmp(module_a->build_id, module_b->build_id, WIRE_BUILD_ID_MAX);
	if (!result)
		result = stall_order_strings(catalog, module_a->path, module_b->path);
	return result ? result : stall_order_numbers(module_a->owner, module_b->owner);
}

static int order_frames(const struct catalog *catalog, uint32_t a, uint32_t b)
{
	const struct catalog_frame *frame_a = catalog_frame(catalog, a);
	const struct catalog_frame *frame_b = catalog_frame(catalog, b);
	int result;

	if (a == b)
		return 0;
	result = stall_order_numbers(frame_a->code != 0, frame_b->code != 0);
	if (!result && frame_a->code)
		result = order_codes(catalog, frame_a->code, frame_b->code);
	else if (!result)
		result = order_modules(catalog, frame_a->module, frame_b->module);
	return result ? result : stall_order_numbers(frame_a->offset, frame_b->offset);
}

/* Equal nodes have equal ids in one catalog, so what is outside of a common node need not be compared. */
int stall_order_stacks(const struct catalog *catalog, uint32_t a, uint32_t b)
{
	int result = stall_order_numbers(catalog_node(catalog, a)->depth,
					 catalog_node(catalog, b)->depth);

	while (!result && a != b) {
		const struct catalog_node *node_a = catalog_node(catalog, a);
		const struct catalog_node *node_b = catalog_node(catalog, b);

		result = order_frames(catalog, node_a->frame, node_b->frame);
		a = node_a->parent;
		b = node_b->parent;
	}
	return result;
}

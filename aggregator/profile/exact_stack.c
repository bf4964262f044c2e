#include "exact_stack.h"

#include "proto/host_sample.h"

/* A kernel has no file, and no frame of a place without a file has a line. */
static int is_kernel(const struct catalog *catalog, uint32_t frame_id)
{
	const struct catalog_frame *frame = catalog_frame(catalog, frame_id);

	return frame->code && frame->offset == HOST_SAMPLE_EXACT_LINE &&
	       catalog_code(catalog, frame->code)->file == 0;
}

uint32_t exact_stack_kernel(const struct catalog *catalog, uint32_t stack_id)
{
	while (stack_id && !is_kernel(catalog, catalog_node(catalog, stack_id)->frame) &&
	       catalog_node(catalog, stack_id)->parent)
		stack_id = catalog_node(catalog, stack_id)->parent;
	return stack_id;
}

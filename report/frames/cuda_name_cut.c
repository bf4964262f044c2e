#include "cuda_name_cut.h"

#include <stdbool.h>

#include "aggregator/profile/catalog.h"
#include "proto/definition.h"
#include "report/names/cuda_name.h"
#include "report/names/symbol_part.h"

/* Returns the kind of the whole frame. *named: the index of the inlined function that decides it. *inner: how many of
 * the innermost functions are stubs. */
static enum cuda_name kind_of_symbol(const char *symbol, uint32_t size, uint32_t *named,
				     uint32_t *inner)
{
	const char *text = symbol, *end = symbol + size;
	enum cuda_name whole = CUDA_NAME_STUB;
	bool application = false;
	struct symbol_part part;

	*named = *inner = 0;
	for (uint32_t i = 0; symbol_part_next(&text, end, &part); i++) {
		enum cuda_name kind = cuda_name_of(part.name, part.name_size);

		application |= kind == CUDA_NAME_NONE;
		*inner = kind == CUDA_NAME_STUB ? *inner + 1 : 0;
		if (kind == CUDA_NAME_API && whole != CUDA_NAME_API && i < REPORT_INLINES_MAX)
			*named = i;
		if (kind == CUDA_NAME_API || whole == CUDA_NAME_STUB)
			whole = kind;
	}
	return application ? CUDA_NAME_NONE : whole;
}

static enum cuda_name kind_of(const struct catalog *catalog, const struct catalog_frame *frame,
			      uint32_t *named, uint32_t *inner)
{
	const struct catalog_code *code = catalog_code(catalog, frame->code);
	uint32_t size;
	const char *symbol = catalog_string(catalog, frame->code ? code->name : frame->name, &size);

	*named = *inner = 0;
	if (frame->code && code->file)
		return CUDA_NAME_NONE;
	enum cuda_name kind = kind_of_symbol(symbol, size, named, inner);
	if (kind == CUDA_NAME_NONE && frame->module &&
	    catalog_module(catalog, frame->module)->flags & DEFINITION_MODULE_CUDA)
		kind = CUDA_NAME_INNER;
	return kind;
}

void cuda_name_cut_make(const struct catalog *catalog, uint32_t node_id, struct cuda_name_cut *cut)
{
	uint32_t id = node_id, named = 0, inner = 0, api = node_id, part = 0;
	enum cuda_name best = CUDA_NAME_NONE; /* the best API function so far */
	bool met = false;

	*cut = (struct cuda_name_cut){.outer = node_id};
	for (; id; id = catalog_node(catalog, id)->parent) {
		enum cuda_name kind =
			kind_of(catalog, catalog_frame(catalog, catalog_node(catalog, id)->frame),
				&named, &inner);

		if (kind == CUDA_NAME_NONE && id != node_id)
			break;
		met |= kind != CUDA_NAME_NONE;
		if (kind == CUDA_NAME_API || (kind == CUDA_NAME_INNER && best != CUDA_NAME_API)) {
			best = kind;
			api = id;
			part = named;
		}
	}
	if (met)
		*cut = (struct cuda_name_cut){
			.outer = id,
			.dropped = id ? inner : 0,
			.frame = catalog_node(catalog, api)->frame,
			.part = part,
		};
}

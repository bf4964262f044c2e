#include "frame_names.h"

#include <errno.h>
#include <string.h>

#include "node-agent/base/fair_shares.h"
#include "node-agent/dictionary/stack_dictionary.h"
#include "node-agent/dictionary/string_dictionary.h"
#include "node-agent/publish/batch_builder.h"
#include "node-agent/symbols/symbolizer.h"

#define SYMBOLS_AT_ONCE 1024u

/* Asks for the lines of a model that a line of generated code works for. */
static int request_lines(struct frame_names *names, uint32_t frame_id,
			 const struct message_frame *frame)
{
	uint32_t module_id = stack_dictionary_generated(names->stacks, frame->code);

	return module_id == MESSAGE_FRAME_NO_MODULE
		       ? 0
		       : symbolizer_request(names->symbolizer, frame_id, module_id, frame->offset);
}

int frame_names_request(struct frame_names *names)
{
	uint32_t total = stack_dictionary_nr_frames(names->stacks);

	while (names->asked < total) {
		uint32_t frame_id = names->asked + 1;
		const struct message_frame *frame =
			stack_dictionary_frames(names->stacks, frame_id);
		int r = 0;

		if (frame->module == MESSAGE_FRAME_NO_MODULE && frame->code == MESSAGE_FRAME_NATIVE)
			r = batch_builder_add_symbol(names->builder, frame_id, STRING_NONE);
		else if (frame->code == MESSAGE_FRAME_NATIVE)
			r = symbolizer_request(names->symbolizer, frame_id, frame->module,
					       frame->offset);
		else
			r = request_lines(names, frame_id, frame);
		if (r)
			return r;
		names->asked = frame_id;
	}
	return 0;
}

int frame_names_collect(struct frame_names *names)
{
	struct symbolizer_result results[SYMBOLS_AT_ONCE];
	uint32_t nr;

	while ((nr = symbolizer_collect(names->symbolizer, results, SYMBOLS_AT_ONCE)) > 0) {
		for (uint32_t i = 0; i < nr; i++) {
			const char *name = results[i].name ? results[i].name : "";
			uint32_t name_id;

			string_dictionary_use(names->strings, NULL,
					      fair_shares_owner(results[i].owner));
			int r = string_dictionary_intern(names->strings, name, strlen(name),
							 &name_id);
			string_dictionary_use(names->strings, NULL, 0);
			if (r == 0 || r == -ENOSPC)
				r = batch_builder_add_symbol(names->builder, results[i].frame_id,
							     name_id);
			if (r)
				return r;
		}
	}
	return 0;
}

#include "start_frames.h"

#include <stdbool.h>
#include <stddef.h>

#include "backward_path.h"
#include "frame_text.h"

#include "aggregator/profile/catalog.h"

#define PROGRAM_START "[program start]"
#define THREAD_START  "[thread start]"
#define NVTX          "[NVTX]"

static const char *const program_symbols[] = {
	"_start",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_call_main",
};
static const char *const thread_symbols[] = {
	"clone",
	"clone3",
	"__clone",
	"__clone3",
	"start_thread",
	"execute_native_thread_routine",
	"std::execute_native_thread_routine",
};

/* The begins of names of files whose frames without a symbol start something if they are outermost. */
static const char *const files[] = {"libc.so",      "libc-2.",  "libpthread",
				    "libstdc++.so", "ld-linux", "ld-2."};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_one_of(struct frame_text text, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (frame_text_equals(text, names[i]))
			return true;
	return false;
}

/* Returns whether it is a frame that starts something. *program: its name says that this is the program. */
static bool is_start(const struct catalog *catalog, uint32_t node_id, bool *program)
{
	const struct catalog_frame *frame = frame_text_frame(catalog, node_id);
	struct frame_text symbol = frame_text_symbol(catalog, node_id), path;

	if (frame->code)
		return false;
	if (is_one_of(symbol, program_symbols, COUNT(program_symbols)))
		return *program = true;
	if (symbol.size)
		return is_one_of(symbol, thread_symbols, COUNT(thread_symbols));
	path.data =
		catalog_string(catalog, catalog_module(catalog, frame->module)->path, &path.size);
	for (size_t i = 0; i < COUNT(files); i++)
		if (frame_text_begins(frame_text_base(path), files[i]))
			return true;
	return false;
}

const char *start_frames_name(const struct catalog *catalog, uint32_t node_id)
{
	bool program = false;

	/* Outwards of [backward] NODE is the stack of another thread. Ranges stand outwards of all frames. */
	for (uint32_t id = node_id;
	     id && !(id != node_id && (backward_path_is_node(catalog, id) ||
				       frame_text_begins(frame_text_mark(catalog, id), NVTX)));
	     id = frame_text_parent(catalog, id)) {
		if (!is_start(catalog, id, &program))
			return NULL;
	}
	return program ? PROGRAM_START : THREAD_START;
}

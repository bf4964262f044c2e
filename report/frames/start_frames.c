#include "start_frames.h"

#include <stdbool.h>
#include <string.h>

#include "backward_path.h"

#include "aggregator/profile/catalog.h"

#define PROGRAM_START "[program start]"
#define THREAD_START  "[thread start]"

struct text {
	const char *data;
	uint32_t size;
};

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

static bool is_one_of(const struct text *text, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (text->size == strlen(names[i]) && memcmp(text->data, names[i], text->size) == 0)
			return true;
	return false;
}

static bool begins_with_one_of(const struct text *text, const char *const *with, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(with[i]);

		if (text->size >= size && memcmp(text->data, with[i], size) == 0)
			return true;
	}
	return false;
}

static struct text symbol_of(const struct catalog *catalog, const struct catalog_frame *frame)
{
	struct text symbol;

	symbol.data = catalog_string(catalog, frame->name, &symbol.size);
	return symbol;
}

static struct text file_of(const struct catalog *catalog, const struct catalog_frame *frame)
{
	struct text path;

	path.data =
		catalog_string(catalog, catalog_module(catalog, frame->module)->path, &path.size);
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	if (!slash)
		return path;
	return (struct text){slash + 1, (uint32_t)(path.data + path.size - slash - 1)};
}

/* Returns whether it is a frame that starts something. *program: its name says that this is the program. */
static bool is_start(const struct catalog *catalog, uint32_t node_id, bool *program)
{
	const struct catalog_frame *frame =
		catalog_frame(catalog, catalog_node(catalog, node_id)->frame);
	struct text symbol = symbol_of(catalog, frame), file;

	if (frame->code)
		return false;
	if (is_one_of(&symbol, program_symbols, COUNT(program_symbols)))
		return *program = true;
	if (symbol.size)
		return is_one_of(&symbol, thread_symbols, COUNT(thread_symbols));
	file = file_of(catalog, frame);
	return begins_with_one_of(&file, files, COUNT(files));
}

const char *start_frames_name(const struct catalog *catalog, uint32_t node_id)
{
	bool program = false;

	/* Outwards of [backward] NODE is the stack of another thread. */
	for (uint32_t id = node_id; id && !(id != node_id && backward_path_is_node(catalog, id));
	     id = catalog_node(catalog, id)->parent) {
		if (!is_start(catalog, id, &program))
			return NULL;
	}
	return program ? PROGRAM_START : THREAD_START;
}

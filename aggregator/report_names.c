#include "report_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "frame_text.h"
#include "proto/definition.h"
#include "report_tree.h"
#include "text_pool.h"

#define UNKNOWN "[unknown]"

struct report_names {
	const struct catalog *catalog; /* borrowed */
	enum demangle_mode mode;
	struct text_pool *texts; /* ids are indices + 1 */
	uint32_t *of_string;     /* index + 1 of each demangled string; 0: not made yet */
	uint32_t *of_frame;      /* likewise */
};

struct report_names *report_names_create(const struct profile *profile, enum demangle_mode mode)
{
	struct report_names *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;

	struct catalog_size size = catalog_size(profile->collection->catalog);
	uint32_t id;
	names->catalog = profile->collection->catalog;
	names->mode = mode;
	names->texts = text_pool_create();
	names->of_string = calloc((size_t)size.strings + 1, sizeof(*names->of_string));
	names->of_frame = calloc((size_t)size.frames + 1, sizeof(*names->of_frame));
	if (!names->texts || !names->of_string || !names->of_frame ||
	    text_pool_intern(names->texts, "", 0, &id)) {
		report_names_destroy(names);
		return NULL;
	}
	return names;
}

void report_names_destroy(struct report_names *names)
{
	if (!names)
		return;
	text_pool_destroy(names->texts);
	free(names->of_string);
	free(names->of_frame);
	free(names);
}

static int intern_clean(struct report_names *names, const char *text, size_t size, uint32_t *index)
{
	char *clean = frame_text_clean(text, size);
	uint32_t id;

	*index = 0;
	if (!clean)
		return -ENOMEM;
	int error = text_pool_intern(names->texts, clean, (uint32_t)strlen(clean), &id);
	free(clean);
	if (!error)
		*index = id - 1;
	return error;
}

int report_names_text(struct report_names *names, const char *text, uint32_t *index)
{
	return intern_clean(names, text, strlen(text), index);
}

int report_names_string(struct report_names *names, uint32_t string_id, uint32_t *index)
{
	uint32_t size;
	const char *text = catalog_string(names->catalog, string_id, &size);

	return intern_clean(names, text, size, index);
}

/* The wire promises that strings hold no NUL; one that does is cleaned as it is. */
static int demangled_string(struct report_names *names, uint32_t string_id, uint32_t *index)
{
	uint32_t size;
	const char *text = catalog_string(names->catalog, string_id, &size);
	int error;

	if (names->of_string[string_id]) {
		*index = names->of_string[string_id] - 1;
		return 0;
	}
	if (strlen(text) == size) {
		char *demangled = demangle_name(text, names->mode);

		if (!demangled)
			return -ENOMEM;
		error = report_names_text(names, demangled, index);
		free(demangled);
	} else {
		error = intern_clean(names, text, size, index);
	}
	if (!error)
		names->of_string[string_id] = *index + 1;
	return error;
}

static int module_offset(struct report_names *names, const struct catalog_frame *frame,
			 uint32_t *index)
{
	const char *path = catalog_string(
		names->catalog, catalog_module(names->catalog, frame->module)->path, NULL);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char *text;

	if (frame->module == 0 || *base == '\0')
		return report_names_text(names, UNKNOWN, index);
	if (asprintf(&text, "%s+0x%" PRIx64, base, frame->offset) < 0)
		return -ENOMEM;
	int error = report_names_text(names, text, index);
	free(text);
	return error;
}

static bool has_name(const struct catalog_frame *frame)
{
	return frame->name != CATALOG_NAME_UNKNOWN && frame->name != 0;
}

int report_names_frame(struct report_names *names, uint32_t frame_id, uint32_t *index)
{
	const struct catalog_frame *frame = catalog_frame(names->catalog, frame_id);
	int error;

	if (names->of_frame[frame_id]) {
		*index = names->of_frame[frame_id] - 1;
		return 0;
	}
	error = has_name(frame) ? demangled_string(names, frame->name, index)
				: module_offset(names, frame, index);
	if (!error && *index == 0) /* a symbol without a text */
		error = report_names_text(names, UNKNOWN, index);
	if (!error)
		names->of_frame[frame_id] = *index + 1;
	return error;
}

static const char *copy_name(uint8_t copy_kind)
{
	static const char *const names[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};

	return copy_kind < sizeof(names) / sizeof(names[0]) ? names[copy_kind] : names[0];
}

int report_names_leaf(struct report_names *names, const struct fold_key *key, int32_t gpu,
		      uint32_t *index)
{
	const char *text = "";
	uint32_t kernel = 0;
	char number[16] = "?", *leaf;
	int error = 0;

	if (gpu != REPORT_GPU_NONE)
		snprintf(number, sizeof(number), "%" PRId32, gpu);
	if (key->kind == RECORD_GPU_KERNEL) {
		if (key->name_id != RECORD_NAME_NONE)
			error = demangled_string(names, key->name_id, &kernel);
		if (error)
			return error;
		text = kernel ? report_names_get(names, kernel) : UNKNOWN;
	}
	if (key->kind == RECORD_GPU_MEMCPY)
		text = copy_name(key->copy_kind);
	if (asprintf(&leaf, "[GPU%s_%s]%s", number,
		     key->kind == RECORD_GPU_KERNEL   ? "Kernel"
		     : key->kind == RECORD_GPU_MEMCPY ? "Memcpy"
						      : "Memset",
		     text) < 0)
		return -ENOMEM;
	error = report_names_text(names, leaf, index);
	free(leaf);
	return error;
}

/* cudaLaunchKernel, cuLaunchKernel, and the inner functions of a runtime that is linked statically.
 */
static bool is_api_name(const char *name)
{
	if (strncmp(name, "__cuda", 6) == 0)
		return true; /* __cudart included */
	if (strncmp(name, "cuda", 4) == 0)
		return isupper((unsigned char)name[4]);
	return strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2]);
}

static bool has_api_name(const struct catalog *catalog, const struct catalog_frame *frame)
{
	return has_name(frame) && is_api_name(catalog_string(catalog, frame->name, NULL));
}

static bool is_cuda(const struct catalog *catalog, const struct catalog_frame *frame)
{
	return has_api_name(catalog, frame) ||
	       (frame->module &&
		catalog_module(catalog, frame->module)->flags & DEFINITION_MODULE_CUDA);
}

/* From the leaf outwards as long as the frames are CUDA's: the outermost of them that is called
 * like an API function, or the outermost at all. The leaf itself may be anything: an inner function
 * of a static runtime has no telling name. */
uint32_t report_names_cut(const struct report_names *names, uint32_t node_id)
{
	const struct catalog *catalog = names->catalog;
	uint32_t outermost = node_id, named = 0;

	for (uint32_t id = node_id; id; id = catalog_node(catalog, id)->parent) {
		const struct catalog_frame *frame =
			catalog_frame(catalog, catalog_node(catalog, id)->frame);

		if (is_cuda(catalog, frame))
			outermost = id;
		else if (id != node_id)
			break;
		if (has_api_name(catalog, frame))
			named = id;
	}
	return named ? named : outermost;
}

uint32_t report_names_count(const struct report_names *names)
{
	return text_pool_count(names->texts);
}

const char *report_names_get(const struct report_names *names, uint32_t index)
{
	return text_pool_get(names->texts, index + 1, NULL);
}

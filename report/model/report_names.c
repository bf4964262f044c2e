#include "report_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind_name.h"
#include "report_samples.h"
#include "report_tree.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/text_pool.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "proto/memory_kind.h"
#include "proto/model_lines.h"
#include "proto/record.h"
#include "report/frames/step_path.h"
#include "report/names/clean_text.h"
#include "report/names/line_list.h"
#include "report/names/source_name.h"
#include "report/names/symbol_part.h"

#define UNKNOWN  "[unknown]"
#define LEFT_OUT "[inlined functions left out]"
#define NEAR     " " MODEL_LINES_NEAR

/* What a leaf's name depends on, and the name. Most rows have that of another row. */
struct leaf_name {
	uint32_t name_id;
	int32_t gpu;
	uint32_t kind, copy_kind;
	uint32_t index;
};

struct report_names {
	const struct catalog *catalog; /* borrowed */
	enum demangle_mode mode;
	enum report_lines lines;
	struct text_pool *texts; /* ids are indices + 1 */
	uint32_t *of_string;     /* index + 1 of each demangled string; 0: not made yet */
	uint32_t *runs; /* for each frame that was named: the number of its names, and the names */
	uint32_t nr_runs, room_runs;
	uint32_t *of_frame; /* index + 1 into runs; 0: not made yet */
	struct leaf_name *leaves;
	uint32_t nr_leaves, room_leaves;
	struct hash_index leaf_index; /* of leaves, + 1 */
};

struct report_names *report_names_create(const struct profile *profile, enum demangle_mode mode,
					 enum report_lines lines)
{
	struct report_names *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;

	struct catalog_size size = catalog_size(profile->collection->catalog);
	uint32_t id;
	names->catalog = profile->collection->catalog;
	names->mode = mode;
	names->lines = lines;
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
	free(names->runs);
	free(names->of_frame);
	free(names->leaves);
	hash_index_fini(&names->leaf_index);
	free(names);
}

static int intern_clean(struct report_names *names, const char *text, size_t size, uint32_t *index)
{
	char *clean = clean_text_of(text, size);
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

/* Returns a string's demangled name. The wire promises that strings hold no NUL. A string that holds one is only
 * cleaned. */
int report_names_function(struct report_names *names, uint32_t string_id, uint32_t *index)
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

/* ---- symbols of several functions */

static bool is_plain(const char *symbol, uint32_t size)
{
	return !memchr(symbol, '\n', size) && !memchr(symbol, '\t', size);
}

/* Makes "gemm.cc:gemm(float*):88", or the name alone. */
static int part_text(struct report_names *names, const struct symbol_part *part, uint32_t *index)
{
	const char *colon = part->source ? memrchr(part->source, ':', part->source_size) : NULL;
	char *mangled = strndup(part->name, part->name_size);
	char *name = mangled ? demangle_name(mangled, names->mode) : NULL, *text = NULL;
	size_t size = 0;

	free(mangled);
	*index = 0;
	if (name && colon && names->lines == REPORT_LINES_ON) {
		size_t file_size = (size_t)(colon - part->source);
		const char *slash = memrchr(part->source, '/', file_size);
		const char *file = slash ? slash + 1 : part->source;

		text = source_name_make(file, (size_t)(colon - file), name, strlen(name),
					strtoull(colon + 1, NULL, 10), &size);
	} else if (name) {
		size = strlen(name);
		text = strdup(name);
	}
	int error = text ? intern_clean(names, text, size, index) : -ENOMEM;
	free(text);
	free(name);
	return error;
}

/* indices has room for REPORT_INLINES_MAX. */
static int part_texts(struct report_names *names, const char *symbol, uint32_t size,
		      uint32_t *indices, uint32_t *count)
{
	const char *text = symbol, *end = symbol + size;
	struct symbol_part part;
	int error = 0;

	*count = 0;
	while (!error && symbol_part_next(&text, end, &part)) {
		if (*count == REPORT_INLINES_MAX)
			return report_names_text(names, LEFT_OUT, &indices[*count - 1]);
		error = part_text(names, &part, &indices[(*count)++]);
	}
	return error;
}

/* ---- frames */

/* Demangles the name of a function that was inlined into a kernel. The caller owns it. NULL: it is another name, such
 * as that of a Python function, or memory is short. */
static char *inlined_name(const struct report_names *names, const char *name, uint32_t size)
{
	return size > 2 && memcmp(name, "_Z", 2) == 0 && strlen(name) == size
		       ? demangle_name(name, names->mode)
		       : NULL;
}

static int code_text(struct report_names *names, const struct catalog_frame *frame, uint32_t *index)
{
	const struct catalog_code *code = catalog_code(names->catalog, frame->code);
	uint32_t string_size, name_size;
	const char *name = catalog_string(names->catalog, code->name, &name_size);
	const char *file = catalog_string(names->catalog, code->file, &string_size);
	size_t file_size = string_size, size;

	if (code->file == 0)
		return intern_clean(names, name, name_size, index);
	file = source_name_file(file, &file_size);
	char *demangled = inlined_name(names, name, name_size);
	char *text = source_name_make(file, file_size, demangled ? demangled : name,
				      demangled ? strlen(demangled) : name_size,
				      names->lines == REPORT_LINES_ON ? frame->offset : 0, &size);
	int error = text ? intern_clean(names, text, size, index) : -ENOMEM;
	free(text);
	free(demangled);
	return error;
}

int report_names_line(struct report_names *names, uint32_t frame_id, uint32_t *index)
{
	const struct catalog_frame *frame = catalog_frame(names->catalog, frame_id);
	uint32_t string_size;
	const char *file = catalog_string(
		names->catalog, catalog_code(names->catalog, frame->code)->file, &string_size);
	size_t file_size = string_size, size;

	file = source_name_file(file, &file_size);
	char *text = source_name_make(file, file_size, "", 0, frame->offset, &size);
	int error = text ? intern_clean(names, text, size, index) : -ENOMEM;
	free(text);
	return error;
}

/* Makes "model.py:forward:57" of a part, or the part alone. The caller owns the text. NULL: out of memory. */
static char *line_text(const struct report_names *names, const struct symbol_part *part)
{
	const char *colon = part->source ? memrchr(part->source, ':', part->source_size) : NULL;
	size_t file_size = colon ? (size_t)(colon - part->source) : 0, size;

	if (!colon)
		return strndup(part->name, part->name_size);
	const char *file = source_name_file(part->source, &file_size);
	/* The number ends where the part does: at a line end, or at the symbol's NUL. */
	uint64_t line = names->lines == REPORT_LINES_ON ? strtoull(colon + 1, NULL, 10) : 0;
	return source_name_make(file, file_size, part->name, part->name_size, line, &size);
}

/* Makes "model.py:forward:57, model.py:loss:60" of the symbol of generated code. Without lines some are equal. */
static int lines_text(struct report_names *names, const char *symbol, uint32_t size,
		      uint32_t *index)
{
	const char *text = symbol, *end = symbol + size;
	char *list = NULL;
	struct symbol_part part;
	int error = 0;

	while (!error && symbol_part_next(&text, end, &part)) {
		char *item = line_text(names, &part), *longer = NULL;
		bool is_mark = item && strcmp(item, MODEL_LINES_NEAR) == 0;

		if (item && (*item == '\0' || (list && !is_mark && line_list_has(list, item)))) {
			free(item);
			continue;
		}
		if (!item || asprintf(&longer, "%s%s%s", list ? list : "",
				      !list || is_mark ? "" : ", ", is_mark ? NEAR : item) < 0)
			error = -ENOMEM;
		free(item);
		free(list);
		list = error ? NULL : longer;
	}
	if (!error)
		error = report_names_text(names, list ? list : "", index);
	free(list);
	return error;
}

/* A Python frame of generated code has the lines of the model that it works for as a second name. */
static int code_texts(struct report_names *names, const struct catalog_frame *frame,
		      uint32_t *indices, uint32_t *count)
{
	uint32_t size;
	int error = code_text(names, frame, indices);

	*count = 1;
	if (error || !has_name(frame))
		return error;
	const char *symbol = catalog_string(names->catalog, frame->name, &size);
	if (size == 0 || strlen(symbol) != size)
		return 0;
	*count = 2;
	return lines_text(names, symbol, size, &indices[1]);
}

/* indices has room for REPORT_INLINES_MAX. */
static int frame_texts(struct report_names *names, const struct catalog_frame *frame,
		       uint32_t *indices, uint32_t *count)
{
	uint32_t size;
	const char *symbol =
		catalog_string(names->catalog, has_name(frame) ? frame->name : 0, &size);

	*count = 1;
	if (frame->code)
		return code_texts(names, frame, indices, count);
	if (!has_name(frame))
		return module_offset(names, frame, indices);
	if (is_plain(symbol, size))
		return report_names_function(names, frame->name, indices);
	return part_texts(names, symbol, size, indices, count);
}

/* Appends the run of one frame. */
static int add_run(struct report_names *names, const uint32_t *indices, uint32_t count)
{
	if (array_reserve(&names->runs, &names->room_runs, names->nr_runs + count + 1ul,
			  sizeof(*names->runs)))
		return -ENOMEM;
	names->runs[names->nr_runs++] = count;
	memcpy(names->runs + names->nr_runs, indices, count * sizeof(*indices));
	names->nr_runs += count;
	return 0;
}

int report_names_frame(struct report_names *names, uint32_t frame_id, const uint32_t **indices,
		       uint32_t *count)
{
	uint32_t made[REPORT_INLINES_MAX], nr_made;
	int error = 0;

	if (!names->of_frame[frame_id]) {
		error = frame_texts(names, catalog_frame(names->catalog, frame_id), made, &nr_made);
		for (uint32_t i = 0; !error && i < nr_made; i++)
			if (made[i] == 0) /* a symbol without a text */
				error = report_names_text(names, UNKNOWN, &made[i]);
		uint32_t start = names->nr_runs;
		if (!error)
			error = add_run(names, made, nr_made);
		if (error)
			return error;
		names->of_frame[frame_id] = start + 1;
	}
	const uint32_t *run = names->runs + names->of_frame[frame_id] - 1;
	*count = run[0];
	*indices = run + 1;
	return 0;
}

/* A kernel has its own name; other leaves have the name of their kind. */
static int leaf_text(struct report_names *names, const struct fold_key *key, const char **text)
{
	uint32_t index = 0;

	*text = kind_name_detail(key->kind, key->copy_kind);
	if (report_samples_is_pause(key))
		*text = "pause";
	if (key->kind != RECORD_GPU_KERNEL && key->kind != RECORD_GPU_MODULE)
		return 0;
	int error = key->name_id != RECORD_NAME_NONE ? report_names_function(names, key->name_id, &index)
						     : 0;

	*text = index ? report_names_get(names, index) : UNKNOWN;
	return error;
}

static int memory_leaf(struct report_names *names, uint8_t kind, const char *gpu, uint32_t *index)
{
	enum memory_space space = memory_kind_space(kind);
	char leaf[64];

	if (space == MEMORY_SPACE_HOST)
		snprintf(leaf, sizeof(leaf), "[Host_Memory]%s", memory_kind_name(kind));
	else
		snprintf(leaf, sizeof(leaf), "[GPU%s_%s]%s", gpu,
			 space == MEMORY_SPACE_DEVICE ? "Memory" : "Managed",
			 memory_kind_name(kind));
	return report_names_text(names, leaf, index);
}

/* Host samples name no GPU. Without a reason or a function the kind alone is the name. */
static int host_leaf(struct report_names *names, const struct fold_key *key, uint32_t *index)
{
	uint32_t text = 0;
	char *leaf;
	int error = key->name_id != RECORD_NAME_NONE
			    ? report_names_string(names, key->name_id, &text)
			    : 0;

	if (error)
		return error;
	if (asprintf(&leaf, "[%s]%s", kind_name_leaf(key->kind), report_names_get(names, text)) < 0)
		return -ENOMEM;
	error = report_names_text(names, leaf, index);
	free(leaf);
	return error;
}

/* What the instructions of a kernel waited for. */
static int stall_leaf(struct report_names *names, const struct fold_key *key, uint32_t *index)
{
	uint32_t reason = 0;
	char *leaf;
	int error = key->name_id ? report_names_string(names, key->name_id, &reason) : 0;
	const char *text = key->copy_kind & REPORT_STALL_NOT_SAMPLED ? "not sampled"
			   : key->copy_kind & REPORT_STALL_OTHER     ? "other reasons"
			   : reason ? report_names_get(names, reason)
				    : "unknown";

	if (error)
		return error;
	if (asprintf(&leaf, "[%s]%s%s", kind_name_leaf(key->kind),
		     key->copy_kind & REPORT_STALL_ASSUMED ? MODEL_LINES_NEAR : "", text) < 0)
		return -ENOMEM;
	error = report_names_text(names, leaf, index);
	free(leaf);
	return error;
}

static int make_leaf(struct report_names *names, const struct fold_key *key, int32_t gpu,
		     uint32_t *index)
{
	char number[16] = "?", *leaf;
	const char *text;
	int error;

	if (key->kind == REPORT_KIND_STALL)
		return stall_leaf(names, key, index);
	if (key->kind >= REPORT_KIND_HOST && key->kind < REPORT_KIND_IDLE)
		return host_leaf(names, key, index);
	error = leaf_text(names, key, &text);
	if (error)
		return error;
	if (gpu == REPORT_GPU_ANY)
		*number = '\0';
	else if (gpu != REPORT_GPU_NONE)
		snprintf(number, sizeof(number), "%" PRId32, gpu);
	if (key->kind == RECORD_GPU_ALLOC || key->kind == RECORD_GPU_FREE)
		return memory_leaf(names, key->copy_kind, number, index);
	if (asprintf(&leaf, "[GPU%s_%s]%s", number, kind_name_leaf(key->kind), text) < 0)
		return -ENOMEM;
	error = report_names_text(names, leaf, index);
	free(leaf);
	return error;
}

static bool leaf_name_equals(const void *context, uint32_t id, const void *key)
{
	const struct report_names *names = context;

	return memcmp(&names->leaves[id - 1], key, offsetof(struct leaf_name, index)) == 0;
}

int report_names_leaf(struct report_names *names, const struct fold_key *key, int32_t gpu,
		      uint32_t *index)
{
	struct leaf_name leaf = {key->name_id, gpu, key->kind, key->copy_kind, 0};
	const uint32_t hash = hash_index_hash(&leaf, offsetof(struct leaf_name, index));
	const uint32_t id =
		hash_index_find(&names->leaf_index, hash, leaf_name_equals, names, &leaf);

	if (id) {
		*index = names->leaves[id - 1].index;
		return 0;
	}
	int error = make_leaf(names, key, gpu, &leaf.index);
	if (!error && (array_reserve(&names->leaves, &names->room_leaves, names->nr_leaves + 1ull,
				     sizeof(leaf)) ||
		       hash_index_insert(&names->leaf_index, hash, names->nr_leaves + 1)))
		error = -ENOMEM;
	if (error)
		return error;
	names->leaves[names->nr_leaves++] = leaf;
	*index = leaf.index;
	return 0;
}

int report_names_step(struct report_names *names, struct step_paths *steps,
		      const struct fold_key *key, uint32_t *index)
{
	char text[STEP_KIND_TEXT_MAX];
	struct step step;
	int error = step_paths_find(steps, key->matched ? key->stack_id : RECORD_STACK_NONE,
				    key->capture_stack_id, key->kind == RECORD_GPU_GRAPH, &step);

	*index = 0;
	if (error || step.kind == STEP_OTHER)
		return error;
	step_kind_text(&step, text);
	return report_names_text(names, text, index);
}

bool report_names_has_lines(const struct report_names *names)
{
	return names->lines == REPORT_LINES_ON;
}

uint32_t report_names_count(const struct report_names *names)
{
	return text_pool_count(names->texts);
}

const char *report_names_get(const struct report_names *names, uint32_t index)
{
	return text_pool_get(names->texts, index + 1, NULL);
}

const char **report_names_all(const struct report_names *names)
{
	uint32_t count = report_names_count(names);
	const char **all = calloc(count, sizeof(*all));

	for (uint32_t i = 0; all && i < count; i++)
		all[i] = report_names_get(names, i);
	return all;
}

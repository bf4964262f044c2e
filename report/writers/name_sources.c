#include "name_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/text_pool.h"
#include "base/array.h"
#include "report/names/clean_text.h"
#include "report/names/symbol_part.h"

#define SEVERAL UINT32_MAX

struct source {
	uint64_t line, address;
	uint32_t file;   /* id in the pool; 0: not known; SEVERAL */
	uint32_t module; /* 0: none; SEVERAL */
	bool known;
};

struct name_sources {
	const struct catalog *catalog; /* borrowed */
	bool with_lines;
	struct report_names *names;
	struct text_pool *pool; /* texts of frames, and paths of files */
	struct source *by_text; /* by id in the pool */
	uint32_t room;
};

/* Two frames may have one text: what differs is not told. */
static void merge(struct source *known, const struct source *source)
{
	if (!known->known) {
		*known = *source;
		known->known = true;
		return;
	}
	if (known->file != source->file)
		known->file = SEVERAL;
	if (known->line != source->line)
		known->line = 0;
	if (known->module != source->module)
		known->module = SEVERAL;
	if (known->address != source->address)
		known->address = 0;
}

static int note(struct name_sources *sources, uint32_t name, const struct source *source)
{
	const char *text = report_names_get(sources->names, name);
	uint32_t id;

	if (text_pool_intern(sources->pool, text, (uint32_t)strlen(text), &id) ||
	    array_reserve_zeroed(&sources->by_text, &sources->room, id + 1ull,
				 sizeof(*sources->by_text)))
		return -ENOMEM;
	merge(&sources->by_text[id], source);
	return 0;
}

static int intern_file(struct name_sources *sources, const char *path, size_t size, uint32_t *file)
{
	char *clean = clean_text_of(path, size);
	int error = clean ? text_pool_intern(sources->pool, clean, (uint32_t)strlen(clean), file)
			  : -ENOMEM;

	free(clean);
	return error;
}

/* A part's source is "file:line". */
static int note_part(struct name_sources *sources, uint32_t name, const struct symbol_part *part,
		     uint32_t module)
{
	const char *colon = part->source ? memrchr(part->source, ':', part->source_size) : NULL;
	struct source source = {.module = module};
	int error = 0;

	if (colon) {
		error = intern_file(sources, part->source, (size_t)(colon - part->source),
				    &source.file);
		/* The number ends where the part does. */
		source.line = sources->with_lines ? strtoull(colon + 1, NULL, 10) : 0;
	}
	return error ? error : note(sources, name, &source);
}

static int note_native(struct name_sources *sources, const struct catalog_frame *frame,
		       const uint32_t *names, uint32_t count)
{
	const bool has_symbol = frame->name != CATALOG_NAME_UNKNOWN && frame->name != 0;
	const struct source unnamed = {.module = frame->module,
				       .address = frame->module ? frame->offset : 0};
	struct symbol_part part;
	uint32_t size;
	const char *text = catalog_string(sources->catalog, has_symbol ? frame->name : 0, &size);
	const char *end = text + size;
	int error = 0;

	if (!has_symbol)
		return note(sources, names[0], &unnamed);
	for (uint32_t i = 0; i < count && !error && symbol_part_next(&text, end, &part); i++)
		error = note_part(sources, names[i], &part, frame->module);
	return error;
}

static int note_code(struct name_sources *sources, const struct catalog_frame *frame,
		     const uint32_t *names)
{
	struct source source = {.line = sources->with_lines ? frame->offset : 0};
	uint32_t size;
	const char *path = catalog_string(sources->catalog,
					  catalog_code(sources->catalog, frame->code)->file, &size);
	int error = size ? intern_file(sources, path, size, &source.file) : 0;

	return error ? error : note(sources, names[0], &source);
}

static int note_frames(struct name_sources *sources)
{
	const uint32_t nr_frames = catalog_size(sources->catalog).frames;
	const uint32_t *names;
	uint32_t count;
	int error = 0;

	for (uint32_t id = 1; id <= nr_frames && !error; id++) {
		const struct catalog_frame *frame = catalog_frame(sources->catalog, id);

		error = report_names_frame(sources->names, id, &names, &count);
		if (!error)
			error = frame->code ? note_code(sources, frame, names)
					    : note_native(sources, frame, names, count);
	}
	return error;
}

int name_sources_create(const struct profile *profile, const struct report_options *options,
			struct name_sources **sources)
{
	const enum report_lines lines = options ? options->lines : REPORT_LINES_ON;
	struct name_sources *made = calloc(1, sizeof(*made));
	int error = -ENOMEM;

	*sources = NULL;
	if (!made)
		return -ENOMEM;
	made->catalog = profile->collection->catalog;
	made->with_lines = lines == REPORT_LINES_ON;
	made->names =
		report_names_create(profile, options ? options->demangle : DEMANGLE_FULL, lines);
	made->pool = text_pool_create();
	if (made->names && made->pool)
		error = note_frames(made);
	if (error)
		name_sources_destroy(made);
	else
		*sources = made;
	return error;
}

void name_sources_destroy(struct name_sources *sources)
{
	if (!sources)
		return;
	report_names_destroy(sources->names);
	text_pool_destroy(sources->pool);
	free(sources->by_text);
	free(sources);
}

struct name_source name_sources_find(const struct name_sources *sources, const char *text)
{
	uint32_t id = text_pool_find(sources->pool, text, (uint32_t)strlen(text));
	struct source none = {0};
	const struct source *found = id && id < sources->room ? &sources->by_text[id] : &none;

	return (struct name_source){
		.file = text_pool_get(sources->pool, found->file == SEVERAL ? 0 : found->file,
				      NULL),
		.line = found->file == SEVERAL ? 0 : found->line,
		.module = found->module == SEVERAL ? 0 : found->module,
		.address = found->module == SEVERAL ? 0 : found->address,
	};
}

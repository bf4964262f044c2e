#include "cubin_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cubin_functions.h"
#include "cubin_names.h"
#include "cubin_rows.h"
#include "cubin_targets.h"

#define PATH_NONE UINT32_MAX

struct cubin_lines {
	struct cubin_functions functions;
	struct cubin_rows rows;
	uint32_t *path_of_file; /* owns; offset in the paths, or PATH_NONE */
	char *paths;            /* owns; each ends in a NUL */
	uint32_t paths_size, room_paths;
	struct cubin_names names;
};

/* ---- what is kept of the image */

static int append(struct cubin_lines *lines, const char *text, size_t size)
{
	if (size > CUBIN_PATHS_SIZE_MAX - lines->paths_size)
		return -EBADMSG;
	if (array_reserve(&lines->paths, &lines->room_paths, lines->paths_size + (uint64_t)size, 1))
		return -ENOMEM;
	memcpy(lines->paths + lines->paths_size, text, size);
	lines->paths_size += (uint32_t)size;
	return 0;
}

/* table: the bytes of .debug_line, in which the texts end in a NUL. */
static int add_path(struct cubin_lines *lines, const char *table, uint32_t index)
{
	const struct cubin_file *file = &lines->rows.files[index];
	const char *name = table + file->name, *directory = table + file->directory;
	size_t room = CUBIN_PATH_MAX;
	int error = 0;

	if (lines->path_of_file[index] != PATH_NONE)
		return 0;
	lines->path_of_file[index] = lines->paths_size;
	if (file->directory && *name != '/') {
		const size_t size = strnlen(directory, room - 1);

		error = append(lines, directory, size);
		if (!error)
			error = append(lines, "/", 1);
		room -= size + 1;
	}
	if (!error)
		error = append(lines, name, strnlen(name, room));
	return error ? error : append(lines, "", 1);
}

/* Most tables list many headers that have no code: only files with rows get a path. */
static int make_paths(struct cubin_lines *lines, const char *table)
{
	const struct cubin_rows *rows = &lines->rows;
	int error = 0;

	lines->path_of_file = malloc((rows->nr_files + 1ul) * sizeof(*lines->path_of_file));
	if (!lines->path_of_file)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->nr_files; i++)
		lines->path_of_file[i] = PATH_NONE;
	for (uint32_t i = 0; !error && i < rows->nr_rows; i++)
		if (rows->rows[i].file)
			error = add_path(lines, table, rows->rows[i].file - 1);
	return error;
}

static int read_image(struct cubin_lines *lines, const struct cubin_image *image)
{
	struct cubin_targets targets = {0};
	struct cubin_section table;
	uint32_t index = cubin_image_find(image, ".debug_line", &table);

	if (!index)
		return -ENODATA;
	int error = cubin_targets_init(&targets, image, index);
	if (!error)
		error = cubin_rows_init(&lines->rows, image, &table, &targets);
	cubin_targets_fini(&targets);
	if (!error)
		error = cubin_functions_init(&lines->functions, image);
	if (!error)
		error = make_paths(lines, (const char *)image->data + table.offset);
	return error ? error : cubin_names_init(&lines->names, &lines->rows, image);
}

int cubin_lines_create(const void *data, size_t size, struct cubin_lines **lines)
{
	struct cubin_lines *made = calloc(1, sizeof(*made));
	struct cubin_image image;

	*lines = NULL;
	if (!made)
		return -ENOMEM;
	int error = cubin_image_open(data, size, &image);
	if (!error)
		error = read_image(made, &image);
	if (error) {
		cubin_lines_destroy(made);
		return error;
	}
	*lines = made;
	return 0;
}

void cubin_lines_destroy(struct cubin_lines *lines)
{
	if (!lines)
		return;
	cubin_functions_fini(&lines->functions);
	cubin_rows_fini(&lines->rows);
	free(lines->path_of_file);
	free(lines->paths);
	cubin_names_fini(&lines->names);
	free(lines);
}

size_t cubin_lines_size(const struct cubin_lines *lines)
{
	const struct cubin_rows *rows = &lines->rows;
	const struct cubin_functions *functions = &lines->functions;

	return sizeof(*lines) + rows->room_rows * sizeof(*rows->rows) +
	       rows->room_places * sizeof(*rows->places) + rows->room_files * sizeof(*rows->files) +
	       rows->room_units * sizeof(*rows->units) +
	       rows->nr_files * sizeof(*lines->path_of_file) + lines->room_paths +
	       lines->names.size + functions->room * sizeof(*functions->items) +
	       (functions->index.mask + 1ul) * sizeof(*functions->index.slots) +
	       functions->names_size;
}

/* ---- search */

/* The row that has the byte at address; NULL: none. Rows that begin before the function are not its own. */
static const struct cubin_row *find_row(const struct cubin_rows *rows,
					const struct cubin_function *function, uint64_t address)
{
	uint32_t low = 0, high = rows->nr_places;

	while (low < high) { /* places before low begin at or before the address */
		uint32_t middle = low + (high - low) / 2;
		const struct cubin_place *place = &rows->places[middle];

		if (place->section < function->section ||
		    (place->section == function->section && place->address <= address))
			low = middle + 1;
		else
			high = middle;
	}
	const struct cubin_place *place = low ? &rows->places[low - 1] : NULL;
	if (!place || place->section != function->section || place->row == CUBIN_ROW_END ||
	    place->address < function->start || rows->rows[place->row].line == 0)
		return NULL;
	return &rows->rows[place->row];
}

static struct cubin_frame frame_of(const struct cubin_lines *lines, const struct cubin_row *row,
				   const char *function)
{
	uint32_t path = row->file ? lines->path_of_file[row->file - 1] : PATH_NONE;

	return (struct cubin_frame){
		.function = row->caller ? cubin_names_text(&lines->names, row->name) : function,
		.file = path != PATH_NONE ? lines->paths + path : NULL,
		.line = row->line,
	};
}

struct cubin_code cubin_lines_code(const struct cubin_lines *lines, const char *function)
{
	return (struct cubin_code){lines, cubin_functions_find(&lines->functions, function)};
}

size_t cubin_code_find(struct cubin_code code, uint64_t offset,
		       struct cubin_frame frames[CUBIN_FRAMES_MAX])
{
	const struct cubin_lines *lines = code.lines;
	const struct cubin_function *asked = code.function;
	size_t count = 0;

	if (!asked || offset >= asked->size)
		return 0;
	uint64_t address = asked->start + offset;
	const struct cubin_function *own =
		cubin_functions_at(&lines->functions, asked->section, address);
	if (!own)
		own = asked;
	const char *name = cubin_functions_name(&lines->functions, own);
	const struct cubin_row *row = find_row(&lines->rows, own, address);
	if (!row) {
		frames[0] = (struct cubin_frame){.function = name};
		return own == asked ? 0 : 1;
	}
	while (row && count < CUBIN_FRAMES_MAX) {
		frames[count++] = frame_of(lines, row, name);
		row = row->caller ? &lines->rows.rows[row->caller - 1] : NULL;
	}
	return count;
}

#include "pprof_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "deflate_file.h"
#include "leaf_sums.h"
#include "name_sources.h"
#include "protobuf_text.h"
#include "text_file.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "aggregator/profile/text_pool.h"
#include "base/array.h"
#include "base/hash_index.h"
#include "report/model/report_summary.h"
#include "report/names/clean_text.h"

#define COLUMNS_MAX (3u * REPORT_PLANES)

/* Numbers of fields in profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum value_type_field { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

enum amount { AMOUNT_NS, AMOUNT_COUNT, AMOUNT_BYTES };

/* A value that each sample has: 0 in samples of other planes. */
struct column {
	uint32_t plane;
	enum amount amount;
};

struct function {
	uint64_t name, file;
};

struct pprof {
	const struct pprof_input *input;
	FILE *out; /* takes the message */
	struct name_sources *sources;
	struct text_pool *strings;       /* ids are those of the file + 1 */
	struct protobuf_text text, part; /* a field, and a message within it */
	struct column columns[COLUMNS_MAX];
	uint32_t nr_columns;
	struct report_by labels;
	uint64_t *locations; /* by string of the tree: its location; 0: not written yet */
	uint64_t nr_locations;
	struct function *functions;
	uint32_t nr_functions, room_functions;
	struct hash_index function_index; /* of functions, + 1 */
	bool *mappings;                   /* by module: it is written */
	uint64_t chain[REPORT_DEPTH_MAX + 1];
	bool failed; /* no memory */
};

/* ---- strings */

static uint64_t string_of(struct pprof *pprof, const char *text, size_t size)
{
	uint32_t id;

	if (text_pool_intern(pprof->strings, text, (uint32_t)size, &id)) {
		pprof->failed = true;
		return 0;
	}
	return id - 1;
}

static uint64_t string(struct pprof *pprof, const char *text)
{
	return string_of(pprof, text, strlen(text));
}

static void write_strings(struct pprof *pprof)
{
	const uint32_t nr_strings = text_pool_count(pprof->strings);

	for (uint32_t id = 1; id <= nr_strings; id++) {
		uint32_t size;
		const char *text = text_pool_get(pprof->strings, id, &size);

		protobuf_text_bytes(&pprof->text, PROFILE_STRING, text, size);
		fwrite(pprof->text.bytes, 1, pprof->text.size, pprof->out);
		pprof->failed |= pprof->text.failed;
		protobuf_text_clear(&pprof->text);
	}
}

/* Ends a field of the profile. */
static void end_field(struct pprof *pprof, enum profile_field field)
{
	if (protobuf_text_write(&pprof->text, field, pprof->out))
		pprof->failed = true;
}

/* Appends the message within the field. */
static void end_part(struct pprof *pprof, uint32_t field)
{
	protobuf_text_bytes(&pprof->text, field, pprof->part.bytes, pprof->part.size);
	pprof->failed |= pprof->part.failed;
	protobuf_text_clear(&pprof->part);
}

static void write_number(struct pprof *pprof, enum profile_field field, uint64_t number)
{
	protobuf_text_number(&pprof->text, field, number);
	fwrite(pprof->text.bytes, 1, pprof->text.size, pprof->out);
	pprof->failed |= pprof->text.failed;
	protobuf_text_clear(&pprof->text);
}

/* ---- types of values */

static void write_type(struct pprof *pprof, enum profile_field field, const char *name,
		       const char *unit)
{
	protobuf_text_number(&pprof->text, TYPE_NAME, string(pprof, name));
	protobuf_text_number(&pprof->text, TYPE_UNIT, string(pprof, unit));
	end_field(pprof, field);
}

static void name_column(const struct column *column, char name[static 32])
{
	static const char *const gpu[] = {"gpu_time", "launches", "bytes"};
	static const char *const others[] = {"time", "count", "bytes"};

	if (column->plane == REPORT_PLANE_GPU)
		snprintf(name, 32, "%s", gpu[column->amount]);
	else
		snprintf(name, 32, "%s_%s", report_plane_name((enum report_plane)column->plane),
			 others[column->amount]);
}

static void add_column(struct pprof *pprof, uint32_t plane, enum amount amount)
{
	static const char *const units[] = {"nanoseconds", "count", "bytes"};
	const struct column column = {plane, amount};
	char name[32];

	name_column(&column, name);
	pprof->columns[pprof->nr_columns++] = column;
	write_type(pprof, PROFILE_SAMPLE_TYPE, name, units[amount]);
	if (pprof->nr_columns > 1)
		return;
	write_number(pprof, PROFILE_DEFAULT_TYPE, string(pprof, name));
	write_type(pprof, PROFILE_PERIOD_TYPE, name, units[amount]);
	write_number(pprof, PROFILE_PERIOD, 1); /* nothing was sampled */
}

/* Memory has no time, and most planes no bytes. */
static void write_types(struct pprof *pprof)
{
	const struct report_tree *tree = pprof->input->tree;

	for (uint32_t plane = 0; plane < REPORT_PLANES; plane++) {
		const bool is_memory = plane == REPORT_PLANE_MEMORY;

		if (!(tree->planes & 1u << plane))
			continue;
		if (is_memory)
			add_column(pprof, plane, AMOUNT_BYTES);
		else
			add_column(pprof, plane, AMOUNT_NS);
		add_column(pprof, plane, AMOUNT_COUNT);
		if (!is_memory && tree->plane_totals[plane].bytes)
			add_column(pprof, plane, AMOUNT_BYTES);
	}
}

/* ---- code */

static void write_mapping(struct pprof *pprof, uint32_t id)
{
	const struct catalog *catalog = pprof->input->profile->collection->catalog;
	const struct catalog_module *module = catalog_module(catalog, id);
	char build_id[2 * WIRE_BUILD_ID_MAX + 1] = "";
	uint32_t size;
	const char *path = catalog_string(catalog, module->path, &size);

	if (id == 0 || pprof->mappings[id])
		return;
	pprof->mappings[id] = true;
	char *clean = clean_text_of(path, size);
	if (!clean) {
		pprof->failed = true;
		return;
	}
	for (uint32_t i = 0; i < module->build_id_size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	protobuf_text_number(&pprof->text, MAPPING_ID, id);
	protobuf_text_number(&pprof->text, MAPPING_FILE, string(pprof, clean));
	free(clean);
	protobuf_text_number(&pprof->text, MAPPING_BUILD_ID, string(pprof, build_id));
	protobuf_text_number(&pprof->text, MAPPING_HAS_FUNCTIONS, 1);
	end_field(pprof, PROFILE_MAPPING);
}

static bool function_equals(const void *context, uint32_t id, const void *key)
{
	const struct pprof *pprof = context;

	return memcmp(&pprof->functions[id - 1], key, sizeof(struct function)) == 0;
}

/* Returns the function's id. */
static uint64_t write_function(struct pprof *pprof, const struct function *function)
{
	uint32_t hash = hash_index_hash(function, sizeof(*function));
	uint32_t id =
		hash_index_find(&pprof->function_index, hash, function_equals, pprof, function);

	if (id)
		return id;
	id = pprof->nr_functions + 1;
	if (array_reserve(&pprof->functions, &pprof->room_functions, id, sizeof(*function)) ||
	    hash_index_insert(&pprof->function_index, hash, id)) {
		pprof->failed = true;
		return 0;
	}
	pprof->functions[pprof->nr_functions++] = *function;
	protobuf_text_number(&pprof->text, FUNCTION_ID, id);
	protobuf_text_number(&pprof->text, FUNCTION_NAME, function->name);
	protobuf_text_number(&pprof->text, FUNCTION_FILE, function->file);
	end_field(pprof, PROFILE_FUNCTION);
	return id;
}

/* Returns the size of a frame's text without the line, so that all lines of a function are one. */
static size_t size_without_line(const char *text, uint64_t line)
{
	char number[24];
	size_t size = strlen(text);
	size_t end = (size_t)snprintf(number, sizeof(number), ":%" PRIu64, line);

	return line && size > end && strcmp(text + size - end, number) == 0 ? size - end : size;
}

static void write_location(struct pprof *pprof, const char *text, uint64_t id)
{
	const struct name_source source = name_sources_find(pprof->sources, text);
	struct function function = {.file = string(pprof, source.file)};

	function.name = string_of(pprof, text, size_without_line(text, source.line));
	uint64_t function_id = write_function(pprof, &function);
	write_mapping(pprof, source.module);
	protobuf_text_number(&pprof->text, LOCATION_ID, id);
	protobuf_text_number(&pprof->text, LOCATION_MAPPING, source.module);
	protobuf_text_number(&pprof->text, LOCATION_ADDRESS, source.address);
	protobuf_text_number(&pprof->part, LINE_FUNCTION, function_id);
	protobuf_text_number(&pprof->part, LINE_NUMBER, source.line);
	end_part(pprof, LOCATION_LINE);
	end_field(pprof, PROFILE_LOCATION);
}

/* Returns the location of a text of the tree, which is written once. The GPU is taken from a leaf's name. */
static uint64_t location(struct pprof *pprof, uint32_t string)
{
	const char *name = pprof->input->tree->strings[string];
	char first, *whole = NULL;

	if (pprof->locations[string])
		return pprof->locations[string];
	const char *rest = leaf_sums_name(name, &first);
	if (first && asprintf(&whole, "%c%s", first, rest) < 0) {
		pprof->failed = true;
		return 0;
	}
	pprof->locations[string] = ++pprof->nr_locations;
	write_location(pprof, whole ? whole : name, pprof->nr_locations);
	free(whole);
	return pprof->locations[string];
}

/* ---- samples */

/* Writes the locations' own fields, and then collects their ids, leaf first. */
static uint32_t make_chain(struct pprof *pprof, const struct leaf_sum *sum)
{
	const struct report_tree *tree = pprof->input->tree;
	uint32_t depth = 0;

	pprof->chain[depth++] = location(pprof, sum->name);
	for (uint32_t node = sum->node; node != REPORT_NODE_ROOT && depth <= REPORT_DEPTH_MAX;
	     node = tree->nodes[node].parent)
		pprof->chain[depth++] = location(pprof, tree->nodes[node].name);
	return depth;
}

static void append_label(struct pprof *pprof, enum report_dimension dimension, uint32_t value)
{
	char text[LEAF_SUMS_TEXT_SIZE];
	const char *word = leaf_sums_value(pprof->input->tree, dimension, value, text);

	if (!word)
		return;
	protobuf_text_number(&pprof->part, LABEL_KEY,
			     string(pprof, report_dimension_word(dimension)));
	protobuf_text_number(&pprof->part, LABEL_TEXT, string(pprof, word));
	end_part(pprof, SAMPLE_LABEL);
}

static void write_sample(struct pprof *pprof, const struct leaf_sum *sum)
{
	uint32_t depth = make_chain(pprof, sum);
	uint64_t values[COLUMNS_MAX];

	for (uint32_t i = 0; i < pprof->nr_columns; i++) {
		const struct column *column = &pprof->columns[i];

		values[i] = column->plane != sum->plane      ? 0
			    : column->amount == AMOUNT_NS    ? sum->ns
			    : column->amount == AMOUNT_COUNT ? sum->count
							     : sum->bytes;
	}
	protobuf_text_numbers(&pprof->text, SAMPLE_LOCATIONS, pprof->chain, depth);
	protobuf_text_numbers(&pprof->text, SAMPLE_VALUES, values, pprof->nr_columns);
	for (uint32_t i = 0; i < pprof->labels.nr_dimensions; i++)
		append_label(pprof, pprof->labels.dimensions[i], sum->values[i]);
	end_field(pprof, PROFILE_SAMPLE);
}

static int write_samples(struct pprof *pprof)
{
	struct leaf_sums sums;
	int error = leaf_sums_init(&sums, pprof->input->tree, &pprof->labels);

	for (uint32_t i = 0; i < sums.nr_sums && !error; i++) {
		write_sample(pprof, &sums.sums[i]);
		error = pprof->failed ? -ENOMEM : 0;
	}
	leaf_sums_fini(&sums);
	return error;
}

/* ---- about the profile */

/* Its time is that of the last word of a process, less the longest time that a GPU was in use. */
static void write_times(struct pprof *pprof)
{
	const struct roster *roster = pprof->input->profile->collection->roster;
	const struct report_busy *busy = pprof->input->busy;
	uint64_t end_ns = 0, duration_ns = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (roster_process(roster, id)->spoke_ns > end_ns)
			end_ns = roster_process(roster, id)->spoke_ns;
	for (uint32_t i = 0; i < busy->nr_rows; i++)
		if (busy->rows[i].whole_device &&
		    busy->rows[i].last_ns - busy->rows[i].first_ns > duration_ns)
			duration_ns = busy->rows[i].last_ns - busy->rows[i].first_ns;
	write_number(pprof, PROFILE_TIME_NS, end_ns > duration_ns ? end_ns - duration_ns : 0);
	write_number(pprof, PROFILE_DURATION_NS, duration_ns);
}

static int write_comments(struct pprof *pprof)
{
	const struct report_tree *tree = pprof->input->tree;
	char *lines = NULL, *rest, *line;
	size_t size;
	FILE *text = open_memstream(&lines, &size);

	if (!text)
		return -ENOMEM;
	fprintf(text, "%s\n", tree->title);
	report_summary_write(text, tree, "");
	report_summary_planes(text, tree, "");
	report_summary_notices(text, tree, "");
	if (fclose(text)) {
		free(lines);
		return -ENOMEM;
	}
	for (line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		write_number(pprof, PROFILE_COMMENT, string(pprof, line));
	free(lines);
	return 0;
}

/* An array of 20,481 numbers is too large for a stack. */
static struct pprof *create(const struct pprof_input *input)
{
	const struct catalog *catalog = input->profile->collection->catalog;
	struct pprof *pprof = calloc(1, sizeof(*pprof));

	if (!pprof)
		return NULL;
	pprof->input = input;
	pprof->mappings = calloc(catalog_size(catalog).modules + 1ul, sizeof(*pprof->mappings));
	pprof->locations = calloc(input->tree->nr_strings + 1ul, sizeof(*pprof->locations));
	pprof->strings = text_pool_create();
	pprof->failed = !pprof->mappings || !pprof->locations || !pprof->strings ||
			name_sources_create(input->profile, input->options, &pprof->sources);
	return pprof;
}

static void destroy(struct pprof *pprof)
{
	if (!pprof)
		return;
	name_sources_destroy(pprof->sources);
	text_pool_destroy(pprof->strings);
	protobuf_text_fini(&pprof->text);
	protobuf_text_fini(&pprof->part);
	hash_index_fini(&pprof->function_index);
	free(pprof->functions);
	free(pprof->locations);
	free(pprof->mappings);
	free(pprof);
}

static int write_message(struct pprof *pprof)
{
	const bool is_part = pprof->input->time_ns != 0;

	string(pprof, ""); /* the first string must be this one */
	if (!is_part)
		leaf_sums_labels(pprof->input->tree, pprof->input->by, &pprof->labels);
	write_types(pprof);
	if (is_part)
		write_number(pprof, PROFILE_TIME_NS, pprof->input->time_ns);
	else
		write_times(pprof);
	int error = write_samples(pprof);
	if (!error && !is_part)
		error = write_comments(pprof);
	if (!error)
		write_strings(pprof);
	return pprof->failed ? -ENOMEM : error;
}

int pprof_writer_write(FILE *out, const struct pprof_input *input)
{
	struct pprof *pprof = create(input);
	int error = -ENOMEM;

	if (pprof && !pprof->failed) {
		pprof->out = deflate_file_open(out, DEFLATE_GZIP);
		if (pprof->out) {
			error = write_message(pprof);
			fclose(pprof->out); /* the error of a failed write is out's */
		}
	}
	destroy(pprof);
	return error ? error : text_file_flush(out);
}

#include "sample_writer.h"

#include <errno.h>
#include <inttypes.h>

#include "folded_writer.h"
#include "text_file.h"

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/roster.h"
#include "aggregator/store/database.h"
#include "aggregator/store/store_raw.h"
#include "report/model/report_clocks.h"
#include "report/model/report_paths.h"

#define NS_PER_S 1000000000u

struct sample_writer {
	FILE *out;
	const struct profile *profile;
	const struct report_clocks *clocks; /* NULL: no fields of clocks */
	uint32_t planes;
	struct report_names *names; /* owns */
	struct report_paths *paths; /* owns */
};

/* Writes one word. Characters that separate words, frames or lines are replaced. */
static void write_word(FILE *out, const char *text, uint32_t size)
{
	if (size == 0)
		fputc('-', out);
	for (uint32_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte <= ' ' || byte == ';' || byte == '\\' || byte >= 0x7f)
			fprintf(out, "\\x%02x", byte);
		else
			fputc(byte, out);
	}
}

static void write_path(const struct sample_writer *writer, uint32_t node)
{
	uint32_t chain[REPORT_DEPTH_MAX], depth = 0;

	for (; node != REPORT_NODE_ROOT && depth < REPORT_DEPTH_MAX;
	     node = report_paths_node(writer->paths, node)->parent)
		chain[depth++] = node;
	while (depth > 0) {
		const struct report_node *frame = report_paths_node(writer->paths, chain[--depth]);

		folded_writer_frame(writer->out, report_names_get(writer->names, frame->name));
		fputc(';', writer->out);
	}
}

static bool is_held(const struct sample_writer *writer, const struct raw_sample *raw)
{
	const struct collection *collection = writer->profile->collection;
	struct catalog_size size = catalog_size(collection->catalog);

	return roster_process(collection->roster, raw->process_id) &&
	       raw->sample.stack_id <= size.nodes && raw->sample.name_id <= size.strings &&
	       raw->sample.command_id <= size.strings;
}

/* Writes the host, the time by the aggregator's CLOCK_REALTIME, and the bound of its error. */
static void write_clock(const struct sample_writer *writer, const struct raw_sample *raw)
{
	const struct collection *collection = writer->profile->collection;
	uint32_t size, host = roster_process(collection->roster, raw->process_id)->identity.host;
	const struct roster_host *known = roster_host(collection->roster, host);
	const char *node = catalog_string(collection->catalog, known ? known->node : 0, &size);
	struct clock_map_place place;

	write_word(writer->out, node, size);
	if (!clock_map_find(writer->clocks->map, host, raw->sample.time_ns, &place) ||
	    !place.reference_realtime_offset_ns) {
		fputs(" - - ", writer->out);
		return;
	}
	uint64_t time_ns = raw->sample.time_ns - (uint64_t)place.offset_ns +
			   (uint64_t)place.reference_realtime_offset_ns;
	fprintf(writer->out, " %" PRIu64 ".%09" PRIu64 " %" PRIu64 " ", time_ns / NS_PER_S,
		time_ns % NS_PER_S, place.bound_ns);
}

static int write_sample(void *context, const struct raw_sample *raw, int64_t realtime_offset_ns)
{
	const struct sample_writer *writer = context;
	const struct collection *collection = writer->profile->collection;
	const struct host_sample *sample = &raw->sample;
	const struct fold_key key = {
		.process_id = raw->process_id,
		.tid = sample->tid,
		.stack_id = sample->stack_id,
		.name_id = sample->name_id,
		.kind = (uint8_t)(REPORT_KIND_HOST + sample->kind),
		.matched = 1,
	};
	uint64_t time_ns = sample->time_ns + (uint64_t)realtime_offset_ns;
	uint32_t node, leaf, size;

	if (!is_held(writer, raw))
		return -EPROTO;
	if (writer->planes && !(writer->planes & 1u << report_plane_of(key.kind)))
		return 0;
	int error = report_paths_find(writer->paths, &key, &node);
	if (!error)
		error = report_names_leaf(writer->names, &key, REPORT_GPU_NONE, &leaf);
	if (error)
		return error;
	const char *command = catalog_string(collection->catalog, sample->command_id, &size);
	fprintf(writer->out, "%" PRIu64 ".%09" PRIu64 " ", time_ns / NS_PER_S, time_ns % NS_PER_S);
	if (writer->clocks)
		write_clock(writer, raw);
	write_word(writer->out, command, size);
	fprintf(writer->out, " %" PRIu32 " %" PRIu32 " %" PRIu32 " ",
		roster_process(collection->roster, raw->process_id)->identity.pid, sample->tid,
		sample->cpu);
	write_path(writer, node);
	folded_writer_frame(writer->out, report_names_get(writer->names, leaf));
	fputc('\n', writer->out);
	return ferror(writer->out) ? text_file_flush(writer->out) : 0;
}

static int write_all(struct sample_writer *writer, const char *path)
{
	struct database *database;
	int error = database_open(path, true, &database, NULL);

	if (error)
		return error;
	error = store_raw_each(database, writer->profile->raw_samples, write_sample, writer);
	database_close(database);
	if (!error)
		error = text_file_flush(writer->out);
	return error;
}

int sample_writer_write(FILE *out, const char *path, const struct profile *profile,
			const struct report_options *options, const struct report_clocks *clocks)
{
	static const struct report_options defaults;
	struct sample_writer writer = {.out = out, .profile = profile, .clocks = clocks};
	int error = -ENOMEM;

	if (!options)
		options = &defaults;
	writer.planes = options->planes;
	writer.names = report_names_create(profile, options->demangle, options->lines);
	if (writer.names)
		writer.paths = report_paths_create(profile->collection->catalog, writer.names,
						   &(struct report_paths_view){0});
	if (writer.paths)
		error = write_all(&writer, path);
	report_paths_destroy(writer.paths);
	report_names_destroy(writer.names);
	return error;
}

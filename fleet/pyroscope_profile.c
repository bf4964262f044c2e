#include "pyroscope_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory_text.h"
#include "report/writers/html/base64_file.h"
#include "report/writers/pprof_writer.h"

/* A server takes 4 MiB a profile, and 2 MiB at once, unless it is told otherwise. */
#define PROFILE_BYTES_MAX (1u << 20)
#define ROWS_MAX          4000u
#define ISIZE_BYTES       4u /* at the end of what gzip wrote: the size of the text */

static int begin(void *context, uint64_t number, enum export_rows kind)
{
	struct pyroscope_profile *profile = context;

	(void)kind; /* work; there are no losses */
	free(profile->labels);
	profile->labels = NULL;
	profile->nr_leaves = 0;
	profile->number = number;
	return 0;
}

static int add_row(void *context, const struct export_delta *delta)
{
	struct pyroscope_profile *profile = context;

	if (!profile->labels)
		profile->labels = strndup(delta->place, delta->place_size);
	if (!profile->labels || array_reserve(&profile->leaves, &profile->room_leaves,
					      profile->nr_leaves + 1, sizeof(*profile->leaves)))
		return -ENOMEM;
	struct report_leaf *leaf = &profile->leaves[profile->nr_leaves++];
	*leaf = profile->view->tree->leaves[delta->leaf];
	leaf->count = (uint64_t)delta->count;
	leaf->ns = (uint64_t)delta->ns;
	leaf->bytes = (uint64_t)delta->bytes;
	return 0;
}

/* The profile, compressed. The caller owns *bytes. */
static int write_profile(const struct pyroscope_profile *profile, char **bytes, size_t *size)
{
	const struct report_view *view = profile->view;
	struct report_tree part = *view->tree;
	const struct pprof_input input = {.profile = view->profile,
					  .options = view->options,
					  .tree = &part,
					  .time_ns = profile->time_ns};
	struct memory_text memory;
	int status = memory_text_open(&memory);

	*bytes = NULL;
	if (status)
		return status;
	part.leaves = profile->leaves;
	part.nr_leaves = profile->nr_leaves;
	status = pprof_writer_write(memory.out, &input);
	if (status) {
		memory_text_drop(&memory);
		return status;
	}
	return memory_text_take(&memory, bytes, size);
}

static uint32_t uncompressed_size(const char *bytes, size_t size)
{
	uint32_t result = 0;

	for (size_t i = 0; i < ISIZE_BYTES && i < size; i++)
		result = result << 8 | (unsigned char)bytes[size - 1 - i];
	return result;
}

/* The id is the same for each attempt. */
static int write_push(FILE *out, const struct pyroscope_profile *profile, const char *bytes,
		      size_t size)
{
	const char *source = profile->source;

	fprintf(out, "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"flamegrid\"},"
		     "{\"name\":\"service_name\",\"value\":\"flamegrid\"}");
	fprintf(out, "%s],\"samples\":[{\"ID\":\"%.8s-%.4s-%.4s-%04" PRIx64 "-%012" PRIx64 "\",",
		profile->labels, source, source + 8, source + 12, profile->number >> 48,
		profile->number & 0xffffffffffffu);
	fputs("\"rawProfile\":\"", out);
	FILE *base64 = base64_file_open(out);
	if (!base64)
		return -ENOMEM;
	fwrite(bytes, 1, size, base64);
	fclose(base64);
	fputs("\"}]}]}", out);
	return 0;
}

static int end(void *context, struct export_batch *batch)
{
	struct pyroscope_profile *profile = context;
	struct memory_text memory = {0};
	char *bytes, *body = NULL;
	size_t size = 0;

	if (!profile->labels)
		return -ENOMEM;
	int status = write_profile(profile, &bytes, &size);
	if (!status && profile->nr_leaves > 1 && uncompressed_size(bytes, size) > PROFILE_BYTES_MAX)
		status = -E2BIG;
	if (!status)
		status = memory_text_open(&memory);
	if (!status)
		status = write_push(memory.out, profile, bytes, size);
	if (!status)
		status = memory_text_take(&memory, &body, &batch->body_size);
	memory_text_drop(&memory);
	free(bytes);
	batch->body = body;
	profile->time_ns++;
	return status;
}

void pyroscope_profile_maker(struct pyroscope_profile *profile, struct export_maker *maker)
{
	*maker = (struct export_maker){.context = profile,
				       .rows_max = ROWS_MAX,
				       .only_grows = true,
				       .begin = begin,
				       .row = add_row,
				       .end = end};
}

void pyroscope_profile_fini(struct pyroscope_profile *profile)
{
	free(profile->labels);
	free(profile->leaves);
	*profile = (struct pyroscope_profile){0};
}

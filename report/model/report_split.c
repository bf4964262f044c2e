#include "report_split.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/catalog.h"
#include "aggregator/profile/collective_log.h"
#include "aggregator/profile/collective_split.h"
#include "aggregator/profile/nccl_kernel.h"
#include "aggregator/profile/roster.h"
#include "proto/record.h"
#include "report/names/clean_text.h"

/* What has been given of a split. The parts are numbered: moving, several, then the ranks. */
struct given {
	uint64_t count;
	uint64_t *ns; /* owns; of each part; NULL: nothing */
};

struct report_split {
	const struct profile *profile;
	struct given *given; /* by split */
};

struct report_split *report_split_create(const struct profile *profile)
{
	struct report_split *split = calloc(1, sizeof(*split));

	if (!split)
		return NULL;
	split->profile = profile;
	split->given = calloc(profile->splits.count + 1ul, sizeof(*split->given));
	if (!split->given) {
		free(split);
		return NULL;
	}
	return split;
}

void report_split_destroy(struct report_split *split)
{
	if (!split)
		return;
	for (uint32_t i = 0; i < split->profile->splits.count; i++)
		free(split->given[i].ns);
	free(split->given);
	free(split);
}

/* ---- names */

static void name_gpu(const struct roster *roster, const struct roster_process *process,
		     uint32_t device_id, char *text)
{
	const struct roster_device *device =
		roster_device(roster, roster_process_device(process, device_id));

	if (device && device->index >= 0)
		snprintf(text, REPORT_SPLIT_TEXT_MAX, REPORT_SPLIT_WAITS_FOR "GPU %" PRId32 "]",
			 device->index);
	else
		snprintf(text, REPORT_SPLIT_TEXT_MAX, REPORT_SPLIT_WAITS_FOR "device %" PRIu32 "]",
			 device_id);
}

static int name_process(const struct collection *collection, const struct roster_process *process,
			char *text)
{
	const struct roster_host *host = roster_host(collection->roster, process->identity.host);
	uint32_t size;
	const char *name = catalog_string(collection->catalog, host ? host->node : 0, &size);
	char *clean = clean_text_of(name, size);

	if (!clean)
		return -ENOMEM;
	snprintf(text, REPORT_SPLIT_TEXT_MAX, REPORT_SPLIT_WAITS_FOR "pid %" PRIu32 " on %.64s]",
		 process->identity.pid, clean);
	free(clean);
	return 0;
}

/* A process with several GPUs waits for another one of its own. Ranks of two jobs may have one number. */
static int name_wait(const struct report_split *split, uint32_t process,
		     const struct collective_split_wait *wait, char *text)
{
	const struct collection *collection = split->profile->collection;
	const struct roster_process *own = roster_process(collection->roster, process);
	const struct roster_process *other = roster_process(collection->roster, wait->process);

	if (!other)
		snprintf(text, REPORT_SPLIT_TEXT_MAX, REPORT_SPLIT_WAITS_FOR "another rank]");
	else if (other == own)
		name_gpu(collection->roster, own, wait->device_id, text);
	else if (other->rank >= 0 && other->rank != own->rank)
		snprintf(text, REPORT_SPLIT_TEXT_MAX, REPORT_SPLIT_WAITS_FOR "rank %" PRId32 "]",
			 other->rank);
	else
		return name_process(collection, other, text);
	return 0;
}

/* ---- parts */

/* One total while it is taken apart. */
struct taking {
	struct fold_row left;
	report_split_take *take;
	void *context;
};

/* Leaves an empty histogram; another row has it. */
static void forget_durations(struct fold_row *row)
{
	memset(row->near, 0, sizeof(row->near));
	row->bins = (struct duration_bins){.first = NULL};
}

/* Gives up to *ns of the total, less what was given before. */
static int give(struct taking *taking, uint64_t count, uint64_t ns, uint64_t *given,
		enum report_split_part which, const char *text)
{
	/* The first part has the histogram of the whole. */
	struct fold_row part = taking->left;

	part.count = count;
	part.bytes = 0;
	part.ns = ns - *given < taking->left.ns ? ns - *given : taking->left.ns;
	if (part.count > taking->left.count)
		part.count = taking->left.count;
	if (!part.ns && !part.count)
		return 0;
	*given += part.ns;
	taking->left.ns -= part.ns;
	taking->left.count -= part.count;
	if (part.near_first < FOLD_NEAR_NONE)
		forget_durations(&taking->left);
	return taking->take(taking->context, &part, which, text);
}

static int give_split(struct report_split *split, struct taking *taking,
		      const struct collective_split *from)
{
	struct given *given = &split->given[from - split->profile->splits.splits];
	char text[REPORT_SPLIT_TEXT_MAX];

	if (!given->ns)
		given->ns = calloc(from->nr_waits + 2ul, sizeof(*given->ns));
	if (!given->ns)
		return -ENOMEM;
	uint64_t count = taking->left.count;
	int error = give(taking, from->kernels - given->count, from->moves_ns, &given->ns[0],
			 REPORT_SPLIT_MOVES, "[moves data]");
	given->count += count - taking->left.count;
	if (!error)
		error = give(taking, 0, from->several_ns, &given->ns[1], REPORT_SPLIT_WAITS,
			     "[waits for several ranks]");
	for (uint32_t i = 0; i < from->nr_waits && !error; i++) {
		error = name_wait(split, from->key.process, &from->waits[i], text);
		if (!error)
			error = give(taking, 0, from->waits[i].ns, &given->ns[i + 2],
				     REPORT_SPLIT_WAITS, text);
	}
	return error;
}

static bool is_kernel_of_calls(const struct report_split *split, const struct fold_key *key)
{
	const struct collection *collection = split->profile->collection;
	uint32_t size;

	if (key->kind != RECORD_GPU_KERNEL ||
	    !collective_log_defined(collection->collectives, key->process_id))
		return false;
	const char *name = catalog_string(collection->catalog, key->name_id, &size);
	return nccl_kernel_is(name, size);
}

int report_split_each(struct report_split *split, const struct fold_row *row,
		      report_split_take *take, void *context)
{
	const struct fold_key *key = &row->key;
	const struct collective_split_key wanted = {
		key->process_id, key->device_id, key->context_id, key->stream_id,
		key->tid,        key->stack_id,  key->name_id,
	};
	struct taking taking = {*row, take, context};
	const struct collective_split *found = NULL;
	int error = 0;

	if (key->kind == RECORD_GPU_KERNEL && key->matched && !key->capture_stack_id)
		found = collective_splits_find(&split->profile->splits, &wanted);
	if (!found && !is_kernel_of_calls(split, key))
		return take(context, row, REPORT_SPLIT_WHOLE, "");
	if (found)
		error = give_split(split, &taking, found);
	if (!error && (taking.left.ns || taking.left.count))
		error = take(context, &taking.left, REPORT_SPLIT_NOT, "[not split]");
	return error;
}

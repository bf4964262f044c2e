#include "report_samples.h"

#include <errno.h>
#include <stddef.h>

#include "report_tree.h"

#include "aggregator/core/idle_fold.h"

static const struct fold_row *idle_rows(const struct profile *profile, uint32_t *count)
{
	*count = 0;
	return profile->idle ? fold_table_rows(profile->idle, count) : NULL;
}

static int take_sample(struct fold_row row, report_samples_take *take, void *context)
{
	if (row.key.kind >= HOST_SAMPLE_KINDS)
		return -EPROTO;
	if (row.key.kind >= HOST_SAMPLE_KERNEL)
		return 0;
	row.key.device_id = RECORD_DEVICE_NONE;
	row.key.kind = (uint8_t)(REPORT_KIND_HOST + row.key.kind);
	row.key.matched = 1;
	return take(context, &row);
}

static int take_idle(struct fold_row row, report_samples_take *take, void *context)
{
	if ((row.key.kind & ~IDLE_PAUSE) >= IDLE_CAUSES)
		return -EPROTO;
	row.key.copy_kind = row.key.kind;
	row.key.kind = REPORT_KIND_IDLE;
	row.key.matched = 1;
	return take(context, &row);
}

int report_samples_each(const struct profile *profile, report_samples_take *take, void *context)
{
	uint32_t nr_samples, nr_idle;
	const struct fold_row *samples = fold_table_rows(profile->collection->samples, &nr_samples);
	const struct fold_row *idle = idle_rows(profile, &nr_idle);
	int error = 0;

	for (uint32_t i = 0; i < nr_samples && !error; i++)
		error = take_sample(samples[i], take, context);
	for (uint32_t i = 0; i < nr_idle && !error; i++)
		error = take_idle(idle[i], take, context);
	return error;
}

int report_samples_each_stall(const struct profile *profile, report_samples_take *take,
			      void *context)
{
	uint32_t nr_samples;
	const struct fold_row *samples = fold_table_rows(profile->collection->samples, &nr_samples);
	int error = 0;

	for (uint32_t i = 0; i < nr_samples && !error; i++) {
		struct fold_row row = samples[i];

		row.key.kind = REPORT_KIND_STALL;
		if (samples[i].key.kind >= HOST_SAMPLE_KERNEL)
			error = take(context, &row);
	}
	return error;
}

struct fold_row report_samples_stall(const struct stall_part *part)
{
	struct fold_row row = {.key = *part->key,
			       .near_first = FOLD_NEAR_NONE,
			       .count = part->count,
			       .ns = part->ns};

	row.key.kind = REPORT_KIND_STALL;
	row.key.name_id = part->reason;
	row.key.copy_kind = part->kind == STALL_PART_NOT_SAMPLED     ? REPORT_STALL_NOT_SAMPLED
			    : part->kind == STALL_PART_OTHER_REASONS ? REPORT_STALL_OTHER
								     : 0;
	row.key.copy_kind |= part->is_assumed ? REPORT_STALL_ASSUMED : 0;
	return row;
}

bool report_samples_is_pause(const struct fold_key *key)
{
	return key->kind == REPORT_KIND_IDLE && key->copy_kind & IDLE_PAUSE;
}

uint64_t report_samples_pause_ns(const struct profile *profile)
{
	uint32_t nr_idle;
	const struct fold_row *idle = idle_rows(profile, &nr_idle);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < nr_idle; i++)
		ns += idle[i].key.kind & IDLE_PAUSE ? idle[i].ns : 0;
	return ns;
}

#include "stall_kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "stall_order.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/roster.h"
#include "proto/host_sample.h"

/* A sum of samples, and the kernel that it is of. */
struct sample {
	struct stall_kernel of; /* without places */
	struct stall_place place;
};

static int by_kernel(const struct stall_kernel *a, const struct stall_kernel *b)
{
	int result = stall_order_numbers(a->process_id, b->process_id);

	if (!result)
		result = stall_order_numbers(a->device_id, b->device_id);
	return result ? result : stall_order_numbers(a->name_id, b->name_id);
}

static int by_place(const void *a, const void *b, void *context)
{
	const struct sample *x = a, *y = b;
	int result = by_kernel(&x->of, &y->of);

	if (!result)
		result = stall_order_numbers(y->place.count, x->place.count);
	if (!result)
		result = stall_order_stacks(context, x->place.stack_id, y->place.stack_id);
	return result ? result : stall_order_strings(context, x->place.reason, y->place.reason);
}

/* Returns the name of the kernel: that of the outermost frame, if it is a code without a file. */
static uint32_t name_of(const struct catalog *catalog, uint32_t stack_id)
{
	const struct catalog_node *node = catalog_node(catalog, stack_id);

	while (node->parent)
		node = catalog_node(catalog, node->parent);
	const struct catalog_code *code =
		catalog_code(catalog, catalog_frame(catalog, node->frame)->code);

	return code->file ? 0 : code->name;
}

static bool is_held(const struct collection *collection, const struct fold_key *key)
{
	const struct catalog_size size = catalog_size(collection->catalog);

	return roster_process(collection->roster, key->process_id) && key->stack_id <= size.nodes &&
	       key->name_id <= size.strings;
}

/* The caller owns *samples, which has room for all rows. */
static int read_samples(const struct collection *collection, struct sample **samples,
			uint32_t *nr_samples)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(collection->samples, &nr_rows);

	*nr_samples = 0;
	*samples = calloc(nr_rows + 1ul, sizeof(**samples));
	if (!*samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct fold_key *key = &rows[i].key;

		if (key->kind != HOST_SAMPLE_KERNEL || rows[i].count == 0)
			continue;
		if (!is_held(collection, key))
			return -EPROTO;
		(*samples)[(*nr_samples)++] = (struct sample){
			.of = {.process_id = key->process_id,
			       .device_id = key->tid,
			       .name_id = name_of(collection->catalog, key->stack_id)},
			.place = {key->stack_id, key->name_id, rows[i].count},
		};
	}
	return 0;
}

static void group(struct stall_kernels *kernels, const struct sample *samples, uint32_t nr_samples)
{
	for (uint32_t i = 0; i < nr_samples; i++) {
		struct stall_kernel *last = kernels->kernels + kernels->nr_kernels - 1;

		if (kernels->nr_kernels == 0 || by_kernel(last, &samples[i].of) != 0) {
			last = kernels->kernels + kernels->nr_kernels++;
			*last = samples[i].of;
			last->places = kernels->places + i;
		}
		kernels->places[i] = samples[i].place;
		last->nr_places++;
		last->count += samples[i].place.count;
	}
}

int stall_kernels_init(struct stall_kernels *kernels, const struct profile *profile)
{
	struct sample *samples = NULL;
	uint32_t nr_samples;
	int error = read_samples(profile->collection, &samples, &nr_samples);

	*kernels = (struct stall_kernels){0};
	if (!error) {
		kernels->kernels = malloc((nr_samples + 1ul) * sizeof(*kernels->kernels));
		kernels->places = malloc((nr_samples + 1ul) * sizeof(*kernels->places));
		error = kernels->kernels && kernels->places ? 0 : -ENOMEM;
	}
	if (!error) {
		qsort_r(samples, nr_samples, sizeof(*samples), by_place,
			profile->collection->catalog);
		group(kernels, samples, nr_samples);
	}
	free(samples);
	return error;
}

void stall_kernels_fini(struct stall_kernels *kernels)
{
	free(kernels->kernels);
	free(kernels->places);
	*kernels = (struct stall_kernels){0};
}

static int find_kernel(const void *wanted, const void *kernel)
{
	return by_kernel(wanted, kernel);
}

const struct stall_kernel *stall_kernels_find(const struct stall_kernels *kernels,
					      const struct fold_key *key)
{
	const struct stall_kernel wanted = {.process_id = key->process_id,
					    .device_id = key->device_id,
					    .name_id = key->name_id};

	if (!key->name_id || !kernels->nr_kernels)
		return NULL;
	return bsearch(&wanted, kernels->kernels, kernels->nr_kernels, sizeof(wanted), find_kernel);
}

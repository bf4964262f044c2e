#include "stall_kernels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stall_order.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/exact_stack.h"
#include "aggregator/profile/roster.h"
#include "proto/host_sample.h"

/* A sum of samples, and the kernel that it is of. */
struct sample {
	struct stall_kernel of; /* without places */
	struct stall_place place;
	uint32_t kernel; /* node of the kernel's frame */
	bool is_exact;
};

struct samples {
	struct sample *list; /* owns */
	uint32_t count;
};

static int by_kernel(const struct stall_kernel *a, const struct stall_kernel *b)
{
	int result = stall_order_numbers(a->process_id, b->process_id);

	if (!result)
		result = stall_order_numbers(a->device_id, b->device_id);
	if (!result)
		result = stall_order_numbers(a->name_id, b->name_id);
	return result ? result : stall_order_numbers(a->launch_id, b->launch_id);
}

static int by_content(const struct catalog *catalog, const struct sample *a, const struct sample *b)
{
	const int result = stall_order_stacks(catalog, a->place.stack_id, b->place.stack_id);

	return result ? result : stall_order_strings(catalog, a->place.reason, b->place.reason);
}

static int by_count(const void *a, const void *b, void *catalog)
{
	const struct sample *x = a, *y = b;
	int result = by_kernel(&x->of, &y->of);

	if (!result)
		result = stall_order_numbers(y->place.count, x->place.count);
	return result ? result : by_content(catalog, x, y);
}

static int by_number(const void *a, const void *b, void *catalog)
{
	const struct sample *x = a, *y = b;
	int result = by_kernel(&x->of, &y->of);

	if (!result)
		result = stall_order_numbers(x->place.number, y->place.number);
	return result ? result : by_content(catalog, x, y);
}

/* Orders by the frames within the kernel's. Equal frames have equal ids in one catalog. */
static int by_frames(const struct catalog *catalog, const struct sample *a, const struct sample *b)
{
	uint32_t x = a->place.stack_id, y = b->place.stack_id;

	while (x != a->kernel && y != b->kernel) {
		const struct catalog_node *in_x = catalog_node(catalog, x);
		const struct catalog_node *in_y = catalog_node(catalog, y);
		const int result = stall_order_numbers(in_x->frame, in_y->frame);

		if (result)
			return result;
		x = in_x->parent;
		y = in_y->parent;
	}
	return stall_order_numbers(x != a->kernel, y != b->kernel);
}

static int by_place(const void *a, const void *b, void *catalog)
{
	const struct sample *x = a, *y = b;
	int result = stall_order_numbers(x->of.name_id, y->of.name_id);

	if (!result)
		result = stall_order_numbers(x->place.reason, y->place.reason);
	return result ? result : by_frames(catalog, x, y);
}

/* Returns the name of the kernel whose frame a node is, if it is a code without a file. */
static uint32_t name_of(const struct catalog *catalog, uint32_t kernel)
{
	const struct catalog_code *code = catalog_code(
		catalog, catalog_frame(catalog, catalog_node(catalog, kernel)->frame)->code);

	return code->file ? 0 : code->name;
}

static struct sample sample_of(const struct catalog *catalog, const struct fold_row *row)
{
	const struct fold_key *key = &row->key;
	const uint32_t kernel = exact_stack_kernel(catalog, key->stack_id);

	return (struct sample){
		.of = {.process_id = key->process_id,
		       .device_id = key->tid,
		       .name_id = name_of(catalog, kernel)},
		.place = {.stack_id = key->stack_id, .reason = key->name_id, .count = row->count},
		.kernel = kernel,
		.is_exact = key->kind == HOST_SAMPLE_EXACT,
	};
}

static bool is_held(const struct collection *collection, const struct fold_key *key)
{
	const struct catalog_size size = catalog_size(collection->catalog);

	return roster_process(collection->roster, key->process_id) && key->stack_id <= size.nodes &&
	       key->name_id <= size.strings;
}

static int read_samples(const struct collection *collection, struct samples *samples)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(collection->samples, &nr_rows);

	samples->count = 0;
	samples->list = calloc(nr_rows + 1ul, sizeof(*samples->list));
	if (!samples->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct fold_key *key = &rows[i].key;

		if (key->kind < HOST_SAMPLE_KERNEL || rows[i].count == 0)
			continue;
		if (!is_held(collection, key))
			return -EPROTO;
		samples->list[samples->count++] = sample_of(collection->catalog, &rows[i]);
	}
	return 0;
}

static uint32_t number(struct samples *samples, const struct catalog *catalog)
{
	uint32_t last = 0;

	if (!samples->count)
		return 0;
	qsort_r(samples->list, samples->count, sizeof(*samples->list), by_place, (void *)catalog);
	for (uint32_t i = 1; i < samples->count; i++) {
		last += by_place(&samples->list[i - 1], &samples->list[i], (void *)catalog) != 0;
		samples->list[i].place.number = last;
	}
	return last + 1;
}

/* Joins the samples of one kernel and number. */
static void join(struct samples *samples, const struct catalog *catalog)
{
	uint32_t nr = 0;

	if (!samples->count)
		return;
	qsort_r(samples->list, samples->count, sizeof(*samples->list), by_number, (void *)catalog);
	for (uint32_t i = 1; i < samples->count; i++) {
		struct sample *last = &samples->list[nr], *sample = &samples->list[i];

		if (by_kernel(&last->of, &sample->of) == 0 &&
		    last->place.number == sample->place.number &&
		    last->place.count <= UINT64_MAX - sample->place.count)
			last->place.count += sample->place.count;
		else
			samples->list[++nr] = *sample;
	}
	samples->count = nr + 1;
}

static int group(struct stall_kernel_list *list, const struct samples *samples)
{
	list->kernels = malloc((samples->count + 1ul) * sizeof(*list->kernels));
	list->places = malloc((samples->count + 1ul) * sizeof(*list->places));
	if (!list->kernels || !list->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct sample *sample = &samples->list[i];
		struct stall_kernel *last = list->kernels + list->nr_kernels - 1;

		if (list->nr_kernels == 0 || by_kernel(last, &sample->of) != 0) {
			last = list->kernels + list->nr_kernels++;
			*last = sample->of;
			last->places = list->places + i;
		}
		list->places[i] = sample->place;
		last->nr_places++;
		last->count += sample->place.count;
	}
	return 0;
}

static int make_all(struct stall_kernel_list *list, struct samples *samples,
		    const struct catalog *catalog)
{
	join(samples, catalog);
	if (samples->count)
		qsort_r(samples->list, samples->count, sizeof(*samples->list), by_count,
			(void *)catalog);
	return group(list, samples);
}

static int make_launches(struct stall_kernel_list *list, const struct samples *samples,
			 const struct catalog *catalog)
{
	struct samples exact = {.list = calloc(samples->count + 1ul, sizeof(*exact.list))};

	if (!exact.list)
		return -ENOMEM;
	for (uint32_t i = 0; i < samples->count; i++) {
		if (!samples->list[i].is_exact)
			continue;
		struct sample *sample = &exact.list[exact.count++];
		*sample = samples->list[i];
		sample->of.launch_id = catalog_node(catalog, sample->kernel)->parent;
	}
	if (exact.count)
		qsort_r(exact.list, exact.count, sizeof(*exact.list), by_count, (void *)catalog);
	const int error = group(list, &exact);
	free(exact.list);
	return error;
}

int stall_kernels_init(struct stall_kernels *kernels, const struct profile *profile)
{
	const struct catalog *catalog = profile->collection->catalog;
	struct samples samples;
	int error;

	*kernels = (struct stall_kernels){0};
	error = read_samples(profile->collection, &samples);
	if (!error) {
		kernels->nr_numbers = number(&samples, catalog);
		error = make_launches(&kernels->launches, &samples, catalog);
	}
	if (!error)
		error = make_all(&kernels->all, &samples, catalog);
	free(samples.list);
	return error;
}

void stall_kernels_fini(struct stall_kernels *kernels)
{
	free(kernels->all.kernels);
	free(kernels->all.places);
	free(kernels->launches.kernels);
	free(kernels->launches.places);
	*kernels = (struct stall_kernels){0};
}

static int find_kernel(const void *wanted, const void *kernel)
{
	return by_kernel(wanted, kernel);
}

static const struct stall_kernel *find(const struct stall_kernel_list *list,
				       const struct fold_key *key, uint32_t launch_id)
{
	const struct stall_kernel wanted = {.process_id = key->process_id,
					    .device_id = key->device_id,
					    .name_id = key->name_id,
					    .launch_id = launch_id};

	if (!key->name_id || !list->nr_kernels)
		return NULL;
	return bsearch(&wanted, list->kernels, list->nr_kernels, sizeof(wanted), find_kernel);
}

const struct stall_kernel *stall_kernels_find(const struct stall_kernels *kernels,
					      const struct fold_key *key)
{
	return find(&kernels->all, key, 0);
}

const struct stall_kernel *stall_kernels_find_launch(const struct stall_kernels *kernels,
						     const struct fold_key *key)
{
	if (!key->stack_id || key->capture_stack_id || !key->matched)
		return NULL;
	return find(&kernels->launches, key, key->stack_id);
}

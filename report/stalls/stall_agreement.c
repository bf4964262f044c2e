#include "stall_agreement.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stall_kernels.h"
#include "stall_order.h"

#include "aggregator/core/fold_table.h"
#include "aggregator/profile/roster.h"
#include "proto/ledger.h"

/* A place of a kernel and a reason, or a kernel's launch stack, with the weight that each way gives it. */
struct cell {
	uint32_t name;
	uint32_t id; /* of a place and reason: stall_place.number; of a launch: its stack */
	double continuous, exact;
	bool is_timed; /* of a launch: it has GPU time, in a process of either way */
};

struct cells {
	struct cell *cells; /* owns */
	uint32_t count;
};

struct comparison {
	const struct catalog *catalog;
	const struct roster *roster;
	struct cells places, launches;
	bool *are_continuous; /* owns; by process: it has continuous samples */
	/* owns; GPU time by kernel and launch: name_id, stack_id; bytes: ns of processes with continuous samples */
	struct fold_table *times;
	/* owns; by kernel: name_id; count: all samples; ns: of processes with continuous ones; bytes: exact samples */
	struct fold_table *totals;
};

/* ---- cells */

static int by_id(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	const int result = stall_order_numbers(x->name, y->name);

	return result ? result : stall_order_numbers(x->id, y->id);
}

/* Orders cells, and joins equal ones. */
static void join(struct cells *cells)
{
	uint32_t nr = 0;

	if (!cells->count)
		return;
	qsort(cells->cells, cells->count, sizeof(*cells->cells), by_id);
	for (uint32_t i = 1; i < cells->count; i++) {
		struct cell *last = &cells->cells[nr], *cell = &cells->cells[i];

		if (by_id(last, cell) != 0) {
			cells->cells[++nr] = *cell;
			continue;
		}
		last->continuous += cell->continuous;
		last->exact += cell->exact;
		last->is_timed |= cell->is_timed;
	}
	cells->count = nr + 1;
}

/* A launch without GPU time is known in one way alone, and says nothing of the agreement. */
static void drop_untimed(struct cells *launches)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < launches->count; i++)
		if (launches->cells[i].is_timed)
			launches->cells[nr++] = launches->cells[i];
	launches->count = nr;
}

/* ---- what a profile has */

static uint64_t bounded(const struct stall_kernel *kernel)
{
	return kernel->count < UINT64_MAX ? (uint64_t)kernel->count : UINT64_MAX;
}

static int count_kernel(struct comparison *comparison, uint32_t name, uint64_t continuous,
			uint64_t ns, uint64_t exact)
{
	const struct fold_key key = {.name_id = name};

	return fold_table_add(comparison->totals, &key, continuous, ns, exact);
}

/* Exact samples are among all. */
static int take_kernels(struct comparison *comparison, const struct stall_kernel_list *list,
			bool is_exact)
{
	int error = 0;

	for (uint32_t i = 0; i < list->nr_kernels && !error; i++) {
		const struct stall_kernel *kernel = &list->kernels[i];

		for (uint32_t k = 0; k < kernel->nr_places; k++) {
			const double count = (double)kernel->places[k].count;

			comparison->places.cells[comparison->places.count++] =
				(struct cell){.name = kernel->name_id,
					      .id = kernel->places[k].number,
					      .continuous = is_exact ? -count : count,
					      .exact = is_exact ? count : 0};
		}
		error = count_kernel(comparison, kernel->name_id, is_exact ? 0 : bounded(kernel), 0,
				     is_exact ? bounded(kernel) : 0);
		if (is_exact && kernel->launch_id)
			comparison->launches.cells[comparison->launches.count++] =
				(struct cell){.name = kernel->name_id,
					      .id = kernel->launch_id,
					      .exact = (double)kernel->count};
	}
	return error;
}

static int take_time(void *context, const struct fold_row *row)
{
	struct comparison *comparison = context;
	const struct fold_key of = {.name_id = row->key.name_id};
	const struct fold_key key = {.name_id = row->key.name_id, .stack_id = row->key.stack_id};

	if (row->key.kind != RECORD_GPU_KERNEL || !row->key.matched || !row->ns ||
	    !fold_table_find(comparison->totals, &of, fold_table_hash(&of)))
		return 0;
	if (!roster_process(comparison->roster, row->key.process_id))
		return -EPROTO;
	/* The time of exact samples' own launches would agree with them whatever the other way says. */
	const uint64_t ns = comparison->are_continuous[row->key.process_id] ? row->ns : 0;
	const int error = count_kernel(comparison, key.name_id, 0, ns, 0);
	return error ? error : fold_table_add(comparison->times, &key, 1, row->ns, ns);
}

static const struct fold_row *total_of(const struct comparison *comparison, uint32_t name)
{
	const struct fold_key key = {.name_id = name};

	return fold_table_find(comparison->totals, &key, fold_table_hash(&key));
}

/* The total's count is that of all samples. */
static uint64_t continuous_of(const struct fold_row *total)
{
	return total->count > total->bytes ? total->count - total->bytes : 0;
}

/* Continuous samples go to the launches by their time. */
static int take_times(struct comparison *comparison)
{
	struct cells *launches = &comparison->launches;
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(comparison->times, &nr_rows);
	struct cell *more =
		realloc(launches->cells, (launches->count + nr_rows + 1ul) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	launches->cells = more;
	for (uint32_t i = 0; i < nr_rows; i++) {
		const struct fold_row *total = total_of(comparison, rows[i].key.name_id);

		more[launches->count++] = (struct cell){
			.name = rows[i].key.name_id, .id = rows[i].key.stack_id, .is_timed = true};
		if (rows[i].bytes)
			more[launches->count - 1].continuous =
				(double)continuous_of(total) *
				((double)rows[i].bytes / (double)total->ns);
	}
	return 0;
}

static uint32_t count_places(const struct stall_kernel_list *kernels)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < kernels->nr_kernels; i++)
		nr += kernels->kernels[i].nr_places;
	return nr;
}

/* Samples of both kinds are more than exact ones. Kernels and launches are in order of their processes. */
static void find_continuous(struct comparison *comparison, const struct stall_kernels *kernels)
{
	const struct stall_kernel_list *all = &kernels->all, *launches = &kernels->launches;

	for (uint32_t i = 0, k = 0; i < all->nr_kernels;) {
		const uint32_t process = all->kernels[i].process_id;
		exact_sum count = 0, exact = 0;

		for (; i < all->nr_kernels && all->kernels[i].process_id == process; i++)
			count += all->kernels[i].count;
		for (; k < launches->nr_kernels && launches->kernels[k].process_id == process; k++)
			exact += launches->kernels[k].count;
		comparison->are_continuous[process] = count > exact;
	}
}

static int gather(struct comparison *comparison, const struct profile *profile,
		  const struct stall_kernels *kernels)
{
	comparison->places.cells =
		malloc((count_places(&kernels->all) + count_places(&kernels->launches) + 1ul) *
		       sizeof(struct cell));
	comparison->launches.cells =
		malloc((kernels->launches.nr_kernels + 1ul) * sizeof(struct cell));
	comparison->times = fold_table_create();
	comparison->totals = fold_table_create();
	comparison->are_continuous =
		calloc(roster_size(comparison->roster).processes + 1ul, sizeof(bool));
	if (!comparison->places.cells || !comparison->launches.cells || !comparison->times ||
	    !comparison->totals || !comparison->are_continuous)
		return -ENOMEM;
	find_continuous(comparison, kernels);
	int error = take_kernels(comparison, &kernels->all, false);
	if (!error)
		error = take_kernels(comparison, &kernels->launches, true);
	if (!error)
		error = profile_each_total(profile, take_time, comparison);
	if (!error)
		error = take_times(comparison);
	return error;
}

/* ---- agreement */

/* Adds the smaller of the two shares of each cell. */
static double agree(const struct cell *cells, uint32_t count)
{
	double continuous = 0, exact = 0, sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		continuous += cells[i].continuous;
		exact += cells[i].exact;
	}
	for (uint32_t i = 0; i < count && continuous > 0 && exact > 0; i++) {
		const double p = cells[i].continuous / continuous, q = cells[i].exact / exact;

		sum += p < q ? p : q;
	}
	return sum < 1 ? sum : 1;
}

/* Returns the index behind the first cell's kernel. */
static uint32_t end_of(const struct cells *cells, uint32_t first)
{
	uint32_t end = first;

	while (end < cells->count && cells->cells[end].name == cells->cells[first].name)
		end++;
	return end;
}

static uint32_t find(const struct cells *cells, uint32_t name)
{
	uint32_t low = 0, high = cells->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (cells->cells[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t sum_exact(const struct cell *cells, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum = ledger_add_saturating(sum, (uint64_t)cells[i].exact);
	return sum;
}

static void compare(const struct comparison *comparison, struct stall_agreement_row *row,
		    uint32_t first, uint32_t end)
{
	const struct cells *launches = &comparison->launches;
	const uint32_t from = find(launches, row->name);

	row->places = agree(comparison->places.cells + first, end - first);
	if (from >= launches->count || launches->cells[from].name != row->name)
		return;
	const uint32_t to = end_of(launches, from);
	if (!total_of(comparison, row->name)->ns)
		return;
	row->launches = agree(launches->cells + from, to - from);
	row->matched = sum_exact(launches->cells + from, to - from);
}

/* Weighs each kernel by its continuous samples: how many samples each kernel has is no matter of its lines. */
static void add_up(struct stall_agreement *made)
{
	struct stall_agreement_row *total = &made->total;
	double samples = 0, launched = 0;

	for (uint32_t i = 0; i < made->nr_rows; i++) {
		const struct stall_agreement_row *row = &made->rows[i];

		samples += (double)row->samples;
		total->places += (double)row->samples * row->places;
		launched += row->matched ? (double)row->samples : 0;
		total->launches += row->matched ? (double)row->samples * row->launches : 0;
		total->matched = ledger_add_saturating(total->matched, row->matched);
	}
	total->places = samples > 0 ? total->places / samples : 0;
	total->launches = launched > 0 ? total->launches / launched : 0;
}

static int by_exact(const void *a, const void *b, void *catalog)
{
	const struct stall_agreement_row *x = a, *y = b;
	const int result = stall_order_numbers(y->exact, x->exact);

	return result ? result : stall_order_strings(catalog, x->name, y->name);
}

static struct stall_agreement *make(const struct comparison *comparison)
{
	const struct cells *places = &comparison->places;
	uint32_t nr_kernels, end;
	const struct fold_row *totals = fold_table_rows(comparison->totals, &nr_kernels);
	struct stall_agreement *made =
		calloc(1, sizeof(*made) + nr_kernels * sizeof(made->rows[0]));

	if (!made)
		return NULL;
	for (uint32_t i = 0; i < nr_kernels; i++) {
		made->total.samples =
			ledger_add_saturating(made->total.samples, continuous_of(&totals[i]));
		made->total.exact = ledger_add_saturating(made->total.exact, totals[i].bytes);
	}
	if (!made->total.samples || !made->total.exact) {
		made->total = (struct stall_agreement_row){0};
		return made;
	}
	for (uint32_t first = 0; first < places->count; first = end) {
		const uint32_t name = places->cells[first].name;
		const struct fold_row *total = total_of(comparison, name);

		end = end_of(places, first);
		if (!name || !continuous_of(total) || !total->bytes)
			continue;
		struct stall_agreement_row *row = &made->rows[made->nr_rows++];
		*row = (struct stall_agreement_row){
			.name = name, .samples = continuous_of(total), .exact = total->bytes};
		compare(comparison, row, first, end);
	}
	add_up(made);
	qsort_r(made->rows, made->nr_rows, sizeof(made->rows[0]), by_exact,
		(void *)comparison->catalog);
	return made;
}

int stall_agreement_make(const struct profile *profile, struct stall_agreement **agreement)
{
	struct comparison comparison = {.catalog = profile->collection->catalog,
					.roster = profile->collection->roster};
	struct stall_kernels kernels;
	int error = stall_kernels_init(&kernels, profile);

	*agreement = NULL;
	if (!error)
		error = gather(&comparison, profile, &kernels);
	if (!error) {
		join(&comparison.places);
		join(&comparison.launches);
		drop_untimed(&comparison.launches);
		*agreement = make(&comparison);
		error = *agreement ? 0 : -ENOMEM;
	}
	stall_kernels_fini(&kernels);
	free(comparison.are_continuous);
	free(comparison.places.cells);
	free(comparison.launches.cells);
	fold_table_destroy(comparison.times);
	fold_table_destroy(comparison.totals);
	return error;
}

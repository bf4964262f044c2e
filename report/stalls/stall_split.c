#include "stall_split.h"

#include <errno.h>
#include <stdlib.h>

#include "stall_kernels.h"
#include "stall_order.h"

#include "proto/ledger.h"

/* A row of totals of a kernel with samples. */
struct row {
	const struct stall_kernel *kernel;
	const struct stall_kernel *own; /* exact samples that divide it; NULL: it has too few */
	struct fold_key key;
	uint32_t path;
	uint64_t count, ns;
};

struct split {
	const struct profile *profile;
	stall_split_path *path;
	stall_split_take *take;
	void *context;
	struct stall_kernels kernels;
	struct fold_table
		*totals;  /* owns; of kernels with samples, because a key may come several times */
	struct row *rows; /* owns */
	uint32_t nr_rows;
	uint64_t *taken; /* owns; of one kernel, by number of place: samples of rows of their own */
	struct stall_place *rest; /* owns; room for a kernel's places */
	uint64_t ns;              /* of all kernels */
	uint64_t least_ns;        /* of a part, where there would be too many; else 0 */
};

/* The parts into which each row of one kernel is divided. */
struct pieces {
	struct stall_part parts[STALL_PLACES_MAX + STALL_REASONS_MAX + 1]; /* count: of all rows */
	uint32_t nr_parts;
	exact_sum count; /* of all parts */
};

/* ---- rows */

static int take_total(void *context, const struct fold_row *row)
{
	struct split *split = context;

	if (row->key.kind != RECORD_GPU_KERNEL)
		return 0;
	split->ns = ledger_add_saturating(split->ns, row->ns);
	if (stall_kernels_find(&split->kernels, &row->key))
		return fold_table_add(split->totals, &row->key, row->count, row->ns, 0);
	const struct stall_part part = {.kind = STALL_PART_NOT_SAMPLED,
					.key = &row->key,
					.has_record = true,
					.ns = row->ns};

	return row->ns ? split->take(split->context, &part) : 0;
}

/* By kernel, then by what does not depend on the profile's order. */
static int by_content(const void *a, const void *b, void *catalog)
{
	const struct row *x = a, *y = b;
	int result = stall_order_numbers((uintptr_t)x->kernel, (uintptr_t)y->kernel);

	if (!result)
		result = stall_order_numbers(y->ns, x->ns);
	if (!result)
		result = stall_order_numbers(y->count, x->count);
	if (!result)
		result = stall_order_numbers(x->key.context_id, y->key.context_id);
	if (!result)
		result = stall_order_numbers(x->key.stream_id, y->key.stream_id);
	if (!result)
		result = stall_order_numbers(x->key.tid, y->key.tid);
	if (!result)
		result = stall_order_numbers(x->key.matched, y->key.matched);
	if (!result)
		result = stall_order_stacks(catalog, x->key.stack_id, y->key.stack_id);
	return result ? result
		      : stall_order_stacks(catalog, x->key.capture_stack_id,
					   y->key.capture_stack_id);
}

static int make_rows(struct split *split)
{
	const struct catalog *catalog = split->profile->collection->catalog;
	const struct fold_row *totals = fold_table_rows(split->totals, &split->nr_rows);
	int error = 0;

	split->rows = calloc(split->nr_rows + 1ul, sizeof(*split->rows));
	if (!split->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < split->nr_rows && !error; i++) {
		struct row *row = &split->rows[i];

		row->key = totals[i].key;
		row->kernel = stall_kernels_find(&split->kernels, &row->key);
		row->count = totals[i].count;
		row->ns = totals[i].ns;
		error = split->path(split->context, &row->key, &row->path);
	}
	if (!error)
		qsort_r(split->rows, split->nr_rows, sizeof(*split->rows), by_content,
			(void *)catalog);
	return error;
}

static int by_path(const void *a, const void *b)
{
	return stall_order_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int count_paths(const struct row *rows, uint32_t nr_rows, uint32_t *nr_paths)
{
	uint32_t *paths = malloc((nr_rows + 1ul) * sizeof(*paths));

	*nr_paths = 0;
	if (!paths)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_rows; i++)
		paths[i] = rows[i].path;
	qsort(paths, nr_rows, sizeof(*paths), by_path);
	for (uint32_t i = 0; i < nr_rows; i++)
		*nr_paths += i == 0 || paths[i] != paths[i - 1];
	free(paths);
	return 0;
}

/* ---- one kernel */

/* The most frequent places, and those that have at least least_ns of the kernel's time, have parts of their own. */
static uint32_t nr_own(const struct stall_kernel *kernel, uint64_t ns, uint64_t least_ns)
{
	uint32_t nr = 0;

	while (nr < kernel->nr_places && nr < STALL_PLACES_MAX &&
	       (nr < STALL_PLACES_LEAST ||
		exact_share(ns, kernel->places[nr].count, kernel->count) >= least_ns))
		nr++;
	/* One place more takes no more room than its sum would. */
	return nr + 1 == kernel->nr_places && nr < STALL_PLACES_MAX ? nr + 1 : nr;
}

static void add_other(struct pieces *pieces, uint32_t nr_places, const struct stall_place *place)
{
	struct stall_part *last = NULL;

	for (uint32_t i = nr_places; i < pieces->nr_parts; i++) {
		last = &pieces->parts[i];
		if (last->kind == STALL_PART_OTHER && last->reason == place->reason)
			break;
		if (last->kind == STALL_PART_OTHER_REASONS)
			break;
		last = NULL;
	}
	if (!last) {
		last = &pieces->parts[pieces->nr_parts++];
		*last = (struct stall_part){.kind = STALL_PART_OTHER, .reason = place->reason};
		if (pieces->nr_parts - nr_places > STALL_REASONS_MAX)
			*last = (struct stall_part){.kind = STALL_PART_OTHER_REASONS};
	}
	last->count = ledger_add_saturating(last->count, place->count);
}

static void make_pieces(struct pieces *pieces, const struct stall_kernel *kernel, uint32_t own)
{
	pieces->nr_parts = own;
	pieces->count = 0;
	for (uint32_t i = 0; i < own; i++)
		pieces->parts[i] = (struct stall_part){.kind = STALL_PART_PLACE,
						       .stack_id = kernel->places[i].stack_id,
						       .reason = kernel->places[i].reason,
						       .count = kernel->places[i].count};
	for (uint32_t i = own; i < kernel->nr_places; i++)
		add_other(pieces, own, &kernel->places[i]);
	for (uint32_t i = 0; i < pieces->nr_parts; i++)
		pieces->count += pieces->parts[i].count;
}

/* Samples of a kernel whose records are not known: the profile has them, and no time. */
static int give_without_record(const struct split *split, const struct stall_kernel *kernel,
			       struct pieces *pieces)
{
	const struct fold_key key = {.process_id = kernel->process_id,
				     .device_id = kernel->device_id,
				     .name_id = kernel->name_id,
				     .kind = RECORD_GPU_KERNEL};
	int error = 0;

	make_pieces(pieces, kernel,
		    kernel->nr_places < STALL_PLACES_MAX ? kernel->nr_places : STALL_PLACES_MAX);
	for (uint32_t i = 0; i < pieces->nr_parts && !error; i++) {
		pieces->parts[i].key = &key;
		error = split->take(split->context, &pieces->parts[i]);
	}
	return error;
}

/* A row's nanoseconds are divided over its parts, and a part's samples over the rows: both sums are exact. weights: of
 * the rows that had their turn; of these and this one; of all. */
struct turn {
	exact_sum before, after, total;
	bool has_time, is_assumed;
	bool is_empty; /* parts have no samples to give: they were given to others */
};

static int give_row(const struct split *split, const struct pieces *pieces, const struct row *row,
		    const struct turn *turn)
{
	exact_sum samples = 0;
	uint64_t given_ns = 0;
	int error = 0;

	for (uint32_t i = 0; i < pieces->nr_parts && !error; i++) {
		struct stall_part part = pieces->parts[i];

		samples += part.count;
		const uint64_t until_ns =
			turn->has_time ? exact_share(row->ns, samples, pieces->count) : 0;
		part.ns = until_ns - given_ns;
		given_ns = until_ns;
		part.count = turn->is_empty
				     ? 0
				     : exact_share(part.count, turn->after, turn->total) -
					       exact_share(part.count, turn->before, turn->total);
		part.key = &row->key;
		part.has_record = true;
		part.is_assumed = turn->is_assumed;
		if (part.ns || part.count)
			error = split->take(split->context, &part);
	}
	return error;
}

/* Of one kernel. */
struct rows {
	const struct row *list;
	uint32_t count, nr_paths;
};

/* Returns whether a row takes its turn: those divided by these samples, or, of own NULL, by what is left. */
static bool is_of(const struct row *row, const struct stall_kernel *own, bool any)
{
	return any || row->own == own;
}

/* Gives the rows of own, or any rows, by these samples. */
static int give_rows(const struct split *split, const struct rows *rows,
		     const struct stall_kernel *by, const struct stall_kernel *own, bool any,
		     struct turn turn, struct pieces *pieces)
{
	const exact_sum least_ns = (exact_sum)split->least_ns * rows->nr_paths;
	uint64_t ns = 0;
	int error = 0;

	turn.before = turn.after = turn.total = 0;
	for (uint32_t i = 0; i < rows->count; i++) {
		if (!is_of(&rows->list[i], own, any))
			continue;
		ns = ledger_add_saturating(ns, rows->list[i].ns);
		turn.total += rows->list[i].ns;
	}
	const bool has_weights = turn.total > 0;
	for (uint32_t i = 0; i < rows->count && !has_weights; i++)
		turn.total += is_of(&rows->list[i], own, any);
	make_pieces(pieces, by,
		    nr_own(by, ns, least_ns > UINT64_MAX ? UINT64_MAX : (uint64_t)least_ns));
	for (uint32_t i = 0; i < rows->count && !error; i++) {
		if (!is_of(&rows->list[i], own, any))
			continue;
		turn.before = turn.after;
		turn.after += has_weights ? rows->list[i].ns : 1;
		error = give_row(split, pieces, &rows->list[i], &turn);
	}
	return error;
}

static int by_count(const void *a, const void *b, void *catalog)
{
	const struct stall_place *x = a, *y = b;
	int result = stall_order_numbers(y->count, x->count);

	if (!result)
		result = stall_order_stacks(catalog, x->stack_id, y->stack_id);
	return result ? result : stall_order_strings(catalog, x->reason, y->reason);
}

/* Finds what the kernel has besides samples that were taken. */
static struct stall_kernel rest_of(const struct split *split, const struct stall_kernel *kernel)
{
	struct stall_kernel rest = *kernel;

	rest.places = split->rest;
	rest.nr_places = 0;
	rest.count = 0;
	for (uint32_t i = 0; i < kernel->nr_places; i++) {
		struct stall_place place = kernel->places[i];
		uint64_t *taken = &split->taken[place.number];
		const uint64_t part = *taken < place.count ? *taken : place.count;

		*taken -= part;
		place.count -= part;
		rest.count += place.count;
		if (place.count)
			split->rest[rest.nr_places++] = place;
	}
	if (rest.nr_places)
		qsort_r(split->rest, rest.nr_places, sizeof(*split->rest), by_count,
			split->profile->collection->catalog);
	return rest;
}

/* Gives rows with exact samples of their own these, each sum once. */
static int give_own(const struct split *split, const struct rows *rows, bool *has_others,
		    struct pieces *pieces)
{
	int error = 0;

	for (uint32_t i = 0; i < rows->count && !error; i++) {
		const struct stall_kernel *own = rows->list[i].own;
		bool is_first = own != NULL;

		*has_others |= !own;
		for (uint32_t k = 0; k < i && is_first; k++)
			is_first = rows->list[k].own != own;
		if (!is_first)
			continue;
		for (uint32_t k = 0; k < own->nr_places; k++)
			split->taken[own->places[k].number] += own->places[k].count;
		error = give_rows(split, rows, own, own, false, (struct turn){.has_time = true},
				  pieces);
	}
	return error;
}

static int give_kernel(const struct split *split, struct row *list, uint32_t count,
		       struct pieces *pieces)
{
	const struct stall_kernel *kernel = list->kernel;
	struct rows rows = {.list = list, .count = count};
	bool has_others = false;
	int error = count_paths(list, count, &rows.nr_paths);

	for (uint32_t i = 0; i < count && rows.nr_paths > 1; i++) {
		list[i].own = stall_kernels_find_launch(&split->kernels, &list[i].key);
		if (list[i].own && list[i].own->count < STALL_EXACT_LEAST)
			list[i].own = NULL;
	}
	if (!error)
		error = give_own(split, &rows, &has_others, pieces);
	if (error)
		return error;
	const struct stall_kernel rest = rest_of(split, kernel);
	const struct turn turn = {
		.has_time = has_others, .is_assumed = rows.nr_paths > 1, .is_empty = !rest.count};
	if (!rest.count && !has_others)
		return 0;
	return give_rows(split, &rows, rest.count ? &rest : kernel, NULL, !has_others, turn,
			 pieces);
}

/* ---- all kernels */

/* Returns the index behind a kernel's rows, which begin at first. */
static uint32_t end_of(const struct split *split, const struct stall_kernel *kernel, uint32_t first)
{
	while (first < split->nr_rows && split->rows[first].kernel == kernel)
		first++;
	return first;
}

/* Finds how much time a part has to have. */
static int find_least(struct split *split)
{
	uint64_t nr_parts = 0;
	uint32_t first = 0;
	int error = 0;

	for (uint32_t i = 0; i < split->kernels.all.nr_kernels && !error; i++) {
		const struct stall_kernel *kernel = &split->kernels.all.kernels[i];
		const uint32_t end = end_of(split, kernel, first);
		const uint64_t own =
			kernel->nr_places < STALL_PLACES_MAX ? kernel->nr_places : STALL_PLACES_MAX;
		uint32_t nr_paths;

		error = count_paths(split->rows + first, end - first, &nr_paths);
		nr_parts += own * nr_paths;
		first = end;
	}
	split->least_ns = nr_parts > STALL_PARTS_MAX ? split->ns / STALL_PARTS_MAX : 0;
	return error;
}

static int give_all(struct split *split)
{
	struct pieces *pieces = malloc(sizeof(*pieces));
	uint32_t first = 0;

	split->taken = calloc(split->kernels.nr_numbers + 1ul, sizeof(*split->taken));
	split->rest = malloc((split->kernels.nr_numbers + 1ul) * sizeof(*split->rest));
	int error = pieces && split->taken && split->rest ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < split->kernels.all.nr_kernels && !error; i++) {
		const struct stall_kernel *kernel = &split->kernels.all.kernels[i];
		const uint32_t end = end_of(split, kernel, first);

		error = end > first ? give_kernel(split, split->rows + first, end - first, pieces)
				    : give_without_record(split, kernel, pieces);
		first = end;
	}
	free(pieces);
	return error;
}

int stall_split_each(const struct profile *profile, stall_split_path *path, stall_split_take *take,
		     void *context)
{
	struct split split = {.profile = profile, .path = path, .take = take, .context = context};
	int error = stall_kernels_init(&split.kernels, profile);

	if (!error && split.kernels.all.nr_kernels) {
		split.totals = fold_table_create();
		error = split.totals ? profile_each_total(profile, take_total, &split) : -ENOMEM;
		if (!error)
			error = make_rows(&split);
		if (!error)
			error = find_least(&split);
		if (!error)
			error = give_all(&split);
	}
	stall_kernels_fini(&split.kernels);
	fold_table_destroy(split.totals);
	free(split.rows);
	free(split.taken);
	free(split.rest);
	return error;
}

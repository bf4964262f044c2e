#include "kernel_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

/* What a row shows of a time, but for its figures. */
struct label {
	uint32_t kind, name, node, range, caller, line, is_unknown;
};

struct row {
	struct label label;
	uint32_t at; /* of the time */
	uint64_t ns;
};

static int make_label(const struct kernel_time *time, const struct kernel_place *place,
		      struct report_names *names, enum kernel_rows_stack stack, struct label *label)
{
	const struct fold_key key = {
		.name_id = time->name_id, .kind = time->kind, .copy_kind = time->copy_kind};

	*label = (struct label){.kind = time->kind};
	if (stack == KERNEL_ROWS_WHOLE_STACK)
		label->node = place->node;
	if (stack == KERNEL_ROWS_LINE) {
		label->range = place->range;
		label->caller = place->caller;
		label->line = place->line;
		label->is_unknown = !time->stack_id;
	}
	return report_names_leaf(names, &key, REPORT_GPU_ANY, &label->name);
}

static int by_label(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	const int order = memcmp(&left->label, &right->label, sizeof(left->label));

	return order ? order : COMPARE(left->at, right->at);
}

static int by_time(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	const int order = COMPARE(right->ns, left->ns);

	return order ? order : COMPARE(left->at, right->at);
}

/* Adds up the times of equal labels in the first of each, and leaves the rows of these. */
static int add_up(struct kernel_times *times, struct row *rows, uint32_t *nr_rows)
{
	uint32_t nr = 0;
	int error = 0;

	for (uint32_t i = 0; i < *nr_rows && !error; i++) {
		struct row *last = nr ? &rows[nr - 1] : NULL;

		if (!last || memcmp(&last->label, &rows[i].label, sizeof(last->label)) != 0)
			rows[nr++] = rows[i];
		else
			error = kernel_time_add(&times->times[last->at], &times->times[rows[i].at]);
	}
	for (uint32_t i = 0; i < nr; i++)
		rows[i].ns = times->times[rows[i].at].ns;
	*nr_rows = nr;
	return error;
}

/* Brings the times of the rows, and their places, into the order of the rows. */
static int put_in_order(struct kernel_times *times, struct kernel_places *places,
			const struct row *rows, uint32_t nr_rows)
{
	struct kernel_time *ordered = malloc((nr_rows + 1ull) * sizeof(*ordered));
	struct kernel_place *of = malloc((nr_rows + 1ull) * sizeof(*of));

	if (!ordered || !of) {
		free(ordered);
		free(of);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr_rows; i++) {
		ordered[i] = times->times[rows[i].at];
		if (times->by_stack)
			of[i] = places->places[rows[i].at];
	}
	memcpy(times->times, ordered, nr_rows * sizeof(*ordered));
	if (times->by_stack)
		memcpy(places->places, of, nr_rows * sizeof(*of));
	times->nr_times = nr_rows;
	free(ordered);
	free(of);
	return 0;
}

int kernel_rows_sum(struct kernel_times *times, struct kernel_places *places,
		    struct report_names *names, enum kernel_rows_stack stack)
{
	uint32_t nr_rows = times->nr_times;
	struct row *rows = calloc(nr_rows + 1ull, sizeof(*rows));
	int error = rows ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		rows[i].at = i;
		error = make_label(&times->times[i], times->by_stack ? &places->places[i] : NULL,
				   names, stack, &rows[i].label);
	}
	if (!error && nr_rows) {
		qsort(rows, nr_rows, sizeof(*rows), by_label);
		error = add_up(times, rows, &nr_rows);
		qsort(rows, nr_rows, sizeof(*rows), by_time);
	}
	if (!error && nr_rows < times->nr_times)
		error = put_in_order(times, places, rows, nr_rows);
	free(rows);
	return error;
}

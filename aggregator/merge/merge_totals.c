#include "merge_totals.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/store/store_totals.h"

struct merge_totals {
	struct database *merged; /* borrowed */
	struct statement_set set;
	struct block_code code;
};

int merge_totals_create(struct database *merged, struct merge_totals **totals)
{
	int error = -ENOMEM;

	*totals = calloc(1, sizeof(**totals));
	if (*totals) {
		(*totals)->merged = merged;
		error = statement_set_init(&(*totals)->set, merged, store_totals_commands);
	}
	if (error) {
		merge_totals_destroy(*totals);
		*totals = NULL;
	}
	return error;
}

void merge_totals_destroy(struct merge_totals *totals)
{
	if (!totals)
		return;
	statement_set_fini(&totals->set);
	block_code_fini(&totals->code);
	free(totals);
}

static int map_key(struct fold_key *key, const struct merge_map *map)
{
	int error = merge_map_replace(map, MERGE_KIND_PROCESS, &key->process_id);

	if (!error)
		error = merge_map_replace(map, MERGE_KIND_NODE, &key->stack_id);
	if (!error)
		error = merge_map_replace(map, MERGE_KIND_NODE, &key->capture_stack_id);
	return error ? error : merge_map_replace(map, MERGE_KIND_STRING, &key->name_id);
}

/* Writes the rows of chosen processes behind one another; *count is their number. */
static int map_rows(const struct fold_row *rows, uint32_t nr_rows, const struct merge_map *map,
		    struct fold_row *mapped, uint32_t *count)
{
	int error = 0;

	*count = 0;
	for (uint32_t i = 0; i < nr_rows && !error; i++) {
		mapped[*count] = rows[i];
		error = map_key(&mapped[*count].key, map);
		*count += mapped[*count].key.process_id != 0;
	}
	return error;
}

static int copy(struct merge_totals *totals, enum store_totals_kind kind, struct database *profile,
		const struct merge_map *map)
{
	struct fold_table *table = fold_table_create();
	int error = table ? store_totals_read(profile, kind, table) : -ENOMEM;

	if (!error) {
		uint32_t nr_rows, count = 0;
		const struct fold_row *rows = fold_table_rows(table, &nr_rows);
		struct fold_row *mapped = malloc((nr_rows + 1ull) * sizeof(*mapped));

		error = mapped ? map_rows(rows, nr_rows, map, mapped, &count) : -ENOMEM;
		if (!error)
			error = store_totals_append(&totals->set, &totals->code, kind, mapped,
						    count);
		free(mapped);
	}
	fold_table_destroy(table);
	return error;
}

int merge_totals_copy(struct merge_totals *totals, struct database *profile,
		      const struct merge_map *map)
{
	int error = 0;

	for (enum store_totals_kind kind = 0; kind < STORE_TOTALS_KINDS && !error; kind++)
		error = copy(totals, kind, profile, map);
	return error;
}

int merge_totals_end(struct merge_totals *totals, int64_t most)
{
	return store_totals_spread(&totals->set, totals->merged, most);
}

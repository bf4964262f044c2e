#include "profile_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/store/store_totals.h"
#include "base/array.h"

static int take_block(void *context, const struct store_totals_block *block)
{
	struct profile_totals *totals = context;
	struct profile_totals_block kept = {block->process, block->count, block->size,
					    malloc(block->size + 1ull)};

	if (!kept.bytes || array_append(&totals->blocks, &totals->nr_blocks, &kept, sizeof(kept))) {
		free(kept.bytes);
		return -ENOMEM;
	}
	memcpy(kept.bytes, block->bytes, block->size);
	return 0;
}

int profile_totals_load(struct database *database, struct profile_totals *totals,
			struct fold_table *rows)
{
	int error = store_totals_read_rows(database, STORE_TOTALS_GPU, rows);

	return error ? error : store_totals_blocks(database, STORE_TOTALS_GPU, take_block, totals);
}

void profile_totals_fini(struct profile_totals *totals)
{
	for (uint32_t i = 0; i < totals->nr_blocks; i++)
		free(totals->blocks[i].bytes);
	free(totals->blocks);
	*totals = (struct profile_totals){.nr_blocks = 0};
}

static int each_row(const struct fold_row *rows, uint32_t nr_rows,
		    int (*take)(void *context, const struct fold_row *row), void *context)
{
	int error = 0;

	for (uint32_t i = 0; i < nr_rows && !error; i++)
		error = take(context, &rows[i]);
	return error;
}

int profile_totals_each(const struct profile_totals *totals, const struct fold_table *table,
			int (*take)(void *context, const struct fold_row *row), void *context)
{
	uint32_t nr_rows;
	const struct fold_row *rows = fold_table_rows(table, &nr_rows);
	int error = each_row(rows, nr_rows, take, context);

	for (uint32_t i = 0; i < totals->nr_blocks && !error; i++) {
		const struct profile_totals_block *block = &totals->blocks[i];
		const struct store_totals_block encoded = {block->process, block->count,
							   block->size, block->bytes};
		struct fold_row *decoded;

		error = store_totals_decode(STORE_TOTALS_GPU, &encoded, &decoded);
		if (!error)
			error = each_row(decoded, block->count, take, context);
		store_totals_free(&encoded, decoded);
	}
	return error;
}

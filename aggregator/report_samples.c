#include "report_samples.h"

#include "report_tree.h"

uint32_t report_samples_count(const struct collection *collection)
{
	uint32_t count;

	fold_table_rows(collection->samples, &count);
	return count;
}

int report_samples_each(const struct collection *collection, report_samples_take *take,
			void *context)
{
	uint32_t count;
	const struct fold_row *rows = fold_table_rows(collection->samples, &count);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		struct fold_row row = rows[i];

		row.key.device_id = RECORD_DEVICE_NONE;
		row.key.kind = (uint8_t)(REPORT_KIND_HOST + row.key.kind);
		row.key.matched = 1;
		error = take(context, &row);
	}
	return error;
}

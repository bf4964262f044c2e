/* What host threads did, as rows for a report. Part of report_build; used by one thread. */
#ifndef REPORT_SAMPLES_H
#define REPORT_SAMPLES_H

#include <stdint.h>

#include "collection.h"
#include "fold_table.h"

typedef int report_samples_take(void *context, const struct fold_row *row);

/* How many rows there are at most. */
uint32_t report_samples_count(const struct collection *collection);

/* Hands every row of the collection's samples to take, until it returns nonzero; returns that. The rows' kinds are an
 * enum report_kind, their device none. */
int report_samples_each(const struct collection *collection, report_samples_take *take,
			void *context);

#endif

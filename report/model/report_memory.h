/* The accounts of memory for readers: a row for each process, device and memory space. Part of report_build; used by
 * one thread. */
#ifndef REPORT_MEMORY_H
#define REPORT_MEMORY_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "aggregator/profile/collection.h"

/* Which memory the leaves of a report show, in place of GPU work. */
enum report_memory {
	REPORT_MEMORY_NONE = 0,
	/* memory that lived when its process had the most on its device, in its space */
	REPORT_MEMORY_PEAK,
	/* memory that lives now; of ended processes: memory that was never freed */
	REPORT_MEMORY_LIVE,
	REPORT_MEMORY_ALLOCS, /* all allocations */
	REPORT_MEMORY_FREES,  /* all frees, by the stack of the free */
};

/* Makes *rows in order of host, GPU, process and space; the caller owns them: free(). 0; -ENOMEM: *rows is NULL and
 * the count 0. */
int report_memory_make(const struct collection *collection, struct report_names *names,
		       struct report_memory_row **rows, uint32_t *nr_rows);

/* Calls take for each row of all accounts, as a row of totals (fold_table.h) of allocations, until it returns
 * nonzero, and returns that value. which: PEAK or LIVE. */
typedef int report_memory_take(void *context, const struct fold_row *row);
int report_memory_each(const struct collection *collection, enum report_memory which,
		       report_memory_take *take, void *context);

#endif

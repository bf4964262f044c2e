/* Takes totals of NCCL's kernels apart: into waits for other ranks and moving data, as far as the profile knows them
 * (collective_split.h). The parts of a total sum to it. Used by one thread. */
#ifndef REPORT_SPLIT_H
#define REPORT_SPLIT_H

#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

#define REPORT_SPLIT_TEXT_MAX  128u
#define REPORT_SPLIT_WAITS_FOR "[waits for " /* how the frames of waiting kernels begin */

enum report_nccl {
	REPORT_NCCL_SPLIT = 0,
	REPORT_NCCL_WHOLE = 1,
};

enum report_split_part {
	REPORT_SPLIT_WHOLE, /* it is no kernel of a process whose calls are recorded */
	REPORT_SPLIT_MOVES, /* it has all of the count */
	REPORT_SPLIT_WAITS,
	REPORT_SPLIT_NOT, /* not known */
};

struct report_split;

/* The profile is borrowed until destroy. NULL: out of memory. destroy() accepts NULL. */
struct report_split *report_split_create(const struct profile *profile);
void report_split_destroy(struct report_split *split);

/* Gives the parts of a total to take(), as long as that returns 0, and returns the last value. text: the frame that
 * names the part, "[moves data]"; "" of a whole total. Of a key that comes several times the parts are given once: take
 * each total once. */
typedef int report_split_take(void *context, const struct fold_row *part,
			      enum report_split_part which, const char *text);
int report_split_each(struct report_split *split, const struct fold_row *row,
		      report_split_take *take, void *context);

#endif

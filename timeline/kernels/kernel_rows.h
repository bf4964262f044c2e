/* Makes one row of kernel_times that read the same: kernels whose names are cut alike, and stacks that differ in what
 * is not shown, as addresses within a function. So no two rows have the same texts. Used by one thread. */
#ifndef KERNEL_ROWS_H
#define KERNEL_ROWS_H

#include "kernel_places.h"
#include "kernel_times.h"

#include "report/model/report_names.h"

enum kernel_rows_stack {
	KERNEL_ROWS_NO_STACK,   /* names alone are shown */
	KERNEL_ROWS_LINE,       /* and the range, the caller and the line of kernel_place */
	KERNEL_ROWS_WHOLE_STACK /* and all frames */
};

/* places: of times by stack alone; they stay those of the times. Those with most time are first again. 0; -ENOMEM: both
 * may only be freed. */
int kernel_rows_sum(struct kernel_times *times, struct kernel_places *places,
		    struct report_names *names, enum kernel_rows_stack stack);

#endif

/* Finds GPU kernels that all take longer by a like factor on the late rank: a slower GPU, of which each kernel shows a
 * small part. Kernels are told apart by name, and only those count that the rank launches as often as the others do.
 * Part of straggler_causes; pure, one thread. */
#ifndef STRAGGLER_ALIKE_H
#define STRAGGLER_ALIKE_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_question.h"
#include "straggler_work.h"

struct straggler_alike {
	uint32_t kernels,
		of_kernels; /* those that are slower alike, and all that are compared; 0: there are none */
	double longer;  /* times as long as those of the median of the others */
	double excess;  /* ns per collective of all of them together */
	uint32_t most;  /* the leaf of these with the largest excess */
	uint32_t above; /* the innermost node above all of them */
};

/* Finds two kernels or more of which none holds four fifths of their excess, if that excess is
 * above three times the spread of the others and above least_ns. It takes their amounts out of `amounts`, as
 * straggler_work_sum() returned them: what is left may have further causes. in_windows: whose sums these are. 0 or
 * -ENOMEM. */
int straggler_alike_take(const struct straggler_work *work,
			 const struct straggler_question *question, bool in_windows,
			 double least_ns, struct straggler_amount *amounts,
			 struct straggler_alike *alike);

#endif

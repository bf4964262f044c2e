/* Says in sentences which steps stand out, and why, and whether steps get slower. Used by one thread. */
#ifndef STEP_WORDS_H
#define STEP_WORDS_H

#include <stddef.h>

#include "steps_view.h"

#define STEP_WORDS_SIZE 1024u

/* Each returns line, cut to size. "step 400 took 31.002 ms more than the median of 45.100 ms: +30.900 ms idle while the
 * host did not launch on rank 0, in save_state()". */
const char *step_words_outlier(const struct steps_view *view, uint32_t outlier, char *line,
			       size_t size);

/* "the steps of rank 0 get slower: from 40.123 ms to 45.300 ms over the run (+12.9 %), mostly compute" */
const char *step_words_trend(const struct steps_view *view, uint32_t trend, char *line,
			     size_t size);

#endif

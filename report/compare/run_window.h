/* A piece of a run's time. Plain data. */
#ifndef RUN_WINDOW_H
#define RUN_WINDOW_H

#include <stdint.h>

/* Single launches that began in one tenth of a second (kept_log.h), on all ranks. */
struct run_window {
	uint32_t item;
	uint64_t number; /* of the tenth */
	double ns;       /* what these launches took */
	double usual_ns; /* the same if each took the mean of its kernel, stack and process */
};

#endif

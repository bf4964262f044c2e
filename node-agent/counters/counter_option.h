/* How often the counters of GPUs are sampled, as an option says it. Any thread. */
#ifndef COUNTER_OPTION_H
#define COUNTER_OPTION_H

#include <stdint.h>

#define COUNTER_OPTION_LEAST 10u /* times a second */
#define COUNTER_OPTION_MOST  10000u

struct counter_option {
	uint32_t per_second; /* 0: not at all */
	const char *
		program; /* that samples them (counter_child.h): this program; NULL as per_second 0 */
};

/* Reads "1000/s", or "1000", into the struct counter_option that context is. Its program is not set. 0 or -EINVAL, with
 * *error as of an option's target (option_line.h). */
int counter_option_take(void *context, const char *name, const char *value, char **error);

#endif

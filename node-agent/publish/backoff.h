/* Computes waiting times between attempts. Each is twice the last, up to a limit. It is then drawn between half of
 * itself and all of itself, so that many that failed together don't come again together. Single-threaded. */
#ifndef BACKOFF_H
#define BACKOFF_H

#include <stdint.h>

struct backoff {
	uint64_t next_ns;
	uint64_t random; /* state of the generator; never 0 */
};

void backoff_init(struct backoff *backoff);

/* Returns how long to wait before the next attempt. */
uint64_t backoff_next_ns(struct backoff *backoff);

/* Notes that an attempt succeeded: the next wait is short again. */
void backoff_reset(struct backoff *backoff);

#endif

/* Waiting times between attempts: each twice the one before, up to a limit, and each somewhere
 * between half of itself and all of it, so that many that failed together don't come again
 * together. Single-threaded. */
#ifndef BACKOFF_H
#define BACKOFF_H

#include <stdint.h>

struct backoff {
	uint64_t next_ns;
	uint64_t random; /* state of the generator; never 0 */
};

void backoff_init(struct backoff *backoff);

/* How long to wait before the next attempt. */
uint64_t backoff_next_ns(struct backoff *backoff);

/* An attempt had success: the next wait is a short one again. */
void backoff_reset(struct backoff *backoff);

#endif

#include "backoff.h"

#include <sys/random.h>

#define FIRST_NS 100000000ull
#define MAX_NS   8000000000ull

void backoff_init(struct backoff *backoff)
{
	if (getrandom(&backoff->random, sizeof(backoff->random), GRND_NONBLOCK) < 0)
		backoff->random = (uintptr_t)backoff;
	backoff->random |= 1;
	backoff_reset(backoff);
}

void backoff_reset(struct backoff *backoff)
{
	backoff->next_ns = FIRST_NS;
}

uint64_t backoff_next_ns(struct backoff *backoff)
{
	uint64_t half_ns = backoff->next_ns / 2;

	backoff->random ^= backoff->random << 13;
	backoff->random ^= backoff->random >> 7;
	backoff->random ^= backoff->random << 17;
	backoff->next_ns = backoff->next_ns * 2 < MAX_NS ? backoff->next_ns * 2 : MAX_NS;
	return half_ns + backoff->random % half_ns;
}

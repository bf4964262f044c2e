#include "cold_frames.h"
#include "cold_numbers.h"

#define WORK(n)                                                                                    \
	static __attribute__((noinline)) uint64_t work_##n(uint64_t seed)                          \
	{                                                                                          \
		if (seed & 1ull << n % 40)                                                         \
			seed = (seed ^ seed >> n % 19) * (n * 40503ull | 1);                       \
		return seed * 0x9e3779b97f4a7c15u + n;                                             \
	}
#define NAME(n) work_##n,

COLD_THOUSAND(WORK, 1)
COLD_THOUSAND(WORK, 2)
COLD_THOUSAND(WORK, 3)
COLD_THOUSAND(WORK, 4)

cold_work *const cold_works[COLD_WORKS] = {COLD_THOUSAND(NAME, 1) COLD_THOUSAND(NAME, 2)
						   COLD_THOUSAND(NAME, 3) COLD_THOUSAND(NAME, 4)};

/* Spins in ten stacks, main to leaf, in known proportions, for SECONDS: what one sampler says of it, another must,
 * too. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#if __has_attribute(noipa)
#define NAMED __attribute__((noipa))
#else
#define NAMED __attribute__((noinline))
#endif

NAMED static void keep(volatile uint64_t *sum)
{
	__asm__ volatile("" : : "r"(sum) : "memory");
}

/* Something on its stack, so that it has a frame. */
#define SPIN(n)                                                                                    \
	NAMED static void spin_##n(uint64_t rounds)                                                \
	{                                                                                          \
		volatile uint64_t sum[2] = {0, n};                                                 \
		keep(sum);                                                                         \
		for (uint64_t i = 0; i < rounds; i++)                                              \
			sum[0] += i * n;                                                           \
		keep(sum);                                                                         \
	}

SPIN(1)
SPIN(2)
SPIN(3)
SPIN(4)
SPIN(5)

NAMED static void by_day(unsigned int n)
{
	switch (n) {
	case 0: spin_1(6000); break;
	case 1: spin_2(5000); break;
	case 2: spin_3(4000); break;
	case 3: spin_4(3000); break;
	default: spin_5(2000);
	}
	__asm__ volatile("");
}

NAMED static void by_night(unsigned int n)
{
	switch (n) {
	case 0: spin_1(2500); break;
	case 1: spin_2(3500); break;
	case 2: spin_3(4500); break;
	case 3: spin_4(5500); break;
	default: spin_5(6500);
	}
	__asm__ volatile("");
}

/* A fixed order of the stacks would have a period, and a sampler whose own period is near it sees some stacks only. */
static unsigned int one_of_ten(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed % 10;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec begin, now;
	uint32_t seed = 1;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 100; i++) {
			const unsigned int which = one_of_ten(&seed);

			if (which < 5)
				by_day(which);
			else
				by_night(which - 5);
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
			 (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 <
		 seconds);
	return 0;
}

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

NAMED static void by_day(void)
{
	spin_1(60000);
	spin_2(50000);
	spin_3(40000);
	spin_4(30000);
	spin_5(20000);
	__asm__ volatile("");
}

NAMED static void by_night(void)
{
	spin_1(25000);
	spin_2(35000);
	spin_3(45000);
	spin_4(55000);
	spin_5(65000);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		by_day();
		by_night();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
			 (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 <
		 seconds);
	return 0;
}

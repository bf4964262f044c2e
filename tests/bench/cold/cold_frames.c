#include "cold_frames.h"

#include <alloca.h>

#include "cold_numbers.h"

#define ROOM(n) (16 + (n)*37 % 13 * 24 + ((n) % 40 == 7) * 1500)

#if defined(__x86_64__)
#define SAVE(n)                                                                                    \
	do {                                                                                       \
		if ((n) % 5 > 0)                                                                   \
			__asm__ volatile("" ::: "rbx", "r12");                                     \
		if ((n) % 5 > 2)                                                                   \
			__asm__ volatile("" ::: "r13", "r14", "r15");                              \
	} while (0)
#else
#define SAVE(n) ((void)0)
#endif

static inline __attribute__((always_inline)) void call_next(struct cold_path *path)
{
	if (path->sites[path->at] & 1) {
		cold_path_next(path);
		__asm__ volatile("nop");
	} else {
		cold_path_next(path);
		__asm__ volatile("nop; nop");
	}
}

/* A variable size makes the compiler keep a frame pointer, though it is always the same. */
#define FRAME(n)                                                                                   \
	static __attribute__((noinline)) void frame_##n(struct cold_path *path)                    \
	{                                                                                          \
		volatile char room[ROOM(n)];                                                       \
		volatile char *more = room;                                                        \
		uint64_t salt = path->salt * (2 * n + 1u);                                         \
                                                                                                   \
		if ((n) % 8 == 3)                                                                  \
			more = alloca(32 + (salt & 0));                                            \
		if ((n) % 50 == 21) {                                                              \
			_Alignas(64) volatile char aligned[64];                                    \
                                                                                                   \
			aligned[0] = 1;                                                            \
			__asm__ volatile("" ::"r"(aligned) : "memory");                            \
		}                                                                                  \
		room[0] = more[0] = (char)salt;                                                    \
		SAVE(n);                                                                           \
		if (salt & 1 << n % 20)                                                            \
			salt ^= salt >> n % 17;                                                    \
		call_next(path);                                                                   \
		path->salt += (uint64_t)room[0] + salt;                                            \
	}
#define NAME(n) frame_##n,

COLD_HUNDRED(FRAME, 1)
COLD_HUNDRED(FRAME, 2)
COLD_HUNDRED(FRAME, 3)

cold_frame *const cold_frames[COLD_FRAMES] = {COLD_HUNDRED(NAME, 1) COLD_HUNDRED(NAME, 2)
						      COLD_HUNDRED(NAME, 3)};

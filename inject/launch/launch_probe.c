#include "launch_probe.h"

#include "probe_point.h"

/* The registers of a C function's arguments. Tracers of this probe may rely on them. */
#if defined(__x86_64__)
#define ARGUMENT(n) __asm__(X86_##n)
#define X86_0       "rdi"
#define X86_1       "rsi"
#define X86_2       "rdx"
#define X86_3       "rcx"
#define X86_4       "r8"
#define ARGUMENTS   "4@%%edi 4@%%esi 4@%%edx 4@%%ecx 8@%%r8"
#elif defined(__aarch64__)
#define ARGUMENT(n) __asm__("x" #n)
#define ARGUMENTS   "4@x0 4@x1 4@x2 4@x3 8@x4"
#else
#error "the probe's arguments are not known for this machine"
#endif

/* Its section puts it into the file's data, although it is zero. */
PROBE_POINT_SEMAPHORE unsigned short launch_probe_semaphore;

/* There is one copy of this function. It has a frame of its own, from which the kernel walks on. */
__attribute__((noinline, noclone)) void launch_probe_fire(uint32_t correlation_id, uint32_t cbid,
							  uint32_t device_id, uint32_t context_id,
							  uint64_t stream)
{
	register uint64_t first ARGUMENT(0) = correlation_id;
	register uint64_t second ARGUMENT(1) = cbid;
	register uint64_t third ARGUMENT(2) = device_id;
	register uint64_t fourth ARGUMENT(3) = context_id;
	register uint64_t fifth ARGUMENT(4) = stream;

	/* The function calls nothing, so the compiler would leave the frame out if nothing read its address. */
	__asm__ volatile("" : : "r"(__builtin_frame_address(0)));
	__asm__ volatile(PROBE_POINT("flamegrid", "launch", "launch_probe_semaphore", ARGUMENTS)
			 :
			 : "r"(first), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
			 : "memory");
}

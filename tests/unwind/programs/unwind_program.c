#include "unwind_program.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE    __attribute__((noinline))
#define FIBERS_MAX  3
#define FIBER_BYTES (1u << 20)
/* After a call: it is no tail call, and what it got is still alive. */
#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

static __thread const struct program_host *host;
static __thread uint64_t signal_seed;
static __thread uint32_t signal_depth;
static __thread int nr_fibers;

struct fiber {
	ucontext_t own, back;
	uint64_t seed;
	uint32_t depth;
};

static uint64_t next(uint64_t seed)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^ seed << 17;
}

static NOINLINE void plain(uint64_t seed, uint32_t depth)
{
	program_go(seed, depth);
	KEEP(&seed);
}

static NOINLINE void recursive(uint64_t seed, uint32_t depth, int levels)
{
	volatile int here[3] = {levels, levels, levels};

	if (levels > 0)
		recursive(seed, depth, levels - 1);
	else
		program_go(seed, depth);
	KEEP(here);
}

static NOINLINE void with_recursion(uint64_t seed, uint32_t depth)
{
	recursive(seed, depth, (int)(seed % 6));
	KEEP(&seed);
}

static NOINLINE void with_alloca(uint64_t seed, uint32_t depth)
{
	char *room = alloca(seed % 300 + 1);

	memset(room, 1, seed % 300 + 1);
	program_go(seed, depth);
	KEEP(room);
}

static NOINLINE void with_vla(uint64_t seed, uint32_t depth)
{
	volatile int room[seed % 77 + 1];

	room[0] = 1;
	program_go(seed, depth);
	KEEP(room);
}

static NOINLINE void realigned(uint64_t seed, uint32_t depth)
{
	volatile float vector[8] __attribute__((aligned(32))) = {1};

	program_go(seed, depth);
	KEEP(vector);
}

/* Arguments on the stack and a stack of unknown size: the compiler must remember where the
 * arguments are in a register of its own. */
static NOINLINE void realigned_with_all(uint64_t seed, uint32_t depth, int a, int b, int c, int d,
					int e, int f)
{
	volatile float vector[16] __attribute__((aligned(64))) = {1};
	char *room = alloca((size_t)(a + b + c + d + e + f));

	room[0] = (char)a;
	program_go(seed, depth);
	KEEP(vector);
	KEEP(room);
}

static NOINLINE void with_drap(uint64_t seed, uint32_t depth)
{
	realigned_with_all(seed, depth, 1, 2, 3, 4, 5, (int)(seed % 100));
	KEEP(&seed);
}

static NOINLINE __attribute__((force_align_arg_pointer)) void forced(uint64_t seed, uint32_t depth)
{
	program_go(seed, depth);
	KEEP(&seed);
}

static NOINLINE void large(uint64_t seed, uint32_t depth)
{
	volatile char room[70000];

	room[seed % sizeof(room)] = 1;
	program_go(seed, depth);
	KEEP(room);
}

static NOINLINE void variadic(int nr, ...)
{
	va_list list;

	va_start(list, nr);
	uint64_t seed = va_arg(list, uint64_t);
	uint32_t depth = va_arg(list, uint32_t);
	va_end(list);
	program_go(seed, depth);
	KEEP(&seed);
}

static NOINLINE void with_variadic(uint64_t seed, uint32_t depth)
{
	variadic(2, seed, depth, 1.0, 2, 3, 4, 5, 6, 7);
	KEEP(&seed);
}

static NOINLINE void tail_call(uint64_t seed, uint32_t depth)
{
	program_go(seed, depth);
}

static NOINLINE void tail_call_of_tail_call(uint64_t seed, uint32_t depth)
{
	tail_call(seed + 1, depth);
}

/* Everything in registers, rbp too, around the call. */
static NOINLINE void busy(uint64_t seed, uint32_t depth)
{
	uint64_t a = seed * 3, b = seed ^ 5, c = seed + 7, d = seed - 11, e = seed * 13, f = ~seed;

	program_go(seed, depth);
	a ^= (b + c * d - e) ^ f;
	KEEP(a);
	KEEP(b);
	KEEP(c ^ d ^ e ^ f);
}

/* ---- through the C library ---- */

struct comparison {
	uint64_t seed;
	uint32_t depth;
	int done;
};
static __thread struct comparison *comparing;

static int compare(const void *a, const void *b)
{
	struct comparison *now = comparing;

	if (!now->done) {
		now->done = 1;
		program_go(now->seed, now->depth);
		comparing = now;
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void through_qsort(uint64_t seed, uint32_t depth)
{
	int values[] = {5, 3, 9, 1, 7};
	struct comparison now = {seed, depth, 0}, *outer = comparing;

	comparing = &now;
	qsort(values, 5, sizeof(values[0]), compare);
	comparing = outer;
	KEEP(values);
}

static __attribute__((noreturn)) NOINLINE void leave(jmp_buf *back, uint64_t seed, uint32_t depth)
{
	program_go(seed, depth);
	longjmp(*back, 1);
}

/* The call is the function's last instruction: the return address is beyond its end. */
static NOINLINE __attribute__((noreturn)) void call_at_the_end(jmp_buf *back, uint64_t seed,
							       uint32_t depth)
{
	leave(back, seed, depth);
}

static NOINLINE void without_return(uint64_t seed, uint32_t depth)
{
	jmp_buf back;

	if (setjmp(back) == 0)
		call_at_the_end(&back, seed, depth);
	KEEP(&back);
}

static void on_signal(int number)
{
	(void)number;
	program_go(signal_seed, signal_depth);
	KEEP(&number);
}

static NOINLINE void signalled(uint64_t seed, uint32_t depth, int number)
{
	signal_seed = seed;
	signal_depth = depth;
	pthread_kill(pthread_self(), number);
	KEEP(&seed);
}

static NOINLINE void with_signal(uint64_t seed, uint32_t depth)
{
	signalled(seed, depth, SIGUSR1);
	KEEP(&seed);
}

/* On a fiber the handler's stack would not be below the interrupted one. */
static NOINLINE void with_signal_on_other_stack(uint64_t seed, uint32_t depth)
{
	signalled(seed, depth, nr_fibers ? SIGUSR1 : SIGUSR2);
	KEEP(&seed);
}

static void fiber_main(unsigned low, unsigned high)
{
	struct fiber *fiber = (struct fiber *)((uintptr_t)high << 32 | low);

	program_go(fiber->seed, fiber->depth);
	KEEP(fiber);
}

static NOINLINE void on_fiber(uint64_t seed, uint32_t depth)
{
	static __thread char *stacks[FIBERS_MAX];
	struct fiber fiber = {.seed = seed, .depth = depth};
	int nr = nr_fibers;

	if (nr == FIBERS_MAX) {
		program_go(seed, depth);
		return;
	}
	if (!stacks[nr])
		stacks[nr] = mmap(NULL, FIBER_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&fiber.own);
	fiber.own.uc_stack.ss_sp = stacks[nr];
	fiber.own.uc_stack.ss_size = FIBER_BYTES;
	fiber.own.uc_link = &fiber.back;
	makecontext(&fiber.own, (void (*)(void))fiber_main, 2, (unsigned)(uintptr_t)&fiber,
		    (unsigned)((uintptr_t)&fiber >> 32));
	host->on_stack((uintptr_t)stacks[nr] + FIBER_BYTES);
	nr_fibers = nr + 1;
	swapcontext(&fiber.back, &fiber.own);
	nr_fibers = nr;
	host->on_stack(nr ? (uintptr_t)stacks[nr - 1] + FIBER_BYTES : 0);
	KEEP(&fiber);
}

/* ---- the choice ---- */

typedef void program_kind(uint64_t seed, uint32_t depth);

#define NOT_PLAIN 4 /* the last so many */

static program_kind *const kinds[] = {
	plain,
	with_recursion,
	with_alloca,
	with_vla,
	realigned,
	with_drap,
	forced,
	large,
	with_variadic,
	tail_call,
	tail_call_of_tail_call,
	busy,
	through_qsort,
	program_go_cxx,
	program_go_cxx,
	program_go_cxx,
	program_go_cxx,
	without_return,
	with_signal,
	with_signal_on_other_stack,
	on_fiber,
};

void program_go(uint64_t seed, uint32_t depth)
{
	uint64_t after = next(seed), nr = sizeof(kinds) / sizeof(kinds[0]);

	if (host->plain)
		nr -= NOT_PLAIN;
	if (depth == 0)
		host->probe();
	else
		kinds[after % nr](after, depth - 1);
	KEEP(&seed);
}

void program_run(const struct program_host *from, uint64_t seed, uint32_t depth)
{
	host = from;
	nr_fibers = 0;
	program_go(seed | 1, depth);
	KEEP(&seed);
}

void program_spin(const struct program_host *from, uint64_t seed, volatile int *stop)
{
	for (seed |= 1; !*stop; seed = next(seed))
		program_run(from, seed, (uint32_t)(seed % 12));
	KEEP(&seed);
}

void program_init(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = SA_NODEFER | SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
}

#include "roomy_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define LEAST       (1u << 20)
#define STACK_BYTES (8u << 20)

static struct {
	int (*run)(int argc, char **argv);
	int argc, status;
	char **argv;
	ucontext_t before, inside;
} call;

static void run_call(void)
{
	call.status = call.run(call.argc, call.argv);
}

static void enlarge_threads(void)
{
	pthread_attr_t attributes;

	if (pthread_getattr_default_np(&attributes) != 0)
		return;
	if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
		pthread_setattr_default_np(&attributes);
	pthread_attr_destroy(&attributes);
}

int roomy_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	struct rlimit limit;
	void *stack;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST)
		return run(argc, argv);
	enlarge_threads();
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return run(argc, argv);
	call.run = run;
	call.argc = argc;
	call.argv = argv;
	getcontext(&call.inside);
	call.inside.uc_stack.ss_sp = stack;
	call.inside.uc_stack.ss_size = STACK_BYTES;
	call.inside.uc_link = &call.before;
	makecontext(&call.inside, run_call, 0);
	swapcontext(&call.before, &call.inside);
	munmap(stack, STACK_BYTES);
	return call.status;
}

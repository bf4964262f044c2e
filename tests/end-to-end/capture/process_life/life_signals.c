/* Signals, jumps, and what a launch must leave as it was. */
#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "life.h"

static volatile sig_atomic_t nr_signals;

static void count_signal(int number)
{
	(void)number;
	nr_signals++;
}

static void take(int number, int flags)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

static int with_timer(int which, int number, const char *name)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};

	take(number, SA_RESTART);
	life_work(name, 10);
	setitimer(which, &often, NULL);
	while (nr_signals < 20)
		if (life_launch(10) != cudaSuccess)
			break;
	setitimer(which, &never, NULL);
	life_work(name, 10);
	return nr_signals >= 20 ? 0 : 1;
}

static int alarms(void)
{
	return with_timer(ITIMER_REAL, SIGALRM, "alarms");
}

static int profiler_signals(void)
{
	return with_timer(ITIMER_PROF, SIGPROF, "SIGPROF");
}

static int other_stack(void)
{
	static char memory[65536];
	const stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)};

	sigaltstack(&other, NULL);
	take(SIGUSR1, SA_ONSTACK);
	for (int i = 0; i < 50; i++) {
		life_launch(5);
		raise(SIGUSR1);
	}
	life_work("signals", (int)nr_signals);
	return 0;
}

static void launch_in_handler(int number)
{
	(void)number;
	life_launch(1);
}

/* On the other stack, where a walk meets the end of the thread's own. */
static int launches_on_other_stack(void)
{
	static char memory[262144];
	const stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = launch_in_handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&other, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR2);
	life_work("afterwards", 10);
	return 0;
}

static void say_and_leave(int number)
{
	life_say("signal %d", number);
	_exit(4);
}

static int overflow(volatile char *above)
{
	volatile char here[4096];

	here[0] = *above;
	return *above ? 0 : overflow(here) + here[0];
}

static int stack_overflow(void)
{
	static char memory[65536];
	const stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = say_and_leave, .sa_flags = SA_ONSTACK};

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &action, NULL);
	volatile char first = 0;

	life_work("before", 50);
	return overflow(&first);
}

static sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static int jumps_out_of_abort(void)
{
	volatile int times = 0;

	signal(SIGABRT, jump_back);
	life_work("before", 50);
	if (sigsetjmp(back, 1) == 0 || times < 5) {
		times++;
		life_launch(5);
		abort();
	}
	life_work("after", 50);
	return 0;
}

static void must(cudaError_t error)
{
	if (error != cudaSuccess)
		siglongjmp(back, 1);
}

static int jumps_out_of_failures(void)
{
	volatile int failures = 0, tries = 0;

	fake_cuda_set("FAKE_CUDA_FAIL_LAUNCH", 3);
	if (sigsetjmp(back, 0))
		failures++;
	while (tries < 30) {
		tries++;
		must(life_launch(1));
	}
	life_say("failures %d", failures);
	return 0;
}

static int keeps_errno(void)
{
	int changed = 0;

	for (int i = 0; i < 200; i++) {
		errno = 77;
		life_launch(1);
		changed += errno != 77;
	}
	life_say("errno changed %d times", changed);
	return 0;
}

/* Floating-point state and the signal mask are the program's, too. */
static int keeps_its_mode(void)
{
	sigset_t mask, before;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	fesetround(FE_UPWARD);
	feclearexcept(FE_ALL_EXCEPT);
	life_launch(200);
	sigprocmask(SIG_SETMASK, NULL, &before);
	life_say("mask %d %d %d, rounding %d, exceptions %d", sigismember(&before, SIGUSR1),
		 sigismember(&before, SIGCHLD), sigismember(&before, SIGTERM),
		 fegetround() == FE_UPWARD, fetestexcept(FE_ALL_EXCEPT));
	return 0;
}

static int dies_in_handler(void)
{
	signal(SIGUSR1, say_and_leave);
	life_launch(300);
	raise(SIGUSR1);
	return 1;
}

const struct life_sample life_signals[] = {
	{"alarms", alarms},
	{"profiler-signals", profiler_signals},
	{"other-stack", other_stack},
	{"launches-on-other-stack", launches_on_other_stack},
	{"stack-overflow", stack_overflow},
	{"jumps-out-of-abort", jumps_out_of_abort},
	{"jumps-out-of-failures", jumps_out_of_failures},
	{"keeps-errno", keeps_errno},
	{"keeps-its-mode", keeps_its_mode},
	{"dies-in-handler", dies_in_handler},
	{0},
};

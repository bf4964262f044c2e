/* Launches before, within and after a session of a profiler like PyTorch's (kineto_session.h), which is in a library.
 *
 *   fake_kineto LIBRARY BEFORE WITHIN AFTER [--late] [--rest] [--tear-down]
 *
 * BEFORE, WITHIN and AFTER are kernels; each may be "-": one kernel and more until SIGUSR1 begins the session, SIGUSR2 ends
 * it, SIGTERM ends the program. --late loads the library after the first CUDA call, at SIGHUP if BEFORE is "-". --rest waits
 * for SIGUSR2 before it ends the session. --tear-down gives the
 * subscription back after the session and ends CUPTI. Within the session a context is created. Then it prints
 * "subscribed RESULT RESULT RESULT contexts COUNT", with --tear-down "torn down RESULT RESULT RESULT", "launched COUNT" and
 * "session LAUNCHED RECORDED". */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"
#include "kineto_session.h"

static FAKE_CUDA_KERNEL(outside, FAKE_CUDA_FIXED_NS(1000));
static FAKE_CUDA_KERNEL(inside, FAKE_CUDA_FIXED_NS(1000));

static volatile sig_atomic_t signals[3], load_wanted; /* begin, end, stop */
static unsigned long long launched;
static const char *path;
static struct kineto_session *session;

static void on_signal(int number)
{
	if (number == SIGHUP)
		load_wanted = 1;
	else
		signals[number == SIGUSR1 ? 0 : number == SIGUSR2 ? 1 : 2] = 1;
}

static void load(void)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	kineto_session_table_fn *table = NULL;

	if (library)
		*(void **)&table = dlsym(library, "kineto_session_table");
	if (!table)
		abort();
	session = table();
}

static void launch(struct fake_cuda_kernel *kernel)
{
	if (cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) !=
	    cudaSuccess)
		abort();
	if (++launched % 100 == 0)
		cudaDeviceSynchronize();
}

/* One of the three phases. */
static void run(const char *count, int phase, struct fake_cuda_kernel *kernel)
{
	bool open = strcmp(count, "-") == 0;
	unsigned long long nr = open ? 1 : strtoull(count, NULL, 10);

	for (unsigned long long i = 0; i < nr || (open && !signals[phase]); i++) {
		launch(kernel);
		if (load_wanted && !session)
			load();
	}
	cudaDeviceSynchronize();
}

static void await_end(void)
{
	sigset_t end, none;

	sigemptyset(&none);
	sigemptyset(&end);
	sigaddset(&end, SIGUSR2);
	sigprocmask(SIG_BLOCK, &end, NULL);
	while (!signals[1])
		sigsuspend(&none);
	sigprocmask(SIG_UNBLOCK, &end, NULL);
}

static void create_context(void)
{
	cudaSetDevice(1);
	cudaFree(NULL);
	cudaSetDevice(0);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	bool late = false, rest = false, tear_down = false;
	unsigned long long before;

	if (argc < 5)
		return 2;
	for (int i = 5; i < argc; i++) {
		late |= strcmp(argv[i], "--late") == 0;
		rest |= strcmp(argv[i], "--rest") == 0;
		tear_down |= strcmp(argv[i], "--tear-down") == 0;
	}
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	path = argv[1];
	if (!late)
		load();
	run(argv[2], 0, outside);
	if (!session)
		load();
	before = launched;
	session->begin();
	create_context();
	run(argv[3], 1, inside);
	if (rest)
		await_end();
	session->end();
	before = launched - before;
	printf("subscribed %d %d %d contexts %u\n", session->results.subscribe,
	       session->results.created, session->results.destroyed, session->results.nr_created);
	if (tear_down) {
		session->tear_down();
		printf("torn down %d %d %d %d\n", session->results.resource_domain,
		       session->results.runtime_domain, session->results.unsubscribe,
		       session->results.finalize);
	}
	run(argv[4], 2, outside);
	printf("launched %llu\nsession %llu %llu\n", launched, before, session->results.recorded);
	return 0;
}

/* A program with known functions, each of which does one thing that the kernel can see. What it did goes to the
 * descriptor that the environment names in VICTIM_REPORT (struct victim_report); frame pointers and system calls of its
 * own keep its stacks exact. */
#include "victim_report.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The C library's functions keep no frame pointers everywhere; and the call is not the function's last instruction. */
static inline __attribute__((always_inline)) long call4(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

static volatile uint64_t sink;

NOINLINE void victim_spin(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 1000000; i++)
			sink += (uint64_t)i;
}

/* Most of this is in the code that the kernel lends to every process. */
NOINLINE void victim_clock(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 20000; i++)
			sink += clock_ns(CLOCK_MONOTONIC);
}

NOINLINE void victim_sleep(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	call4(SYS_nanosleep, (long)&time, 0, 0, 0);
	sink++;
}

NOINLINE void victim_poll(int ms)
{
	struct pollfd none = {.fd = -1};

	call4(SYS_poll, (long)&none, 1, ms, 0);
	sink++;
}

NOINLINE void victim_lock(volatile int *word)
{
	while (*word)
		call4(SYS_futex, (long)word, FUTEX_WAIT, 1, 0);
	sink++;
}

NOINLINE void victim_read(int fd)
{
	char byte;

	call4(SYS_read, fd, (long)&byte, 1, 0);
	sink++;
}

struct peer {
	volatile int lock;
	int pipe_end;
	uint64_t ns;
};

static void *play_peer(void *argument)
{
	struct peer *peer = argument;

	victim_sleep(peer->ns);
	__atomic_store_n(&peer->lock, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &peer->lock, FUTEX_WAKE, 1, NULL);
	victim_sleep(peer->ns);
	if (write(peer->pipe_end, "x", 1) != 1)
		abort();
	return NULL;
}

/*
 * Every kind of wait, and then work. Returns how long the waits lasted: that part needs next to no CPU, so a host that
 * takes this machine's CPU away can hardly add to it. The work's time without a CPU has no such bound.
 */
NOINLINE uint64_t victim_all(uint64_t ns)
{
	uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int ends[2];
	struct peer peer = {.lock = 1, .ns = ns};
	pthread_t thread;

	if (pipe(ends))
		abort();
	peer.pipe_end = ends[1];
	if (pthread_create(&thread, NULL, play_peer, &peer))
		abort();
	victim_lock(&peer.lock);
	victim_read(ends[0]);
	victim_sleep(ns);
	victim_poll((int)(ns / 1000000));
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	wall_ns = clock_ns(CLOCK_MONOTONIC) - wall_ns;
	victim_spin(3 * ns);
	pthread_join(thread, NULL);
	return wall_ns - cpu_ns;
}

static void *play_spinner(void *argument)
{
	victim_spin(*(uint64_t *)argument);
	return NULL;
}

NOINLINE void victim_threads(uint64_t ns)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, play_spinner, &ns))
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* A child that works, one that is another program, one that is gone at once. */
static void play_parent(char **argv, uint64_t ns)
{
	char *const again[] = {argv[0], "spin", argv[2], NULL};

	if (fork() == 0) {
		victim_spin(ns);
		_exit(0);
	}
	if (fork() == 0) {
		victim_spin(ns);
		unsetenv("VICTIM_START");
		unsetenv("VICTIM_REPORT");
		execv("/proc/self/exe", again);
		_exit(1);
	}
	for (int i = 0; i < 20; i++)
		if (fork() == 0)
			_exit(0);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

/* As many waits as there is room for none of. */
NOINLINE void victim_burst(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		victim_sleep(50000);
}

static volatile int has_hogged;

static bool sleeps(pid_t tid)
{
	char path[64], text[64] = "";
	int file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	file = open(path, O_RDONLY);
	if (file < 0 || read(file, text, sizeof(text) - 1) < 0)
		abort();
	close(file);
	return strstr(text, ") S");
}

/* Takes the main thread's CPU for longer than it sleeps, while it sleeps. */
static void *play_hog(void *argument)
{
	uint64_t ns = *(uint64_t *)argument;
	struct sched_param first = {.sched_priority = 1};

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &first))
		abort();
	while (!sleeps(getpid()))
		victim_sleep(100000);
	victim_spin(2 * ns);
	has_hogged = 1;
	return NULL;
}

/* Is woken while another thread has its CPU. */
NOINLINE void victim_queue(uint64_t ns)
{
	cpu_set_t cpus;
	pthread_t thread;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    pthread_create(&thread, NULL, play_hog, &ns))
		abort();
	while (!has_hogged)
		victim_sleep(ns);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *fd = getenv("VICTIM_REPORT"), *ready = getenv("VICTIM_START");
	uint64_t amount = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	char byte;

	if (argc < 3 || (ready && read(atoi(ready), &byte, 1) != 1))
		return 2;
	struct victim_report report = {.pid = (uint32_t)getpid(),
				       .begin_ns = clock_ns(CLOCK_MONOTONIC),
				       .cpu_begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	if (strcmp(argv[1], "all") == 0)
		report.waited_ns = victim_all(amount);
	else if (strcmp(argv[1], "spin") == 0)
		victim_spin(amount);
	else if (strcmp(argv[1], "clock") == 0)
		victim_clock(amount);
	else if (strcmp(argv[1], "threads") == 0)
		victim_threads(amount);
	else if (strcmp(argv[1], "children") == 0)
		play_parent(argv, amount);
	else if (strcmp(argv[1], "burst") == 0)
		victim_burst(amount);
	else if (strcmp(argv[1], "queue") == 0)
		victim_queue(amount);
	else if (strcmp(argv[1], "read") == 0)
		victim_read(STDIN_FILENO);
	else
		return 2;
	report.end_ns = clock_ns(CLOCK_MONOTONIC);
	report.cpu_end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (fd && write(atoi(fd), &report, sizeof(report)) != sizeof(report))
		return 3;
	return 7;
}

/* A program with an interpreter that only looks like one: it works before that starts, in it, and after it has stopped.
 * usage: made_victim LIBRARY,THREADS,FRAMES NS (made_interpreter.h); what it does in the interpreter goes to the
 * descriptor in VICTIM_REPORT, and so on as bpf_victim.c. usage: made_victim LIBRARY,THREADS,FRAMES,hidden COUNT: waits
 * so often in an interpreter that hides its thread, after a byte of standard input; then, until there is another, in
 * one that does not, from cpu_begin_ns to cpu_end_ns. */
#include "made_interpreter.h"
#include "victim_report.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;

static void work(uint64_t ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
}

NOINLINE static void made_outside(uint64_t ns)
{
	work(ns);
	sink++;
}

NOINLINE static void made_inside(void *context)
{
	work(*(const uint64_t *)context);
	sink++;
}

static struct made_interpreter made;

static void wait_shortly(void)
{
	struct timespec time = {.tv_nsec = 50000};

	nanosleep(&time, NULL);
}

/* So that the agent has something to look at. */
NOINLINE static void made_waits(void *context)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char byte;

	(void)context;
	do
		wait_shortly();
	while (poll(&input, 1, 0) == 0);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		exit(4);
}

static void hide(uint64_t count, struct victim_report *report)
{
	made_interpreter_hide(&made);
	made_interpreter_start(&made);
	made_waits(NULL);
	report->begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < count; i++)
		wait_shortly();
	report->end_ns = clock_ns(CLOCK_MONOTONIC);
	made_interpreter_show(&made);
	report->cpu_begin_ns = clock_ns(CLOCK_MONOTONIC);
	made_interpreter_run(&made, made_waits, NULL);
	report->cpu_end_ns = clock_ns(CLOCK_MONOTONIC);
	made_interpreter_stop(&made);
}

static void play(uint64_t ns, struct victim_report *report)
{
	made_outside(ns);
	made_interpreter_start(&made);
	report->begin_ns = clock_ns(CLOCK_MONOTONIC);
	made_interpreter_run(&made, made_inside, &ns);
	report->end_ns = clock_ns(CLOCK_MONOTONIC);
	made_interpreter_stop(&made);
	made_outside(ns);
}

int main(int argc, char **argv)
{
	const char *fd = getenv("VICTIM_REPORT"), *ready = getenv("VICTIM_START");
	char byte, path[4096];
	unsigned threads, frames;

	if (argc < 3 || sscanf(argv[1], "%4095[^,],%u,%u", path, &threads, &frames) != 3 ||
	    (ready && read(atoi(ready), &byte, 1) != 1))
		return 2;
	uint64_t ns = strtoull(argv[2], NULL, 10);
	struct victim_report report = {.pid = (uint32_t)getpid()};

	made_interpreter_create(&made, path, threads, frames);
	if (strstr(argv[1], ",hidden"))
		hide(ns, &report);
	else
		play(ns, &report);
	if (fd && write(atoi(fd), &report, sizeof(report)) != sizeof(report))
		return 3;
	return 7;
}

#include "watch_hooks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_text.h"
#include "cli/base/child_process.h"
#include "report/watch/watch_writer.h"

#define SHELL      "/bin/sh"
#define PREFIX     "FLAMEGRID_WATCH_"
#define VARIABLES  4u
#define LOOK_MS    20
#define KILL_LOOKS 50
#define NS_PER_S   1000000000u

/* ---- what a command is told */

/* Returns a descriptor from which the event is read; -errno. */
static int write_event(const struct watch_event *event)
{
	int fd = memfd_create("event", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : dup(fd);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
	int status = file ? 0 : -errno;

	if (file) {
		watch_writer_json(file, event);
		if (fclose(file) || lseek(fd, 0, SEEK_SET) < 0)
			status = -errno;
	} else if (copy >= 0) {
		close(copy);
	}
	if (status && fd >= 0)
		close(fd);
	return status ? status : fd;
}

/* The caller owns the line: free(). NULL: out of memory. */
static char *text_of(const struct watch_event *event)
{
	struct memory_text memory;
	char *text;
	size_t size;

	if (memory_text_open(&memory))
		return NULL;
	watch_writer_text(memory.out, event);
	memory_text_take(&memory, &text, &size);
	return text;
}

static char *variable(const char *name, const char *value)
{
	char *text;

	return value && asprintf(&text, PREFIX "%s=%s", name, value) >= 0 ? text : NULL;
}

/* Our own environment, with the event's variables. The first VARIABLES strings are the caller's, too, as the array is.
 * NULL: out of memory. */
static char **make_environment(const struct watch_hooks *hooks, const struct watch_event *event)
{
	size_t count = 0, used = VARIABLES;

	while (environ[count])
		count++;
	char **list = calloc(count + VARIABLES + 1, sizeof(*list));
	if (!list)
		return NULL;
	char *text = text_of(event);
	list[0] = variable("EVENT", watch_writer_kind(event->kind));
	list[1] = variable("NAME", event->finding.name);
	list[2] = variable("TEXT", text);
	list[3] = variable("PROFILE", hooks->profile);
	free(text);
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], PREFIX, strlen(PREFIX)) != 0)
			list[used++] = environ[i];
	return list;
}

static void free_environment(char **list)
{
	for (size_t i = 0; i < VARIABLES && list; i++)
		free(list[i]);
	free(list);
}

static bool is_whole(char **list)
{
	for (size_t i = 0; i < VARIABLES && list; i++)
		if (!list[i])
			return false;
	return list != NULL;
}

/* ---- running */

/* 0 or -errno. */
static int spawn(const struct watch_hooks *hooks, int input, char **environment, pid_t *pid)
{
	char *const arguments[] = {(char *)SHELL, (char *)"-c", (char *)hooks->command, NULL};
	const int fds[] = {input, STDERR_FILENO, STDERR_FILENO};

	return child_process_start(SHELL, arguments, environment, fds, pid);
}

static struct watch_hook *find_place(struct watch_hooks *hooks)
{
	for (uint32_t i = 0; i < WATCH_HOOKS_MAX; i++)
		if (!hooks->running[i].pid)
			return &hooks->running[i];
	return NULL;
}

void watch_hooks_start(struct watch_hooks *hooks, const struct watch_event *event, uint64_t now_ns)
{
	if (!hooks->command)
		return;
	struct watch_hook *place = find_place(hooks);
	if (!place) {
		log_warning("%s: %s: the command is not run, because %u others still run",
			    event->finding.name, watch_writer_kind(event->kind), WATCH_HOOKS_MAX);
		return;
	}
	char **environment = make_environment(hooks, event);
	int input = is_whole(environment) ? write_event(event) : -ENOMEM;
	int r = input < 0 ? input : spawn(hooks, input, environment, &place->pid);

	if (input >= 0)
		close(input);
	free_environment(environment);
	if (r) {
		place->pid = 0;
		log_warning("%s: %s: the command could not be run: %s", event->finding.name,
			    watch_writer_kind(event->kind), strerror(-r));
		return;
	}
	place->until_ns = now_ns + WATCH_HOOKS_NS;
}

static void say_how_it_ended(int status)
{
	if (WIFSIGNALED(status))
		log_warning("the command was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warning("the command ended with status %d", WEXITSTATUS(status));
}

/* A command may have left its process group, and one that waits for a dead disk does not end at once. */
static void end_hook(struct watch_hook *hook, const char *why)
{
	log_warning("the command is killed, because %s", why);
	kill(-hook->pid, SIGKILL);
	kill(hook->pid, SIGKILL);
	for (int i = 0; i < KILL_LOOKS && waitpid(hook->pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, LOOK_MS);
	hook->pid = 0;
}

uint32_t watch_hooks_look(struct watch_hooks *hooks, uint64_t now_ns)
{
	uint32_t running = 0;

	for (uint32_t i = 0; i < WATCH_HOOKS_MAX; i++) {
		struct watch_hook *hook = &hooks->running[i];
		int status = 0;

		if (!hook->pid)
			continue;
		if (waitpid(hook->pid, &status, WNOHANG) == 0) {
			if (now_ns >= hook->until_ns)
				end_hook(hook, "it has not ended in 60 s");
			else
				running++;
			continue;
		}
		say_how_it_ended(status);
		hook->pid = 0;
	}
	return running;
}

void watch_hooks_finish(struct watch_hooks *hooks, uint64_t wait_ns, int stop)
{
	struct pollfd stopped = {.fd = stop, .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + wait_ns;

	while (watch_hooks_look(hooks, clock_now_ns()) && clock_now_ns() < until_ns) {
		if (poll(&stopped, 1, LOOK_MS) <= 0)
			continue;
		stopped.fd = -1; /* once */
		if (clock_now_ns() + WATCH_HOOKS_STOP_NS < until_ns)
			until_ns = clock_now_ns() + WATCH_HOOKS_STOP_NS;
	}
	for (uint32_t i = 0; i < WATCH_HOOKS_MAX; i++)
		if (hooks->running[i].pid)
			end_hook(&hooks->running[i], "the watch ends");
}

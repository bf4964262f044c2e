#include "job_watch.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch_loop.h"

#include "base/log.h"
#include "base/memory_text.h"
#include "cli/base/background.h"
#include "report/watch/watch_writer.h"

#define READY_MS  5000
#define PRIORITY  10
#define LINGER_NS 2000000000ull
#define BEGIN_NS  60000000000ull

struct body {
	const char *profile_path, *wanted;
	int control;
};

static bool is_good(enum watch_event_kind kind)
{
	return kind == WATCH_EVENT_RECOVERED || kind == WATCH_EVENT_CAME;
}

static int tell(void *context, const struct watch_event *event)
{
	struct memory_text memory;
	char *text;
	size_t size;

	(void)context;
	if (memory_text_open(&memory))
		return 0;
	watch_writer_text(memory.out, event);
	if (memory_text_take(&memory, &text, &size) == 0)
		log_write(is_good(event->kind) ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "%s", text);
	free(text);
	return 0;
}

static int watch_job(const struct body *body)
{
	const struct watch_loop loop = {
		.profile_path = body->profile_path,
		.command = strcmp(body->wanted, JOB_WATCH_LOG) == 0 ? NULL : body->wanted,
		.tell = tell,
		.stop = body->control,
		.linger_ns = LINGER_NS,
		.begin_wait_ns = BEGIN_NS,
	};

	return watch_loop_run(&loop);
}

static bool has_stopped(int control)
{
	struct pollfd stop = {.fd = control, .events = POLLIN};

	return poll(&stop, 1, 0) > 0;
}

/* The watch is a child of this process, which says if somebody kills it: it reads whole profiles, and may be the first
 * that lacks memory. */
static void run(void *argument, int ready)
{
	const struct body *body = argument;
	int status = 0;

	prctl(PR_SET_NAME, "flamegrid-watch");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	background_ready(ready);
	const pid_t pid = fork();

	if (pid == 0)
		_exit(watch_job(body) != 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		log_warning("the job is not watched: %s", strerror(errno));
	else if (WIFSIGNALED(status) && !has_stopped(body->control))
		log_warning("the watch was ended by signal %d (%s): nobody says who is late any "
			    "more; the job goes on",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
}

void job_watch_start(struct job_watch *watch, const char *profile_path, const char *wanted)
{
	struct body body = {.profile_path = profile_path, .wanted = wanted};
	pid_t group;

	*watch = (struct job_watch){.runs = false};
	if (!wanted)
		return;
	int r = background_start_talking(run, &body, &body.control, READY_MS, &watch->fd, &group);
	watch->runs = r == 0;
	if (r)
		log_warning("the job is not watched: %s", strerror(-r));
}

void job_watch_stop(struct job_watch *watch)
{
	if (watch->runs)
		close(watch->fd);
	watch->runs = false;
}

#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define STEP_MS   500u
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)
#define LINE_SIZE 128u

static void write_line(const char *line)
{
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return; /* the terminal is gone; the task goes on */
}

/* Waits until the time has passed, or the task ends. */
static bool waits(struct progress *progress, uint32_t ms)
{
	const uint64_t until_ns = clock_now_ns() + ms * NS_PER_MS;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
				       .tv_nsec = (long)(until_ns % NS_PER_S)};
	int result = 0;

	while (!progress->is_ending && result == 0)
		result = pthread_cond_timedwait(&progress->ends, &progress->lock, &until);
	return !progress->is_ending;
}

static void *show(void *context)
{
	struct progress *progress = context;
	bool has_line = false;
	char line[LINE_SIZE];

	pthread_mutex_lock(&progress->lock);
	for (uint32_t ms = PROGRESS_AFTER_MS; waits(progress, ms); ms = STEP_MS) {
		snprintf(line, sizeof(line), "\r\033[K%s … %" PRIu64 " s", progress->what,
			 (clock_now_ns() - progress->start_ns) / NS_PER_S);
		write_line(line);
		has_line = true;
	}
	pthread_mutex_unlock(&progress->lock);
	if (has_line)
		write_line("\r\033[K");
	return NULL;
}

void progress_start(struct progress *progress, const char *what)
{
	pthread_condattr_t attributes;

	memset(progress, 0, sizeof(*progress));
	if (!isatty(STDERR_FILENO) || !log_shows(LOG_LEVEL_NOTICE))
		return;
	progress->what = what;
	progress->start_ns = clock_now_ns();
	pthread_mutex_init(&progress->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&progress->ends, &attributes);
	pthread_condattr_destroy(&attributes);
	progress->runs = pthread_create(&progress->thread, NULL, show, progress) == 0;
}

void progress_say(struct progress *progress, const char *what)
{
	if (!progress->runs)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->what = what;
	pthread_mutex_unlock(&progress->lock);
}

void progress_stop(struct progress *progress)
{
	if (!progress->runs)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->is_ending = true;
	pthread_cond_signal(&progress->ends);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
	pthread_cond_destroy(&progress->ends);
	pthread_mutex_destroy(&progress->lock);
	progress->runs = false;
}

/* The verb `watch`: tells who is late in a job while it runs. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/stop_pipe.h"
#include "cli/base/verbs.h"
#include "cli/watch/watch_hooks.h"
#include "cli/watch/watch_loop.h"
#include "options/option_line.h"
#include "report/names/local_time.h"
#include "report/watch/watch_writer.h"

enum watch_format { WATCH_TEXT, WATCH_JSON };

struct watch {
	const char *profile_path, *command;
	enum watch_format format;
};

static int stop_fd; /* readable once a signal ends the verb */

static int parse(struct watch *watch, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"exec", .text = &watch->command, .least = 1},
		{"format", .choice = &watch->format},
	};
	int status = option_line_parse(&option_table_watch, targets,
				       sizeof(targets) / sizeof(*targets), argc, argv);

	watch->profile_path = argv[optind];
	return status;
}

static int tell(void *context, const struct watch_event *event)
{
	const struct watch *watch = context;
	struct pollfd ready[] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
				 {.fd = stop_fd, .events = POLLIN}};
	char time[LOCAL_TIME_SIZE];

	while (poll(ready, 2, -1) < 0 && errno == EINTR)
		;
	if (ready[1].revents)
		return -EINTR;
	if (watch->format == WATCH_JSON) {
		watch_writer_json(stdout, event);
	} else {
		printf("%s ", local_time_text(event->time_ns, "%T", time));
		watch_writer_text(stdout, event);
		putchar('\n');
	}
	if (fflush(stdout) == 0)
		return 0;
	const int error = -errno;
	if (error == -EINTR)
		return error;
	log_error("standard output: %s", strerror(-error));
	return error;
}

int verb_watch(const char *program, int argc, char **argv)
{
	struct watch watch = {.profile_path = NULL};
	char store[PATH_MAX];
	struct stat info;
	int status = parse(&watch, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	const char *store_path = output_dir_store(watch.profile_path, store);
	if (stat(store_path, &info) < 0) {
		log_error("%s: %s", store_path, strerror(errno));
		return EXIT_FAILED;
	}
	int r = stop_pipe_open(&stop_fd);
	if (r) {
		log_error("%s", strerror(-r));
		return EXIT_FAILED;
	}
	const struct watch_loop loop = {
		.profile_path = watch.profile_path,
		.command = watch.command,
		.tell = tell,
		.context = &watch,
		.stop = stop_fd,
		.linger_ns = WATCH_HOOKS_NS,
	};
	r = watch_loop_run(&loop);
	return r && r != -EINTR ? EXIT_FAILED : EXIT_OK;
}

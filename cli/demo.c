/* The verb `demo`: profiles the training program of this installation (deploy/demo), on simulated GPUs where no GPU can
 * be profiled. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/doctor/diagnosis.h"
#include "cli/run/run_options.h"
#include "inject/cupti/cupti_search.h"
#include "options/option_line.h"
#include "proto/install_paths.h"

#define DEMO_OUTPUT  "flamegrid-demo"
#define DEMO_PROGRAM "flamegrid-demo-train"
#define DEMO_CUDA    "lib/fake-cuda"
#define DEMO_ROWS    "12"
#define PATH_ROOM    (PATH_MAX + 64)

struct demo {
	const char *program; /* argv[0] of the process */
	const char *output;
	const char *timeline; /* what `run` gets; NULL: nothing */
	const char *obstacle; /* to a real GPU; NULL: none */
	struct install_paths paths;
	char train[PATH_ROOM];
};

/* Returns the first obstacle to work on a real GPU, or NULL. */
static const char *find_obstacle(const char *program)
{
	static const char *const subjects[] = {"driver", "CUPTI"};
	static struct diagnosis diagnosis;

	diagnosis_make(&diagnosis, program);
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		for (size_t f = 0; f < diagnosis.count; f++)
			if (diagnosis.findings[f].verdict != DIAGNOSIS_GOOD &&
			    strcmp(diagnosis.findings[f].subject, subjects[i]) == 0)
				return diagnosis.findings[f].text;
	return NULL;
}

/* It is in libexec/ of an installation, and in bin/ of a build tree. */
static int find_train(struct demo *demo)
{
	static const char *const folders[] = {"libexec", "bin"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(demo->train, sizeof(demo->train), "%s/%s/" DEMO_PROGRAM, demo->paths.root,
			 folders[i]);
		if (access(demo->train, X_OK) == 0)
			return 0;
	}
	log_error("%s: %s", demo->train, strerror(errno));
	return -ENOENT;
}

/* Makes the loader find the simulated CUDA first. 0 or -errno. */
static int simulate(const struct demo *demo)
{
	char cupti[PATH_ROOM], folders[2 * PATH_ROOM];
	const char *had = getenv("LD_LIBRARY_PATH");

	snprintf(cupti, sizeof(cupti), "%s/" DEMO_CUDA "/libcupti.so.13", demo->paths.root);
	snprintf(folders, sizeof(folders), "%s/" DEMO_CUDA "%s%s", demo->paths.root,
		 had && *had ? ":" : "", had ? had : "");
	return setenv(CUPTI_SEARCH_ENV, cupti, 1) || setenv("LD_LIBRARY_PATH", folders, 1) ? -errno
											   : 0;
}

/* In a process of its own: `run` ends it as the program ends. */
static int record(struct demo *demo)
{
	char devices[PATH_ROOM];
	char *run[11] = {(char *)"run", (char *)"--strict", (char *)"--quiet", (char *)"-o",
			 (char *)demo->output};
	int nr = 5, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || (demo->obstacle && simulate(demo))) {
		log_error("%s", strerror(errno));
		return EXIT_FAILED;
	}
	if (demo->obstacle) {
		snprintf(devices, sizeof(devices), "--devices=%s/" DEMO_CUDA "/devices",
			 demo->paths.root);
		run[nr++] = devices;
	}
	if (demo->timeline) {
		run[nr++] = (char *)"--timeline";
		run[nr++] = (char *)demo->timeline;
	}
	run[nr++] = (char *)"--";
	run[nr++] = demo->train;
	return verb_run(demo->program, nr, run);
}

static const char *gpus_of(const struct demo *demo)
{
	return demo->obstacle ? "simulated" : "this machine's";
}

/* Returns whether the program ran to its end. Ctrl-C is for `run`, which then stops the program. */
static bool record_apart(struct demo *demo)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(record(demo));
	if (pid < 0) {
		log_error("%s", strerror(errno));
		return false;
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (status == 0)
		return true;
	if (WIFSIGNALED(status))
		log_error("%s was ended on %s GPUs: %s", demo->train, gpus_of(demo),
			  strsignal(WTERMSIG(status)));
	else
		log_error("%s failed on %s GPUs", demo->train, gpus_of(demo));
	return false;
}

static int report(const struct demo *demo)
{
	char *arguments[] = {(char *)"report", (char *)"--format=table", (char *)"--top=" DEMO_ROWS,
			     (char *)"--",     (char *)demo->output,     NULL};

	optind = 0; /* begin anew */
	log_begin("flamegrid", "report", LOG_LEVEL_NOTICE);
	return verb_report(demo->program, 5, arguments);
}

/* Writes a path as one word of a shell. */
static void write_word(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./+,:@%-";

	if (path[strspn(path, plain)] == '\0') {
		fputs(path, stdout);
		return;
	}
	putchar('\'');
	for (; *path; path++)
		if (*path == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*path);
	putchar('\'');
}

static void write_outputs(const char *output)
{
	printf("\nWritten:\n  %s/" OUTPUT_HTML "   (flamegrid report ", output);
	write_word(output);
	printf(" --open)\n  %s/" OUTPUT_FOLDED "\n  %s/" OUTPUT_STORE "\n", output, output);
}

static int take_timeline(void *context, const char *name, const char *value, char **error)
{
	struct demo *demo = context;

	demo->timeline = value;
	return run_options_take_timeline(&(struct event_log_options){0}, name, value, error);
}

int verb_demo(const char *program, int argc, char **argv)
{
	struct demo demo = {.program = program, .output = DEMO_OUTPUT};
	const struct option_target targets[] = {
		{"output", .text = &demo.output},
		{"timeline", .take = take_timeline, .context = &demo}};
	int status = option_line_parse(&option_table_demo, targets, 2, argc, argv);
	int r;

	if (status != OPTION_LINE_GO)
		return status;
	r = install_paths_find(program, &demo.paths);
	if (r) {
		log_error("%s: %s", demo.paths.inject, strerror(-r));
		return EXIT_FAILED;
	}
	if (find_train(&demo))
		return EXIT_FAILED;
	demo.obstacle = find_obstacle(program);
	if (demo.obstacle)
		printf("No GPU can be profiled here: %s.\nThe GPUs of this demo are SIMULATED.\n\n",
		       demo.obstacle);
	if (!record_apart(&demo))
		return EXIT_FAILED;
	status = report(&demo);
	if (status == EXIT_OK)
		write_outputs(demo.output);
	return status;
}

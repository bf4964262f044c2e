/* The part of `srun --flamegrid` that Slurm runs (docs/cluster.md). It announces each task of a profiled step to
 * `flamegrid step begin`. The step ends when the records of its tasks are written. Every hook returns success, so a
 * failure here never stops a task. It is built against the site's spank.h, and loaded by srun, sbatch, salloc and
 * slurmstepd. Their main thread makes all calls. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "step_command.h"

SPANK_PLUGIN(flamegrid, 1)

#define PREFIX         "/opt/flamegrid"
#define STEPS_OF_USERS 0xfffffff0u /* a job's script and shells have higher numbers (slurm.h) */
#define NODE_MS        2500 /* `flamegrid run` ends by itself within two seconds (cli/job/end_budget.h) */
#define RANK_0_MS      62500 /* rank 0 waits a minute for other nodes, too */
#define BEGIN_FAILED   1     /* `step begin` has failed and said why */
#define OUTPUT_MAX     65536
#define TITLE_MAX      256
#define NUMBER_SIZE    16

struct task {
	int ours, theirs; /* ends of a socket; theirs closes after all is written; -1: none */
};

static char program[PATH_MAX] = PREFIX "/bin/flamegrid";
static char *wanted; /* options of --flamegrid; NULL: not given */
static struct task *tasks;
static uint32_t nr_tasks, nr_ended;
static bool has_rank_0;

/* ---- the command line, on the submitting host and on the nodes */

static bool are_understood(const char *options)
{
	char *const argv[] = {program, (char *)"step", (char *)"check", (char *)options, NULL};
	char nothing[64];

	/* A host that only submits jobs may lack the program. */
	if (access(program, X_OK) < 0)
		return true;
	return step_command_run(argv, environ, -1, nothing, sizeof(nothing)) == 0;
}

static int take_option(int value, const char *options, int remote)
{
	(void)value;
	if (!options)
		options = "";
	if (!remote && !are_understood(options))
		return -1;
	free(wanted);
	wanted = strdup(options);
	return 0;
}

static struct spank_option option = {
	.name = (char *)"flamegrid",
	.arginfo = (char *)"OPTIONS",
	.usage = (char *)"profile GPU work: options of `flamegrid run`, no dashes, blanks between",
	.has_arg = 2,
	.cb = take_option,
};

int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "prefix=", 7) == 0)
			snprintf(program, sizeof(program), "%s/bin/flamegrid", argv[i] + 7);
		else
			slurm_error("flamegrid: plugstack.conf: %s: not prefix=DIRECTORY", argv[i]);
	}
	if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
		slurm_error("flamegrid: --flamegrid cannot be registered");
	return ESPANK_SUCCESS;
}

/* ---- slurmstepd */

static bool is_step_of_user(spank_t spank)
{
	uint32_t step;

	return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step < STEPS_OF_USERS;
}

/* Runs as the user, before the tasks are forked, so that each task inherits its socket. */
int slurm_spank_user_init(spank_t spank, int argc, char *argv[])
{
	(void)argc, (void)argv;
	if (!wanted || !is_step_of_user(spank))
		return ESPANK_SUCCESS;
	if (access(program, X_OK) < 0) {
		slurm_error("flamegrid: %s: %s: the tasks run unprofiled", program,
			    strerror(errno));
		return ESPANK_SUCCESS;
	}
	if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &nr_tasks) != ESPANK_SUCCESS ||
	    !(tasks = calloc(nr_tasks, sizeof(*tasks))))
		nr_tasks = 0;
	for (uint32_t i = 0; i < nr_tasks; i++) {
		int pair[2] = {-1, -1};

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			pair[0] = pair[1] = -1;
		tasks[i] = (struct task){.ours = pair[0], .theirs = pair[1]};
	}
	return ESPANK_SUCCESS;
}

/* NULL: the task is not profiled. */
static struct task *find_task(spank_t spank)
{
	int id;

	if (!tasks || spank_get_item(spank, S_TASK_ID, &id) != ESPANK_SUCCESS || id < 0 ||
	    (uint32_t)id >= nr_tasks)
		return NULL;
	return &tasks[id];
}

static void find_title(spank_t spank, char title[static TITLE_MAX])
{
	int argc = 0, used = 0;
	char **argv = NULL;

	title[0] = '\0';
	if (spank_get_item(spank, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS || !argv)
		return;
	for (int i = 0; i < argc && argv[i] && used < TITLE_MAX; i++)
		used += snprintf(title + used, (size_t)(TITLE_MAX - used), "%s%s", i ? " " : "",
				 argv[i]);
}

static void set_variables(spank_t spank, char *lines)
{
	char *rest = lines, *line, *value;

	while ((line = strsep(&rest, "\n")) != NULL) {
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		if (spank_setenv(spank, line, value, 1) != ESPANK_SUCCESS)
			slurm_error("flamegrid: %s cannot be set", line);
	}
}

/* Runs as the user in the task, before its program. */
int slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	static char output[OUTPUT_MAX];
	const struct task *task = find_task(spank);
	char pid[NUMBER_SIZE], hook[NUMBER_SIZE], title[TITLE_MAX], **environment = NULL;
	int status = -1;
	char *const begin[] = {program,
			       (char *)"step",
			       (char *)"begin",
			       (char *)"--pid",
			       pid,
			       (char *)"--hook",
			       hook,
			       (char *)"--title",
			       title,
			       (char *)"--",
			       wanted,
			       NULL};

	(void)argc, (void)argv;
	if (!task)
		return ESPANK_SUCCESS;
	find_title(spank, title);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(hook, sizeof(hook), "%d", task->theirs);
	if (task->theirs >= 0 && spank_get_item(spank, S_JOB_ENV, &environment) == ESPANK_SUCCESS)
		status = step_command_run(begin, environment, task->theirs, output, sizeof(output));
	if (status == 0)
		set_variables(spank, output);
	else if (status != BEGIN_FAILED)
		slurm_error("flamegrid: this task runs unprofiled");
	return ESPANK_SUCCESS;
}

/* Runs in slurmstepd, after all tasks are forked. */
int slurm_spank_task_post_fork(spank_t spank, int argc, char *argv[])
{
	struct task *task = find_task(spank);

	(void)argc, (void)argv;
	if (task && task->theirs >= 0) {
		close(task->theirs);
		task->theirs = -1;
	}
	return ESPANK_SUCCESS;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Slurm kills the rest of the step when the hook returns for its last task. */
static void await_all(void)
{
	const long end_ms = now_ms() + (has_rank_0 ? RANK_0_MS : NODE_MS);
	uint32_t late = 0;

	for (uint32_t i = 0; i < nr_tasks; i++) {
		struct pollfd news = {
			.fd = tasks[i].ours}; /* poll() skips -1, and always reports a closed end */
		long left_ms = end_ms - now_ms();

		if (news.fd >= 0 && poll(&news, 1, left_ms > 0 ? (int)left_ms : 0) != 1)
			late++;
	}
	if (late)
		slurm_error("flamegrid: what %u tasks recorded last may be missing in the profile",
			    (unsigned)late);
}

/* Returns a word that cli/step.c understands. A cancel or a time limit is a normal end of a profile. */
static const char *end_word(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		return "i";
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP))
		return "t";
	return status ? "f" : "e";
}

/* Only the last task waits. Earlier tasks must give srun their status at once; their records are written meanwhile. */
int slurm_spank_task_exit(spank_t spank, int argc, char *argv[])
{
	const struct task *task = find_task(spank);
	int status = 1;
	uint32_t rank;

	(void)argc, (void)argv;
	if (!task)
		return ESPANK_SUCCESS;
	spank_get_item(spank, S_TASK_EXIT_STATUS, &status);
	if (spank_get_item(spank, S_TASK_GLOBAL_ID, &rank) == ESPANK_SUCCESS && rank == 0)
		has_rank_0 = true;
	if (task->ours >= 0) /* it fails if `flamegrid step` is gone or never started */
		send(task->ours, end_word(status), 1, MSG_NOSIGNAL);
	if (++nr_ended == nr_tasks)
		await_all();
	return ESPANK_SUCCESS;
}

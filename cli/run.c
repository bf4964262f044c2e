#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/job_environment.h"
#include "cli/base/output_dir.h"
#include "cli/base/private_dir.h"
#include "cli/base/verbs.h"
#include "cli/job/job.h"
#include "cli/job/leftovers.h"
#include "cli/job/node_block.h"
#include "cli/job/step_run.h"
#include "cli/run/agent_result.h"
#include "cli/run/capture_options.h"
#include "cli/run/output_template.h"
#include "cli/run/recording.h"
#include "cli/run/recording_room.h"
#include "cli/run/run_options.h"
#include "node-agent/symbols/symbol_cache.h"
#include "node-agent/watch/bpf_options.h"
#include "options/option_line.h"
#include "proto/handshake.h"
#include "proto/install_paths.h"
#include "proto/options/record_options.h"

#define TITLE_MAX 256

struct run {
	struct run_options options;
	const char *other_injection; /* another tool's library, which the job keeps; NULL: none */
	struct install_paths paths;
	char program[PATH_MAX]; /* that starts this program again; "": not known */
	struct recording recording;
	struct private_dir sockets;
	char title[TITLE_MAX];
	struct job job;
	struct job_step step;
	bool in_step;                /* one of several processes that write one profile */
	struct site_aggregator site; /* set if options.aggregator is */
	struct step_run ranks;
	uint32_t number; /* this run's number at a running agent (options.agent_path); 0: none */
	char output_path[PATH_MAX];
	char socket_path[STEP_DIR_MAX + 16]; /* lies in a private_dir or a step_dir */
};

static void job_title(const struct run *run, char title[static TITLE_MAX])
{
	char *const one[] = {(char *)run->options.wanted_title, NULL};
	char *const *command = run->options.wanted_title ? one : run->options.command;
	size_t used = 0;

	title[0] = '\0';
	for (size_t i = 0; command[i] && used < TITLE_MAX - 1; i++) {
		int size =
			snprintf(title + used, TITLE_MAX - used, "%s%s", i ? " " : "", command[i]);

		used += size > 0 ? (size_t)size : 0;
	}
	if (run->other_injection && used < TITLE_MAX - 1)
		snprintf(title + used, TITLE_MAX - used,
			 " [unprofiled: " JOB_ENVIRONMENT_INJECTION " was %s]",
			 run->other_injection);
}

static bool is_host_only(const struct run *run)
{
	return run->options.bpf.host_calls && !run->options.bpf.calls_auto;
}

/* Returns whether this process is a task of Slurm, and no nearer launcher names the step. The step numbers of a job's
 * own shells have ten digits. */
static bool is_slurms_task(const struct run *run)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	char key[JOB_STEP_KEY_SIZE];
	size_t size;

	if (!job || !step || !getenv("SLURM_PROCID") || strlen(step) > 9)
		return false;
	size = (size_t)snprintf(key, sizeof(key), "%s.%s", job, step);
	if (!run->in_step)
		return true;
	return size < sizeof(key) && strncmp(run->step.key, key, size) == 0 &&
	       (run->step.key[size] == '.' || run->step.key[size] == '\0');
}

static const char *default_template(const struct run *run)
{
	if (run->options.task || is_slurms_task(run))
		return RUN_OUTPUT_STEP;
	return run->in_step && run->step.job[0] ? OUTPUT_DEFAULT "-%j" : OUTPUT_DEFAULT;
}

/* Several ranks share one profile, unless the template gives each its own. 0 or -errno after a warning. */
static int find_output(struct run *run)
{
	const char *template = run->options.output_template, *at;
	int result;

	run->in_step =
		job_step_read_own(&run->step) && !run->options.dormant && !run->options.agent_path;
	if (run->options.aggregator)
		return 0;
	if (!template)
		template = default_template(run);
	result = output_template_expand(template, &run->step, run->in_step, run->output_path, &at);
	if (result == -ENOENT)
		log_error("--output %s: %.2s stands for something that this process does not have: "
			  "%s",
			  template, at,
			  at[1] == 'q'   ? "that variable is not set"
			  : at[1] == 'j' ? "no launcher (Slurm, mpirun) gave it a job"
					 : "no launcher (Slurm, mpirun) gave it a rank");
	else if (result == -EINVAL)
		log_error("--output %s: %.2s: not one of %%j %%h %%r %%p %%q{NAME} %%%%", template,
			  at);
	else if (result)
		log_error("--output %s: %s", template, strerror(-result));
	for (size_t size = strlen(run->output_path); size > 1 && run->output_path[size - 1] == '/';)
		run->output_path[--size] = '\0'; /* other names are made from this one */
	run->in_step = run->in_step && !output_template_is_per_process(template);
	return result;
}

/* Returns whether each node of the step keeps a profile of its own. */
static bool folds_on_nodes(const struct run *run)
{
	const bool is_shared = *run->output_path && output_dir_is_shared(run->output_path);

	return run_options_fold_on_nodes(&run->options, run->step.nr_nodes, is_shared);
}

/* The node's agent and aggregator run under the limits of this process. 0 or -errno after a warning. */
static int check_room(void)
{
	char *error;
	int result = recording_room_check(&error);

	if (result < 0)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	return result;
}

static struct counter_option counters_of(const struct run *run)
{
	struct counter_option counters = run->options.counters;

	counters.program = *run->program ? run->program : NULL;
	return counters;
}

/* Starts this node's agent and the step's aggregator. 0 or -errno after a warning. */
static int start_ranks(struct run *run)
{
	char *symbol_cache = symbol_cache_directory(run->options.symbol_cache);
	const bool folds = folds_on_nodes(run);
	const struct step_run_options options = {
		.output_path = run->output_path,
		.interface = run->options.interface,
		.site = run->options.aggregator ? &run->site : NULL,
		.title = run->title,
		.names = run->options.names,
		.watch = run->options.watch,
		.raw_samples = run->options.raw_samples,
		.bytes_max = (uint64_t)run->options.max_mib << 20,
		.timeline = run->options.timeline,
		.task = run->options.task,
		.strict = run->options.strict,
		.folds_on_nodes = folds,
		.asks = !folds && run_options_ask(&run->options),
		.fan_in = run->options.fan_in ? run->options.fan_in : NODE_BLOCK_NODES,
		.spool = run->options.spool,
		.agent = {.node_name = run->options.node_name,
			  .devices_path = run->options.devices_path,
			  .symbol_cache = symbol_cache,
			  .inlines = run->options.inlines,
			  .bpf = run->options.bpf,
			  .counters = counters_of(run),
			  .probe = {.source = run->options.stack_source}},
	};
	int result = step_run_start(&run->ranks, &run->step, &options);

	free(symbol_cache);
	if (result == 0)
		snprintf(run->socket_path, sizeof(run->socket_path), "%s", run->ranks.socket_path);
	return result;
}

/* Takes the site's aggregator for the step. A process that is alone is a step of its own. 0 or -errno after a
 * warning. */
static int find_site(struct run *run)
{
	const struct site_aggregator_options options = {
		.endpoint = run->options.aggregator,
		.keys_path = run->options.keys_path,
		.title = run->title,
		.insecure = run->options.insecure,
		.raw_samples = run->options.raw_samples,
		.coarse = run->options.names.lines == REPORT_LINES_OFF,
	};
	char *error = NULL;
	int result = site_aggregator_init(&run->site, &options, run->in_step, &run->step, &error);

	if (result)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	run->in_step = result == 0;
	return result;
}

/* Starts our own agent and aggregator, which write into the output directory. 0 or -errno after a warning. */
static int start_own(struct run *run)
{
	int result;

	job_title(run, run->title);
	run->options.bpf.stack_mode = run->options.capture.stacks.mode;
	run->options.bpf.required = is_host_only(run);
	if (run->options.aggregator) {
		result = find_site(run);
		if (result)
			return result;
	}
	if (run->in_step) {
		result = check_room();
		return result < 0 ? result : start_ranks(run);
	}
	result = private_dir_create(&run->sockets);

	if (result < 0) {
		log_error("no directory for the agent's socket: %s", strerror(-result));
		return result;
	}
	snprintf(run->socket_path, sizeof(run->socket_path), "%s/agent", run->sockets.path);
	/* Starts an agent and an aggregator for this run alone. 0 or -errno after a warning. */
	run->options.bpf.watch_pid = run->options.task ? run->options.task : getpid();

	const struct recording_options options = {
		.verb = "run",
		.output_path = run->output_path,
		.node_name = run->options.node_name,
		.devices_path = run->options.devices_path,
		.symbol_cache = run->options.symbol_cache,
		.title = run->title,
		.names = run->options.names,
		.watch = run->options.watch,
		.inlines = run->options.inlines,
		.bpf = run->options.bpf,
		.counters = counters_of(run),
		.raw_samples = run->options.raw_samples,
		.bytes_max = (uint64_t)run->options.max_mib << 20,
		.timeline = run->options.timeline,
		.stack_source = run->options.stack_source,
	};
	return recording_start(&options, run->socket_path, &run->recording);
}

/* Loads the guest, unless another tool's library has its place. 0 or -errno after a warning. */
static int prepare_guest(struct run *run, const char *program)
{
	const char *other = getenv(JOB_ENVIRONMENT_INJECTION);
	int result = install_paths_find(program, &run->paths);

	if (result < 0) {
		log_error("%s: the injection library is missing: %s", run->paths.inject,
			  strerror(-result));
		return result;
	}
	if (other && *other && strcmp(other, run->paths.inject) != 0) {
		log_warning(JOB_ENVIRONMENT_INJECTION " is already set to %s and is left alone: "
						      "CUDA runs with it, and unprofiled",
			    other);
		if (run->options.strict)
			return -EBUSY;
		run->other_injection = other;
	}
	return 0;
}

/* Only an aggregator of the step's own keeps single events: that of the job, or of each node. */
static void check_timeline(struct run *run)
{
	const struct run_options *options = &run->options;

	if (options->timeline.keeps &&
	    (options->agent_path || options->dormant || options->aggregator))
		log_warning("--timeline needs an aggregator of this run's own, and it has none");
}

/* Does all work that must precede the job's start. 0 or -errno after a warning. */
static int prepare(struct run *run, const char *program)
{
	if (bpf_options_wanted(&run->options.bpf) &&
	    (run->options.agent_path || run->options.dormant)) {
		log_warning("--cpu-hz, --off-cpu and --host-calls are options of the agent, and "
			    "this run has none of its own");
		run->options.bpf.host_calls = false;
	}
	if (run->options.raw_samples && (run->options.agent_path || run->options.dormant))
		log_warning("--raw-samples is an option of the aggregator, and this run has none "
			    "of its own");
	check_timeline(run);
	if (run->options.watch && !run->options.capture.collectives)
		log_warning("--watch: nobody can be seen to be late, because --collectives is off");
	if (run->options.watch &&
	    (run->options.agent_path || run->options.dormant || run->options.aggregator))
		log_warning("--watch needs an aggregator of this run's own, and it has none");
	if (run->options.stack_source != STACK_SOURCE_GUEST &&
	    (run->options.agent_path || run->options.dormant))
		log_warning("--stack-source is an option of the agent, and this run has none of "
			    "its own");
	if (run->options.counters.per_second && (run->options.agent_path || run->options.dormant))
		log_warning("--sample-counters is an option of the agent, and this run has none of "
			    "its own");
	if (install_paths_program(program, run->program))
		*run->program = '\0';
	int result = find_output(run);
	if (result == 0 && !is_host_only(run))
		result = prepare_guest(run, program);
	if (result < 0)
		return result;
	if (run->options.dormant && !run->options.agent_path)
		return 0;
	if (!run->options.agent_path)
		return start_own(run);
	if (access(run->options.agent_path, W_OK) < 0) {
		log_error("%s: no agent there: %s", run->options.agent_path, strerror(errno));
		return -errno;
	}
	return 0;
}

/* Prints the summary if the command has run. The job's status stays as it is, even if this fails. */
static void finish(struct run *run, bool has_run)
{
	char *summary;

	recording_finish(&run->recording, &summary);
	unlink(run->socket_path);
	private_dir_remove(&run->sockets);
	if (!run->recording.keeps && (run->other_injection || !has_run))
		; /* a message has said so */
	else if (summary)
		fputs(summary, stderr);
	free(summary);
	recording_close(&run->recording);
	leftovers_remove_sockets();
}

static int exec_status(int error)
{
	return error == -ENOENT ? EXIT_RUN_FOUND : EXIT_RUN_EXEC;
}

/* Profiling cannot start, so this process becomes the job. */
static int run_unprofiled(const struct run *run)
{
	if (run->options.strict) {
		log_error("not started (--strict)");
		return EXIT_RUN_OWN;
	}
	log_warning("%s runs unprofiled", run->options.command[0]);
	job_restore(&run->job);
	execvp(run->options.command[0], run->options.command);
	log_error("%s: %s", run->options.command[0], strerror(errno));
	return exec_status(-errno);
}

/* NVTX ranges become frames, or open capture windows. */
static bool wants_nvtx(const struct capture_options *capture)
{
	return capture->record & RECORD_OPTION_NVTX || capture->window.range == WINDOW_RANGE_NVTX;
}

/* Another tool's NVTX library stays: it may be why the job runs. */
static int lead_in_nvtx(const struct run *run, struct job_environment *environment)
{
	const char *other = getenv(JOB_ENVIRONMENT_NVTX);

	if (!other || !*other || strcmp(other, run->paths.inject) == 0)
		return job_environment_set(environment, JOB_ENVIRONMENT_NVTX, run->paths.inject);
	log_warning(
		JOB_ENVIRONMENT_NVTX " is already set to %s and is left alone: no NVTX ranges%s",
		other,
		run->options.capture.window.range == WINDOW_RANGE_NVTX ? ", so nothing is captured"
								       : "");
	return 0;
}

/* Another plugin stays. NCCL would cut a path that is too long, and not find it. */
static int lead_in_nccl(const struct run *run, struct job_environment *environment)
{
	const char *other = getenv(JOB_ENVIRONMENT_NCCL);

	if (other && *other && strcmp(other, run->paths.inject) != 0) {
		log_warning(JOB_ENVIRONMENT_NCCL
			    " is already set to %s and is left alone: no collectives",
			    other);
		return 0;
	}
	if (strlen(run->paths.inject) > JOB_ENVIRONMENT_NCCL_MAX) {
		log_warning("%s: too long a path for " JOB_ENVIRONMENT_NCCL ": no collectives",
			    run->paths.inject);
		return 0;
	}
	return job_environment_set(environment, JOB_ENVIRONMENT_NCCL, run->paths.inject);
}

/* Makes the environment that loads the guest into the job's processes. 0 or -ENOMEM; call fini in either case. */
static int lead_in(const struct run *run, const char *socket_path,
		   struct job_environment *environment)
{
	int result = job_environment_init(environment);
	char number[16];

	if (is_host_only(run))
		return result;
	if (result == 0 && !run->other_injection)
		result = job_environment_set(environment, JOB_ENVIRONMENT_INJECTION,
					     run->paths.inject);
	/* A run around this one may have set its agent's socket. A dormant guest without an agent must not use it. */
	if (result == 0 && (*socket_path || getenv(HANDSHAKE_SOCKET_ENV)))
		result = job_environment_set(environment, HANDSHAKE_SOCKET_ENV, socket_path);
	if (result == 0 && run->number) {
		snprintf(number, sizeof(number), "%" PRIu32, run->number);
		result = job_environment_set(environment, HANDSHAKE_RUN_ENV, number);
	}
	if (result == 0 && wants_nvtx(&run->options.capture))
		result = lead_in_nvtx(run, environment);
	if (result == 0 && run->options.capture.collectives && !run->other_injection)
		result = lead_in_nccl(run, environment);
	return result ? result
		      : capture_options_export(&run->options.capture, clock_realtime_ns(),
					       environment);
}

/* Rank 0 says it for all ranks. */
static void say_start(const struct run *run)
{
	if (run->recording.profiling)
		log_notice("profiling into %s", run->recording.output.path);
	else if (run->in_step && run->ranks.aggregator.fd >= 0)
		log_notice("profiling ranks 0 to %" PRId32 " into %s", run->step.world_size - 1,
			   run->output_path);
}

/* A command that failed explains a short or empty profile better than any guess that follows. */
static void say_failure(const struct run *run, int status, uint64_t started_ns)
{
	const double ran_s = (double)(run->job.ended_ns - started_ns) / 1e9;

	if (WIFSIGNALED(status))
		log_notice("the command was ended by signal %d (%s) after %.1f s", WTERMSIG(status),
			   strsignal(WTERMSIG(status)), ran_s);
	else if (WEXITSTATUS(status))
		log_notice("the command ended with status %d after %.1f s", WEXITSTATUS(status),
			   ran_s);
}

int verb_run(const char *program, int argc, char **argv)
{
	struct run run = {.recording.output.mark = -1,
			  .ranks = {.aggregator.fd = -1, .member.fd = -1},
			  .options.bpf.stack_pages = BPF_OPTIONS_STACK_PAGES_MAX};

	log_begin("flamegrid", "run", LOG_LEVEL_NOTICE); /* `step` calls this function, too */
	int status = run_options_parse(&run.options, argc, argv);
	if (status != OPTION_LINE_GO)
		return status;
	job_prepare(&run.job);
	if (prepare(&run, program) < 0) {
		private_dir_remove(&run.sockets);
		recording_close(&run.recording);
		return run_unprofiled(&run);
	}

	const char *socket_path = run.options.agent_path ? run.options.agent_path : run.socket_path;
	if (run.options.agent_path && !run.options.dormant)
		run.number = agent_result_make_run();
	const uint64_t started_ns = clock_now_ns();
	struct job_environment environment;
	int error = lead_in(&run, socket_path, &environment);
	if (error == 0 && run.options.dormant && !run.options.agent_path) {
		job_restore(&run.job);
		execvpe(run.options.command[0], run.options.command,
			environment.list); /* this process becomes the job */
		error = -errno;
	} else if (error == 0)
		error = job_start(&run.job, run.options.command, environment.list);
	job_environment_fini(&environment);
	if (error < 0) {
		log_error("%s: %s", run.options.command[0], strerror(-error));
	} else {
		say_start(&run);
		status = job_wait(&run.job);
	}
	int stop = error < 0 ? 0 : job_stopped_by(&run.job, status);
	if (run.recording.profiling && stop)
		profiling_stopped(run.recording.profiling, stop);
	if (run.recording.profiling && error == 0 && !stop)
		say_failure(&run, status, started_ns);
	if (run.recording.profiling)
		finish(&run, error == 0);
	if (run.number && error >= 0)
		agent_result_say(socket_path, run.number);
	if (run.in_step && stop)
		node_member_stopped(&run.ranks.member,
				    run.step.world_size > 1 ? run.step.rank : AGENT_STOP_ALL, stop);
	if (run.in_step)
		step_run_finish(&run.ranks, error < 0 || status != 0);
	if (error < 0)
		return exec_status(error);
	job_exit_like(status);
}

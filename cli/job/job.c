#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* The job handles these signals. Faults (SIGSEGV, …) must stay deliverable to us. Stopping and continuing reaches both
 * processes from the terminal. */
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,
				SIGUSR2, SIGALRM, SIGCONT, SIGWINCH, SIGXCPU};

void job_prepare(struct job *job)
{
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&mask, passed_on[i]);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGPIPE); /* a write that fails then returns an error */
	sigaddset(&mask, SIGXFSZ);
	/* If SIGCHLD were ignored, the kernel would discard the job's status. */
	job->original_sigchld = signal(SIGCHLD, SIG_DFL);
	pthread_sigmask(SIG_BLOCK, &mask, &job->original_mask);
	getrlimit(RLIMIT_NOFILE, &job->original_files);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = job->original_files.rlim_max,
						  .rlim_max = job->original_files.rlim_max});
}

void job_restore(const struct job *job)
{
	const struct timespec at_once = {0};
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	while (sigtimedwait(&ours, NULL, &at_once) > 0)
		;
	signal(SIGCHLD, job->original_sigchld);
	setrlimit(RLIMIT_NOFILE, &job->original_files);
	pthread_sigmask(SIG_SETMASK, &job->original_mask, NULL);
}

/* Runs in the child until exec. Another thread may hold any lock at the fork, so this code must not wait for one. */
static void exec_job(const struct job *job, char *const argv[], char *const environment[],
		     int report)
{
	pthread_sigmask(SIG_SETMASK, &job->original_mask, NULL);
	signal(SIGCHLD, job->original_sigchld);
	setrlimit(RLIMIT_NOFILE, &job->original_files);
	execvpe(argv[0], argv, environment);

	int error = errno;
	if (write(report, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

/* posix_spawn() would not do: in glibc 2.36 it leaves two more signals ignored in the job. */
int job_start(struct job *job, char *const argv[], char *const environment[])
{
	int report[2], error = 0;

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	job->pid = fork();
	if (job->pid == 0)
		exec_job(job, argv, environment, report[1]);
	if (job->pid < 0)
		error = errno;
	close(report[1]);
	/* A successful exec closes the pipe; a failed one sends its errno. */
	if (error == 0 && read(report[0], &error, sizeof(error)) == (ssize_t)sizeof(error))
		waitpid(job->pid, NULL, 0);
	close(report[0]);
	return -error;
}

static bool is_stop(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/* Returns the signal that ended the job, or the n of a shell's or launcher's exit status 128 + n. 0: none. */
static int deadly_signal(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + NSIG
		       ? WEXITSTATUS(status) - 128
		       : 0;
}

int job_stopped_by(const struct job *job, int status)
{
	int deadly = deadly_signal(status);

	if (deadly)
		return is_stop(deadly) ? deadly : 0;
	return job->stop && job->ended_ns - job->stop_ns <= JOB_STOP_NS ? job->stop : 0;
}

int job_wait(struct job *job)
{
	sigset_t mask;
	int status;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&mask, passed_on[i]);
	sigaddset(&mask, SIGCHLD);
	for (;;) {
		siginfo_t info;
		pid_t ended = waitpid(job->pid, &status, WNOHANG);

		if (ended == job->pid) {
			job->ended_ns = clock_now_ns();
			return status;
		}
		if (sigwaitinfo(&mask, &info) < 0)
			continue; /* EINTR */
		if (is_stop(info.si_signo)) {
			job->stop = info.si_signo;
			job->stop_ns = clock_now_ns();
		}
		if (info.si_signo != SIGCHLD && info.si_code <= 0)
			kill(job->pid, info.si_signo);
	}
}

void job_exit_like(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit no_core = {0, 0};
		sigset_t only;

		/* The job has left its own core; a second one, from this process, would mislead. */
		setrlimit(RLIMIT_CORE, &no_core);
		signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&only);
		sigaddset(&only, WTERMSIG(status));
		pthread_sigmask(SIG_UNBLOCK, &only, NULL);
		raise(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

/* Runs the profiled job as a child process: starts it with its own environment, passes signals on, and reports its end
 * as it was. Only the main thread calls it; job_prepare() comes before any other thread is started. */
#ifndef JOB_H
#define JOB_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct job {
	pid_t pid;
	int stop;          /* the last SIGINT, SIGTERM or SIGHUP during the job; 0: none */
	uint64_t stop_ns;  /* time of the stop, CLOCK_MONOTONIC */
	uint64_t ended_ns; /* time when the job's end was seen */
	sigset_t original_mask;
	void (*original_sigchld)(int);
	struct rlimit original_files;
};

/* Blocks every signal that job_wait() takes, and those by which writing could kill us, in this and all later threads.
 * Raises the limit of descriptors to the hard limit: each process of the job may take two of ours. */
void job_prepare(struct job *job);

/* Restores the signals and the limit, before an exec that replaces this process. It drops signals that our own writing
 * raised. */
void job_restore(const struct job *job);

/* Starts argv (searched in PATH) with environment, the original signal mask and limits, and all of our descriptors. 0
 * or exec's -errno; -ENOENT: no such command. */
int job_start(struct job *job, char *const argv[], char *const environment[]);

/* Waits for the job's end, and passes signals on meanwhile. It passes on all signals that were sent to us (kill, a
 * scheduler), but not the terminal's, which reach the job by themselves. Returns waitpid's status. */
int job_wait(struct job *job);

/* Returns the signal by which the user or a scheduler stopped the job, which has ended with that status: SIGINT,
 * SIGTERM or SIGHUP; 0: none. If the status names a signal, as a shell's 128 + n does, the status decides. Otherwise a
 * stop counts for JOB_STOP_NS. A job that catches a stop needs a while to end; a job that goes on was not stopped by
 * it. Launchers and schedulers wait for 30 s (torchrun, Slurm's KillWait, Kubernetes). */
#define JOB_STOP_NS 60000000000u
int job_stopped_by(const struct job *job, int status);

/* Ends this process as the job ended: with the same exit status, or killed by the same signal. Does not return. */
void job_exit_like(int status) __attribute__((noreturn));

#endif

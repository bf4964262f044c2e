/* The profiled job as a child process: started with its own environment, its signals passed on, its end reported as it
 * was. Called from the main thread only; job_prepare() comes before any other thread is started. */
#ifndef JOB_H
#define JOB_H

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct job {
	pid_t pid;
	int stop;          /* the last of SIGINT, SIGTERM and SIGHUP that came while it ran; 0: none */
	uint64_t stop_ns;  /* when it came, CLOCK_MONOTONIC */
	uint64_t ended_ns; /* when the job's end was seen */
	sigset_t original_mask;
	void (*original_sigchld)(int);
	struct rlimit original_files;
};

/* Blocks every signal that job_wait() takes, and those by which writing could kill us, in this and all later
 * threads; and takes as many descriptors as the hard limit allows: each process of the job may take two of ours. */
void job_prepare(struct job *job);

/* Back to the signals and the limit as they were, for an exec in our place. What our own writing raised is
 * forgotten. */
void job_restore(const struct job *job);

/* Starts argv (searched in PATH) with environment, the original signal mask and limits, and all of our descriptors.
 * 0 or -errno as exec's: -ENOENT: no such command. */
int job_start(struct job *job, char *const argv[], char *const environment[]);

/* Waits for the job's end and passes signals on meanwhile: all that somebody sent to us (kill, a scheduler), but not
 * what the terminal sends, since that reaches the job by itself. Returns waitpid's status. */
int job_wait(struct job *job);

/* The signal by which the user or a scheduler stopped the job, which has ended with that status: SIGINT, SIGTERM or
 * SIGHUP; 0: nobody did. The status decides if it names a signal, as a shell's 128 + n does. Otherwise a stop counts
 * for JOB_STOP_NS: a job that catches it needs a while to end, and one that goes on is not stopped by it. Launchers
 * and schedulers wait for 30 s (torchrun, Slurm's KillWait, Kubernetes). */
#define JOB_STOP_NS 60000000000u
int job_stopped_by(const struct job *job, int status);

/* Ends this process as the job ended: the same exit status, or killed by the same signal. Does not return. */
void job_exit_like(int status) __attribute__((noreturn));

#endif

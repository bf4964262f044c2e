/* Follows one watched process: gives its samples the agent's ids, and keeps its account. If the process has a guest,
 * the samples belong to the guest's process. Otherwise the process has an entry of its own, from its first sample until
 * it ends or calls exec. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_PROCESS_H
#define WATCHED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/sample_event.h"
#include "node-agent/guests/ring_outputs.h"
#include "node-agent/kernel/kernel_clock.h"
#include "proto/options/stack_options.h"

#define WATCHED_SAMPLES_MAX 8192u /* samples in one message */

struct batch_builder;
struct device_list;
struct event_loop;
struct guest_process;
struct kernel_symbols;
struct python_scope;
struct stack_budget;
struct unwind_files;
struct wait_reasons;
struct watched_process;

/* State that all watched processes share; borrowed until the last watched_process_destroy(). */
struct watched_scope {
	struct ring_outputs outputs; /* strings, stacks, module and context */
	struct batch_builder *builder;
	int (*send)(void *context, struct message *message); /* in order; 0 or -errno */
	void *context;
	const struct device_list *devices;
	const struct kernel_symbols *kernel; /* NULL: the kernel's functions have no names */
	struct wait_reasons *wait_reasons;
	struct unwind_files *files;        /* NULL: copies of stacks are not walked */
	const struct python_scope *python; /* NULL: no Python frames */
	enum stack_mode stack_mode;        /* as in bpf_source.h */
	/* tells the kernel's half where the interpreter is; NULL: nowhere */
	void (*set_python)(void *context, pid_t pid, const struct sample_python *where);
	void *python_context;
	struct event_loop *loop;
	uint32_t *nr_processes;     /* number of process ids given so far */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct kernel_clock clock;  /* events have the kernel's times; messages have ours */
	/* opens files of other users' processes, too, because we have started the job */
	bool trusts_all;
};

/* Creates the follower of a process. watched: what the kernel's half knows of it. NULL: out of memory. */
struct watched_process *watched_process_create(const struct watched_scope *scope, pid_t pid,
					       const struct watched *watched);
void watched_process_destroy(struct watched_process *process); /* accepts NULL */

/* Says that the process was forked from parent: what was read of parent's Python code holds for it, too. */
void watched_process_inherit(struct watched_process *process, const struct watched_process *parent);

pid_t watched_process_pid(const struct watched_process *process);

/* Returns whether its end was seen. */
bool watched_process_has_ended(const struct watched_process *process);

/* Returns whether the event comes from another process with this pid, or from another program in the process. A process
 * that has not called exec since its fork becomes the program that it then calls, as a shell's children do. */
bool watched_process_is_other(const struct watched_process *process,
			      const struct sample_event *event);

/* Sets its guest, which is borrowed until NULL replaces it. */
void watched_process_set_guest(struct watched_process *process, struct guest_process *guest);
struct guest_process *watched_process_guest(const struct watched_process *process);

/* Returns the process id under which it is known, for a guest that comes. 0: it has none, or the id was another
 * program's. */
uint32_t watched_process_claim(const struct watched_process *process);

/* Reads its files and its interpreter before the first sample of its program, so that this sample has names and Python
 * frames. After that sample it does nothing. 0 or -ENOMEM. */
int watched_process_prepare(struct watched_process *process);

/* Says that the process has become another program, and reads that program's files and interpreter. 0 or -ENOMEM. */
int watched_process_exec(struct watched_process *process, const struct sample_event *event);

/* Says, once, that the process's calls are timed because no guest records them, in its own notices and by notice. */
void watched_process_replace_guest(struct watched_process *process,
				   void (*notice)(void *context, const char *line), void *context);

/* Begins a new pass of the agent. */
void watched_process_begin_pass(struct watched_process *process);

/* Adds a sample. in_haste: its stack is only its leaf. 0 or -errno: the agent can't go on. */
int watched_process_add(struct watched_process *process, const struct sample_event *event,
			bool in_haste);

/* Returns the budget of the agent's time for its samples. */
struct stack_budget *watched_process_budget(struct watched_process *process);

/* Returns whether everything was read that the kernel had written by the first call. Both are bytes (bpf_ring.h). */
bool watched_process_is_read(struct watched_process *process, uint64_t written, uint64_t read);

/* Adds a sample that the kernel did not count, because it did not come to its end. */
int watched_process_add_open(struct watched_process *process, const struct sample_event *event);

/* Counts a wait that was too short for a sample, and that the kernel did not count. */
void watched_process_count_short(struct watched_process *process, uint64_t duration_ns);

/* Sends the samples that wait. 0 or -errno. */
int watched_process_flush(struct watched_process *process);

/* watched_process_account() sets what the kernel has counted for the pid. watched_process_set_base() sets what it had
 * counted for the earlier program in the same process, which is subtracted. */
void watched_process_set_base(struct watched_process *process, const struct sample_counts *base);
void watched_process_account(struct watched_process *process, const struct sample_counts *counts);

/* Returns whether every sample has come that the kernel has counted as sent. A process may be sampled on its way out,
 * after its end can be seen. Call it once a pass. If last, or after enough calls, it returns true, and counts what has
 * not come as lost in *counts. */
bool watched_process_settles(struct watched_process *process, struct sample_counts *counts,
			     bool last);

/* Computes what this program has taken of the kernel's counts: it is the next program's base. */
void watched_process_taken(const struct watched_process *process, struct sample_counts *counts);

/* Sends the ledger, if it has changed and the process has no guest. 0 or -errno. */
int watched_process_send_ledger(struct watched_process *process);

/* Sends its last messages, because it ended or called exec; call it after watched_process_account(). A process that was
 * never sampled leaves its account to its parent; parent NULL: the parent is gone. 0 or -errno. */
int watched_process_finish(struct watched_process *process, struct watched_process *parent);

/* Sends what is left, because the agent goes while the process runs on. 0 or -errno. */
int watched_process_leave(struct watched_process *process);

/* Returns the number of samples taken so far. */
uint64_t watched_process_samples(const struct watched_process *process);

#endif

/* One process whose threads the kernel tells of: its samples with the agent's ids, and its account. Where it has a
 * guest, they are the guest's process; else it is one of its own, from its first sample until it ends or calls exec.
 * Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_PROCESS_H
#define WATCHED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/sample_event.h"
#include "node-agent/guests/ring_outputs.h"
#include "node-agent/kernel/kernel_clock.h"
#include "proto/host_sample.h"
#include "proto/options/stack_options.h"

#define WATCHED_SAMPLES_MAX 8192u /* in one message */

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

/* What all of them share; borrowed until the last watched_process_destroy(). */
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
	void (*set_python)(void *context, pid_t pid,
			   const struct sample_python *where); /* NULL: nowhere */
	void *python_context;
	struct event_loop *loop;
	uint32_t *nr_processes;     /* process ids that were given */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	struct kernel_clock clock;  /* events have the kernel's times, what is sent has ours */
	bool trusts_all; /* files of other users' processes are opened, too: we have started the job */
};

/* watched: what the kernel's half knows of it. NULL: out of memory. */
struct watched_process *watched_process_create(const struct watched_scope *scope, pid_t pid,
					       const struct watched *watched);
void watched_process_destroy(struct watched_process *process); /* accepts NULL */

/* Parent is where it was forked from: what was read of its Python code is this one's, too. */
void watched_process_inherit(struct watched_process *process, const struct watched_process *parent);

pid_t watched_process_pid(const struct watched_process *process);

/* Its end was seen. */
bool watched_process_has_ended(const struct watched_process *process);

/* The event comes from another process with this pid, or from another program in it. One that has not called exec since
 * its fork becomes what it then calls, as a shell's children do. */
bool watched_process_is_other(const struct watched_process *process,
			      const struct sample_event *event);

/* Its guest, which is borrowed until it is taken back with NULL. */
void watched_process_set_guest(struct watched_process *process, struct guest_process *guest);
struct guest_process *watched_process_guest(const struct watched_process *process);

/* The process id under which it is known, for a guest that comes; 0: none, or it was that of another program. */
uint32_t watched_process_claim(const struct watched_process *process);

/* Reads its files and its interpreter before the first sample of the program that it runs. That sample then has names
 * and Python frames. Does nothing after that sample. 0 or -ENOMEM. */
int watched_process_prepare(struct watched_process *process);

/* It has become another program: reads the same, for the program that it is now. 0 or -ENOMEM. */
int watched_process_exec(struct watched_process *process, const struct sample_event *event);

/* Its calls are timed in place of what a guest would tell: says so, once, in its own notices and by notice. */
void watched_process_replace_guest(struct watched_process *process,
				   void (*notice)(void *context, const char *line), void *context);

/* A new pass of the agent. */
void watched_process_begin_pass(struct watched_process *process);

/* Takes a sample, in haste by its leaf alone. 0 or -errno: the agent can't go on. */
int watched_process_add(struct watched_process *process, const struct sample_event *event,
			bool in_haste);

/* What its samples have taken of the agent's time. */
struct stack_budget *watched_process_budget(struct watched_process *process);

/* Whether all has been read that the kernel had written when this was first asked. Both are bytes (bpf_ring.h). */
bool watched_process_is_read(struct watched_process *process, uint64_t written, uint64_t read);

/* Takes one that the kernel did not count, as it did not come to its end. */
int watched_process_add_open(struct watched_process *process, const struct sample_event *event);

/* Counts a wait that was too short for a sample, and that the kernel did not count. */
void watched_process_count_short(struct watched_process *process, uint64_t duration_ns);

/* Sends the samples at hand. 0 or -errno. */
int watched_process_flush(struct watched_process *process);

/* What the kernel has counted for the pid; what it had for the program before it in the same process is taken off. */
void watched_process_set_base(struct watched_process *process, const struct sample_counts *base);
void watched_process_account(struct watched_process *process, const struct sample_counts *counts);

/* Whether every sample that the kernel has counted as sent has come: a process may yet be sampled on its way out, after
 * its end can be seen. Once a pass; last, or when it has been asked often enough: true, and what has not come is lost,
 * in *counts. */
bool watched_process_settles(struct watched_process *process, struct sample_counts *counts,
			     bool last);

/* Of the kernel's counts, what this program has taken: the base of the next. */
void watched_process_taken(const struct watched_process *process, struct sample_counts *counts);

/* Sends the ledger, if it has changed and is its own. 0 or -errno. */
int watched_process_send_ledger(struct watched_process *process);

/* Its last words, after watched_process_account(): it ended, or called exec. A process that was never sampled leaves
 * its account to its parent, if that is there; NULL: it is not. 0 or -errno. */
int watched_process_finish(struct watched_process *process, struct watched_process *parent);

/* The agent goes, and it runs on. */
int watched_process_leave(struct watched_process *process);

/* Samples taken so far. */
uint64_t watched_process_samples(const struct watched_process *process);

#endif

/* Holds the watched processes, from their first event to their last account. It finds the process of an event and of
 * the kernel's counts, and decides when a process is over. Single-threaded: only the agent loop calls it. */
#ifndef WATCHED_SET_H
#define WATCHED_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "watched_process.h"

struct bpf_ring;
struct guest_process;
struct watched_table;

struct watched_set {
	/* for each process; the caller fills it in before the first event */
	struct watched_scope scope;
	struct bpf_ring *ring;       /* borrowed; the caller fills it in before the first event */
	struct watched_table *table; /* owns */
	uint64_t samples;            /* samples of processes that are over */
	bool stopped;                /* no events come any more */
};

/* 0 or -ENOMEM. */
int watched_set_init(struct watched_set *set);
void watched_set_fini(struct watched_set *set); /* accepts zeroed memory */

/* Finds the process of an event, or makes it; another program in a process is another process. *process NULL: the
 * process is over, and its account is closed. Borrowed until the next call. 0 or -errno: the agent can't go on. */
int watched_set_find(struct watched_set *set, const struct sample_event *event,
		     struct watched_process **process);

/* Calls watched_process_prepare() for a pid that is watched; for another pid it does nothing. 0 or -ENOMEM. */
int watched_set_prepare(struct watched_set *set, pid_t pid);

/* Begin and end a batch of events. 0 or -errno. */
void watched_set_begin_pass(struct watched_set *set);
int watched_set_flush(struct watched_set *set);

/* Adds processes without a sample for which the kernel has counted. all: also those that still run. 0 or -errno. */
int watched_set_look(struct watched_set *set, bool all);

/* Sends the last accounts of the processes that ended. 0 or -errno. */
int watched_set_finish(struct watched_set *set);

/* Sends all accounts that have changed; after the last event this is the last time. 0 or -errno. */
int watched_set_account(struct watched_set *set);

/* Returns the number of samples taken so far. */
uint64_t watched_set_samples(const struct watched_set *set);

/* Says that a guest is about to come (bpf_source.h). *process_id: the id under which its process is known, 0: it is
 * not. 0 or -errno. */
int watched_set_claim(struct watched_set *set, pid_t pid, uint32_t *process_id);

/* watched_set_attach() says that the guest has come, watched_set_account_guest() updates its account, and
 * watched_set_detach() says that it goes. */
int watched_set_attach(struct watched_set *set, pid_t pid, struct guest_process *guest);

/* Returns the pid of a guest's process; 0: it is not known here. */
pid_t watched_set_pid_of(const struct watched_set *set, const struct guest_process *guest);

/* Returns whether everything was read that the kernel had written about the guest's process by the first such call. */
bool watched_set_is_read(struct watched_set *set, const struct guest_process *guest);
void watched_set_account_guest(struct watched_set *set, const struct guest_process *guest);
void watched_set_detach(struct watched_set *set, const struct guest_process *guest);

#endif

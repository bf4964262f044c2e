/* The processes that the kernel tells of, from their first event to their last account: which of them an event is of,
 * whose are the kernel's counts, and when one is over. Single-threaded: only the agent loop calls it. */
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
	struct watched_scope scope;  /* of each process; to be filled before the first event */
	struct bpf_ring *ring;       /* borrowed; to be filled before the first event */
	struct watched_table *table; /* owns */
	uint64_t samples;            /* of processes that are over */
	bool stopped;                /* no events come any more */
};

/* 0 or -ENOMEM. */
int watched_set_init(struct watched_set *set);
void watched_set_fini(struct watched_set *set); /* accepts zeroed memory */

/* The process of an event, new if need be: another program in it is another process. *process NULL: one that is over,
 * whose account is closed. Borrowed until the next call. 0 or -errno: the agent can't go on. */
int watched_set_find(struct watched_set *set, const struct sample_event *event,
		     struct watched_process **process);

/* As watched_process_prepare(), of a pid that is watched; another: nothing. 0 or -ENOMEM. */
int watched_set_prepare(struct watched_set *set, pid_t pid);

/* Before and after a batch of events. 0 or -errno. */
void watched_set_begin_pass(struct watched_set *set);
int watched_set_flush(struct watched_set *set);

/* Processes without a sample for which the kernel has counted something are entered. all: those that live, too. 0 or
 * -errno. */
int watched_set_look(struct watched_set *set, bool all);

/* Sends the last account of those that ended. 0 or -errno. */
int watched_set_finish(struct watched_set *set);

/* Sends all accounts that have changed; after the last event, for the last time. 0 or -errno. */
int watched_set_account(struct watched_set *set);

/* Samples taken so far. */
uint64_t watched_set_samples(const struct watched_set *set);

/* A guest is about to come (bpf_source.h): the process id under which its process is known, 0: it is not. 0 or
 * -errno. */
int watched_set_claim(struct watched_set *set, pid_t pid, uint32_t *process_id);

/* It has come; its account; it goes. */
int watched_set_attach(struct watched_set *set, pid_t pid, struct guest_process *guest);
pid_t watched_set_pid_of(const struct watched_set *set,
			 const struct guest_process *guest); /* 0: it is not known here */

/* Whether all has been read that the kernel had written of the guest's process when this was first asked. */
bool watched_set_is_read(struct watched_set *set, const struct guest_process *guest);
void watched_set_account_guest(struct watched_set *set, const struct guest_process *guest);
void watched_set_detach(struct watched_set *set, const struct guest_process *guest);

#endif

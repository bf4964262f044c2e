/* What came of one process whose threads the kernel tells of, and what the kernel counted of it: the samples of its
 * ledger, and whether all that was sent has come. Numbers only. Single-threaded. */
#ifndef WATCHED_ACCOUNT_H
#define WATCHED_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/kernel/sample_counts.h"

struct process_ledger;

/* Zeroed: nothing came, and the kernel's counts are all of this program. Embedded in its process; nobody else reads the
 * members. */
struct watched_account {
	uint64_t received, received_ns; /* samples that the kernel counted */
	uint64_t opened, opened_ns;     /* and that it did not */
	uint64_t collectives;           /* calls of collective libraries that the kernel counted */
	uint64_t no_stack, no_python, mismatched, truncated, hurried; /* samples */
	uint32_t nr_asked;                                   /* whether it has settled */
	struct sample_counts base, inherited, total;
};

/* A sample was taken; or one that the kernel did not count, as it did not come to its end. */
void watched_account_receive(struct watched_account *account, uint64_t duration_ns);
void watched_account_receive_open(struct watched_account *account, uint64_t duration_ns);

/* So many calls of collective libraries were taken so far. */
void watched_account_set_collectives(struct watched_account *account, uint64_t received);

/* A wait that was too short for a sample, and that the kernel did not count. */
void watched_account_count_short(struct watched_account *account, uint64_t duration_ns);

/* A sample has no stack; or its stack lacks something: ADDRESS_STACK_… (address_stack.h). */
void watched_account_count_no_stack(struct watched_account *account);
void watched_account_count_lacks(struct watched_account *account, uint32_t lacks);

/* What the kernel had counted for the program before this one in the same process: it is taken off. */
void watched_account_set_base(struct watched_account *account, const struct sample_counts *base);

/* What the kernel has counted for the pid, the base included. */
void watched_account_set(struct watched_account *account, const struct sample_counts *counts);

/* What the kernel has counted of a process that was never sampled becomes its parent's. */
void watched_account_inherit(struct watched_account *account, const struct watched_account *child);

/* Puts all of it into the ledger, in place of what was there. */
void watched_account_enter(const struct watched_account *account, struct process_ledger *ledger);

/* Whether all has come that the kernel has counted as sent. Once a pass; last, or when it has been asked often enough:
 * true, and what has not come is lost, in *counts. */
bool watched_account_settles(struct watched_account *account, struct sample_counts *counts,
			     bool last);

/* Of the kernel's counts, what this program has taken: the base of the next. */
void watched_account_taken(const struct watched_account *account, struct sample_counts *counts);

/* The kernel, or whoever took an open sample, has counted something. */
bool watched_account_has_counts(const struct watched_account *account);

/* Samples and calls taken so far. */
uint64_t watched_account_samples(const struct watched_account *account);

#endif

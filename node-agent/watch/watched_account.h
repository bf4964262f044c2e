/* Accounts for one watched process: what came from it, and what the kernel counted of it. From these it makes the
 * samples of the ledger, and decides whether everything that was sent has come. Numbers only. Single-threaded. */
#ifndef WATCHED_ACCOUNT_H
#define WATCHED_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "node-agent/kernel/sample_counts.h"

struct process_ledger;

/* Zeroed: nothing came, and the kernel's counts are all of this program. Embedded in its process; only this module
 * reads the members. */
struct watched_account {
	uint64_t received, received_ns; /* samples that the kernel counted */
	uint64_t opened, opened_ns;     /* samples that it did not count */
	uint64_t collectives;           /* calls of collective libraries that the kernel counted */
	uint64_t no_stack, no_python, mismatched, truncated, hurried; /* samples */
	/* calls of watched_account_settles() */
	uint32_t nr_asked;
	struct sample_counts base, inherited, total;
};

/* Count a sample; the second function counts one that the kernel did not count, because it did not come to its end. */
void watched_account_receive(struct watched_account *account, uint64_t duration_ns);
void watched_account_receive_open(struct watched_account *account, uint64_t duration_ns);

/* Sets the number of collective calls taken so far. */
void watched_account_set_collectives(struct watched_account *account, uint64_t received);

/* Counts a wait that was too short for a sample, and that the kernel did not count. */
void watched_account_count_short(struct watched_account *account, uint64_t duration_ns);

/* Count a sample without a stack, or one whose stack lacks something: ADDRESS_STACK_… (address_stack.h). */
void watched_account_count_no_stack(struct watched_account *account);
void watched_account_count_lacks(struct watched_account *account, uint32_t lacks);

/* Sets what the kernel had counted for the earlier program in the same process: it is subtracted. */
void watched_account_set_base(struct watched_account *account, const struct sample_counts *base);

/* Sets what the kernel has counted for the pid, the base included. */
void watched_account_set(struct watched_account *account, const struct sample_counts *counts);

/* Adds to a parent what the kernel has counted of a child that was never sampled. */
void watched_account_inherit(struct watched_account *account, const struct watched_account *child);

/* Enters everything in the ledger, in place of the earlier entries. */
void watched_account_enter(const struct watched_account *account, struct process_ledger *ledger);

/* Returns whether everything has come that the kernel has counted as sent. Call it once a pass. If last, or after
 * enough calls, it returns true, and counts what has not come as lost in *counts. */
bool watched_account_settles(struct watched_account *account, struct sample_counts *counts,
			     bool last);

/* Computes what this program has taken of the kernel's counts: it is the next program's base. */
void watched_account_taken(const struct watched_account *account, struct sample_counts *counts);

/* Returns whether anything was counted, by the kernel or as an open sample. */
bool watched_account_has_counts(const struct watched_account *account);

/* Returns the number of samples and calls taken so far. */
uint64_t watched_account_samples(const struct watched_account *account);

#endif

/* Compares the samples of running kernels in a profile with the ledgers of its processes:
 *	LEDGER_KERNEL_SAMPLES = received + LEDGER_KERNEL_SAMPLE_OTHER + LEDGER_KERNEL_SAMPLE_LOST
 *	LEDGER_EXACT_SAMPLES = received + LEDGER_EXACT_SAMPLE_OTHER + LEDGER_EXACT_SAMPLE_LOST
 * Used by one thread. */
#ifndef STALL_ACCOUNT_H
#define STALL_ACCOUNT_H

#include <stdint.h>

#include "report/profile/profile.h"

/* Returns by how many samples the two sides of each process differ, both ways together, by process id from 1 on. The
 * caller owns it: free(). It is final after the process's goodbye. NULL: out of memory. */
uint64_t *stall_account_make(const struct profile *profile);

#endif

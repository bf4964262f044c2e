/* Decides whether a profile is whole. No other file does, so that every report says it in the same words. Part of
 * report_build; used by one thread. */
#ifndef REPORT_COMPLETENESS_H
#define REPORT_COMPLETENESS_H

#include <stdint.h>

#include "report_names.h"
#include "report_tree.h"

#include "report/profile/profile.h"

/* REPORT_COMPLETE: every agent and every process said goodbye, every node that was expected came, each process that
 *	started CUDA was recorded, and each process's accounts close:
 *		GPU records delivered = received + lost by reason
 *		launches seen = received + lost by reason
 *	What the ledgers count as lost is no part of it: that has a number already.
 * REPORT_STOPPED: the same holds, but processes were ended by a signal by which users and schedulers stop jobs.
 * REPORT_LIVE: somebody writes the profile, and nothing is known to be missing.
 * REPORT_EMPTY: nothing was recorded, and nothing is known to be missing.
 * REPORT_INCOMPLETE: something is missing, and its amount is not known. The sentence names it.
 *
 * *tree has its sums and losses. *sentence is one line without an end, which the caller owns (free()): "nothing lost",
 * or "INCOMPLETE: 3 of 64 agents did not say goodbye: node07 (ranks 56-63) since 2026-11-22 12:01:07". A fault names at
 * most REPORT_FAULT_PLACES places, and a place at most REPORT_FAULT_RANGES ranges of ranks (report_fault.h).
 * 0; -ENOMEM: *sentence is NULL. */
int report_completeness_make(const struct profile *profile, struct report_names *names,
			     const struct report_tree *tree, enum report_state *state,
			     char **sentence);

#endif

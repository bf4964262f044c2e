/* Whether a profile is whole: decided here alone, and said by every report in the same words. Part of report_build; used by one thread. */
#ifndef REPORT_COMPLETENESS_H
#define REPORT_COMPLETENESS_H

#include <stdint.h>

#include "profile.h"
#include "report_names.h"
#include "report_tree.h"

/* REPORT_COMPLETE: every agent and every process said goodbye, every node that was expected came, and each process's account closes:
 *	GPU records delivered = received + lost by reason, launches seen = received + lost by reason.
 * What the ledgers count as lost is no part of it: that has a number already.
 * REPORT_STOPPED: likewise, but processes were ended by a signal by which users and schedulers stop jobs.
 * REPORT_LIVE: somebody writes the profile, and nothing is known to be missing.
 * REPORT_EMPTY: nothing was recorded, and nothing is known to be missing.
 * REPORT_INCOMPLETE: all else; what is missing, how much of it nobody knows.
 *
 * *tree has its sums and losses. *sentence: owns, free(); one line without an end,
 * e.g. "nothing lost" or "INCOMPLETE: 3 of 64 agents did not say goodbye: node07 (ranks 56-63) since 2026-11-22 12:01:07". Places are at most
 * REPORT_COMPLETENESS_PLACES a fault, ranges of ranks likewise a place. 0; -ENOMEM: NULL. */
#define REPORT_COMPLETENESS_PLACES 4u
#define REPORT_COMPLETENESS_RANGES 8u

int report_completeness_make(const struct profile *profile, struct report_names *names,
			     const struct report_tree *tree, enum report_state *state,
			     char **sentence);

#endif
